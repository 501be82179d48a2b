// The pictures of the course: what they show is what `arithmetic.js` computes, also after a change of a control.

import {
  attended, dotProduct, dropped, histogram, isNeighbour, kernelWeights, maskedWeights, multiplied, noamRate, normals,
  randomScores, smoothedLoss, softmax,
} from "/page/arithmetic.js";
import { short } from "/page/chart.js";
import { column, decimal, fixed } from "/page/dom.js";
import { drawPicture } from "/page/pictures.js";
import { drawMap } from "/page/transformer.js";
import { all, attributes, close, drawn, equal, pressed, test, texts } from "./check.js";

const RUN = {
  source_language: "de", target_language: "en", stacks: { cross: [[1, 2]] },
  methods: { weights: { whole: false, meaning: "a weight" } },
};
const WORDS = [[0.34, 0.22, 0.54], [0.53, 0.34, 0.98], [0.29, 0.54, 0.93]];
const draw = (name, curves = {}, answers = {}) => drawn(drawPicture(name, curves, { translation: {}, without: [], ...answers }));

/** Set controls as a person does: a number of a slider, an option of a choice, or a switch. */
function set(shown, values) {
  for (const [selector, value] of Object.entries(values)) {
    const control = shown.querySelector(selector);
    control[control.type === "checkbox" ? "checked" : "value"] = value;
    control.dispatchEvent(new Event(control.matches("select, [type=checkbox]") ? "change" : "input"));
  }
}

/** The picture `name` with these controls, whose ids begin with its name. */
function drawnWith(name, values) {
  const shown = draw(name);
  set(shown, Object.fromEntries(Object.entries(values).map(([key, value]) => [`#${name}-${key}`, value])));
  return shown;
}

/** Check what is shown of the second word, from an answer of `attended`. */
function checkByHand(shown, { scores, weights, contexts }) {
  const rows = all(shown, ".drawn > div:nth-child(2) tbody tr").map((row) => texts(row, "td").slice(0, 2));
  equal(rows, column(scores[1]).map((score, place) => [score, column(weights[1])[place]]));
  equal(texts(shown, ".drawn > div:nth-child(2) p"), [`Mixture: [${column(contexts[1]).join(" ")}]`]);
}

test("words by hand are live", () => {
  const shown = draw("shiny-sun");
  const check = (words) => checkByHand(shown, attended(words, words, words));
  const changed = [[10, 0.22, 0.54], ...WORDS.slice(1)];
  check(WORDS);
  set(shown, { "[aria-label='Vectors Hello, number 1']": "10" });
  check(changed);
  for (const wrong of ["", "1001"]) {
    set(shown, { "[aria-label='Vectors Hello, number 1']": wrong });
    check(changed);
  }
  shown.querySelector("[data-place='shiny-sun reset']").click();
  check(WORDS);
});

test("only the dot product grows with the length of a vector as much", () => {
  const shown = draw("other-scores");
  const rows = () => all(shown, ".drawn > div:nth-child(2) tbody tr").map((row) => texts(row, "td"));
  const typed = (numbers, word) => numbers.forEach((number, place) =>
    set(shown, { [`[aria-label='Vectors ${word}, number ${place + 1}']`]: String(number) }));
  typed([3, 4, 0], "Hello");
  typed([6, 8, 0], "shiny");
  equal(rows()[0], ["5.000", "50.000", "1.000", "−7.217"]);
  equal(rows()[1].slice(1), ["100.000", "1.000", "0.000"]);
  typed([6, 8, 0], "Hello");
  equal(rows()[0].slice(1), ["100.000", "1.000", "0.000"]);
});

test("queries, keys and values are live", () => {
  const shown = draw("query-key-value");
  set(shown, { "[aria-label='W_k x2, number 2']": "3" });
  const matrices = ["W_q", "W_k", "W_v"].map((name) => {
    const numbers = all(shown, `[aria-label^='${name} ']`).map((one) => one.valueAsNumber);
    return [0, 2, 4].map((at) => numbers.slice(at, at + 2));
  });
  equal(matrices[1][1][1], 3);
  const check = (own) => {
    const roles = own.map((matrix) => multiplied(WORDS, matrix));
    const { scores, weights } = attended(...roles, 1 / Math.sqrt(2));
    const rows = all(shown, ".drawn > div:nth-child(2) tbody tr").map((row) => texts(row, "td"));
    equal(rows, WORDS.map((_, at) => [
      ...roles.map((vectors) => `[${vectors[at].map(decimal).join(" ")}]`), decimal(scores[1][at]), decimal(weights[1][at]),
    ]));
    const [there, back] = [[1, 2], [2, 1]].map(([i, j]) => column([scores[i][j]])[0]);
    equal(texts(shown, ".drawn p")[0], `Score q · k / √2: shiny → sun: ${there}; sun → shiny: ${back}.`);
    return there === back;
  };
  equal(check(matrices), false);
  set(shown, { "#query-key-value-shared": true });
  equal(check([matrices[0], matrices[0], matrices[2]]), true);
  equal(all(shown, "[aria-label^='W_k ']").length, 0);
});

test("a temperature divides the scores", () => {
  for (const [power, t, scaled] of [[4, 1, false], [6, 4, true], [0, 0.1, false]]) {
    const shown = drawnWith("temperature", { power, t, scaled });
    const scores = randomScores(2 ** power, 2000, 7).map((score) => score / (scaled ? Math.sqrt(2 ** power) : 1));
    const weights = softmax(scores.slice(0, 8), t);
    const spread = Math.sqrt(scores.reduce((sum, score) => sum + score * score, 0) / 2000);
    equal(texts(shown, "figure:nth-of-type(2) text"), weights.flatMap((weight, at) => [decimal(weight), fixed(scores[at], 1)]));
    equal(texts(shown, ".drawn p"), [
      `Spread of the scores: ${decimal(spread)}. √d is ${decimal(Math.sqrt(2 ** power))}.`,
      `The largest of 8 weights is ${decimal(Math.max(...weights))}.`,
    ]);
    const counts = histogram(scores, 40, 40);
    close(attributes(shown, "figure:first-of-type .bar", "height"), counts.map((count) => (60 * count) / Math.max(...counts)));
    equal(attributes(shown, "output", "for").length, 2);
    equal(texts(shown, "output"), [`${2 ** power}`, `${t}`]);
  }
});

test("a mask hides later words", () => {
  const scores = normals(36, 3);
  const rows = [0, 1, 2, 3, 4, 5].map((row) => scores.slice(6 * row, 6 * row + 6));
  for (const causal of [true, false]) {
    const shown = texts(drawnWith("causal-mask", { causal }), "tbody td");
    equal(shown, maskedWeights(rows, causal).flat().map((weight) => (weight === null ? "·" : decimal(weight))));
    equal(shown.includes("·"), causal);
    const labels = drawnWith("causal-mask", { causal });
    equal([texts(labels, "tbody th")[1], texts(labels, "thead th")[0]], ["The → dog", "<s>"]);
  }
});

test("dropout can be drawn again", () => {
  const shown = drawnWith("dropout", { p: 0.3 });
  const weights = softmax(normals(6, 5));
  const rows = [1, 2, 3, 4].map((seed) => {
    const after = dropped(weights, 0.3, seed);
    equal(texts(shown, "tbody td:nth-of-type(1)"), weights.map(decimal));
    equal(texts(shown, "tbody td:nth-of-type(2)"), after.map(decimal));
    const total = after.reduce((sum, weight) => sum + weight, 0);
    equal(texts(shown, ".drawn p")[0].split(" = ")[1], `.70. The row now sums to ${decimal(total)}.`);
    set(shown, { "#dropout-seed": seed + 1 });
    return after.join();
  });
  equal(new Set(rows).size > 1, true);
  equal(texts(drawnWith("dropout", { p: 0 }), "tbody td:nth-of-type(2)"), weights.map(decimal));
});

test("the edges of a graph are counted", () => {
  for (const [graph, k, c] of [
    ["complete", 2, 1], ["causal", 2, 1], ["band", 3, 1], ["strided", 4, 1], ["fixed", 2, 3],
  ]) {
    const shown = drawnWith("graphs", { graph, k, c });
    const places = [...Array(12).keys()];
    const degrees = places.map((i) => places.filter((j) => isNeighbour(graph, i, j, { k, l: k, c })));
    const counts = degrees.map(({ length }) => length);
    const edges = degrees.flatMap((of, i) => of.map((j) => `M${j} ${i}h1v1h-1z`)).join("");
    equal(texts(shown, ".drawn p"), [
      `${degrees.flat().length} of 144 pairs. A position knows of ${Math.min(...counts)} to ${Math.max(...counts)}.`,
    ]);
    equal(attributes(shown, ".square path", "d"), [edges]);
  }
  equal(texts(drawnWith("graphs", { graph: "fixed", k: 2, c: 3 }), "figcaption"),
    ["fixed(2, 2): what row i knows of after 1 layer"]);
});

test("distances are clipped", () => {
  for (const m of [1, 4]) {
    const shown = drawnWith("clipping", { m });
    const [first, last] = [0, 5].map((row) => texts(all(shown, "tbody tr")[row], "td"));
    equal(first, [0, 1, 2, 3, 4, 5].map((distance) => `${Math.min(m, distance)}`));
    equal(last, first.toReversed().map((text) => text === "0" ? "0" : `−${text}`));
    equal(texts(shown, "caption"), [`Row i, column j: clip(j − i, −${m}, ${m}).`]);
  }
});

test("information goes one edge farther with each layer", () => {
  for (const layers of [1, 2, 3, 6]) {
    const [shown, reach] = [drawnWith("graphs", { graph: "band", k: 2, layers }), 2 * layers];
    const places = [...Array(12).keys()];
    const near = places.flatMap((i) => places.filter((j) => Math.abs(i - j) <= reach).map((j) => `M${j} ${i}h1v1h-1z`));
    equal(attributes(shown, ".square path", "d"), [near.join("")]);
  }
  const strided = drawnWith("graphs", { graph: "strided", k: 3, layers: 2 });
  equal(texts(strided, ".drawn p"), ["144 of 144 pairs. A position knows of 12 to 12."]);
});

test("a convolution moves with the chosen cell", () => {
  const shown = draw("convolution");
  const pixels = texts(shown, "tbody td").map(Number);
  const grid = [0, 1, 2, 3, 4, 5, 6].map((row) => pixels.slice(7 * row, 7 * row + 7));
  for (const [name, kernel, row, across] of [
    ["mean", [1, 1, 1, 1, 1, 1, 1, 1, 1].map((one) => one / 9), 3, 3],
    ["blur", [1, 2, 1, 2, 4, 2, 1, 2, 1].map((one) => one / 16), 0, 6],
    ["edge", [0, -1, 0, -1, 4, -1, 0, -1, 0].map((one) => one / 4), 4, 1],
  ]) {
    set(shown, {
      "#convolution-kernel": name, "#convolution-row": String(row + 1), "#convolution-column": String(across + 1),
    });
    const cells = all(shown, "tbody td");
    equal(texts(shown, "pre")[0].split(/\s+/), kernel.map(decimal));
    const rows = [0, 3, 6].map((at) => kernel.slice(at, at + 3));
    equal(texts(shown, ".drawn p"), [`The chosen cell becomes ${decimal(dotProduct(grid.flat(), kernelWeights(rows, 7, row, across).flat()))}.`]);
    equal(all(shown, "td[aria-current]").map((cell) => cells.indexOf(cell)), [7 * row + across]);
    const near = kernel.flatMap((weight, at) => {
      const [i, j] = [row - 1 + Math.floor(at / 3), across - 1 + (at % 3)];
      return weight && i in grid && j in grid[0] ? [7 * i + j] : [];
    });
    equal(all(shown, "td:not(.shade-0)").map((cell) => cells.indexOf(cell)), near);
  }
});

test("smoothing has a floor, and Noam's rate a peak", () => {
  for (const [smoothing, warmup, factor] of [[0.1, 4000, 1], [0.4, 500, 2.5]]) {
    const shown = drawnWith("smoothing-and-noam", { smoothing, warmup, factor, shown: "loss" });
    const [loss] = texts(shown, ".drawn > p");
    set(shown, { "#smoothing-and-noam-shown": "learning rate" });
    const [rate] = texts(shown, ".drawn > p");
    const best = 1 - smoothing + smoothing / 8000;
    const least = decimal(smoothedLoss(best, smoothing, 8000));
    equal(loss.includes(`the floor is ${least}, at p = ${short(best)}`), true);
    const peak = noamRate(warmup, { width: 128, factor, warmup }).toPrecision(3);
    equal(rate, `The peak is ${peak} at step ${short(warmup)}.`);
  }
});

// From stored curves and the model's answers

test("products of positions follow the chosen distance", () => {
  const curves = (by) => ({ encodings: [[0, 0.5], [64, 0.5]], learned: [[0, 0.25], [64, by]] });
  const shown = draw("positions", { positions: { 3: curves(0.75), 10: curves(-1) } });
  const constant = "sinusoidal: 0.5";
  const learned = (by) => `sinusoidal, with W_q and W_k of the ready model: 0.25 at i = 0, ${by} at i = 64`;
  equal(texts(shown, "li"), [constant, learned("−1")]);
  equal(texts(shown, "figcaption"), ["Scaled product of the positions i and i + 10"]);
  set(shown, { "#positions-distance": "3" });
  equal(texts(shown, "li"), [constant, learned("0.75")]);
});

test("stored curves are drawn", () => {
  const length = { gru_none: [[1, 5, 30.5], [11, null, 4.25]], gru_dot: [[1, 5, 31], [6, 10, 30]] };
  equal(texts(draw("length-curves", { length }), "li"),
    ["GRU without attention: 30.5 at 3 words, 4.25 at 37.9 words", "gru_dot: 31 at 3 words, 30 at 8 words"]);
  const loss = { baseline: [[100, 5.5], [500, 2]], post_norm: [[100, 6], [500, 5.75]], batch_norm: [[100, 5], [500, 3]] };
  equal(texts(draw("norm-curves", { loss }), "li"), [
    "pre-norm, layer norm: 5.5 at step 100, 2 at step 500", "post-norm, layer norm: 6 at step 100, 5.75 at step 500",
    "pre-norm, batch norm: 5 at step 100, 3 at step 500",
  ]);
  const shown = draw("rnn-attention", { rnn_attention: {
    dot: { rows: ["a", "b"], columns: ["x"], weights: [[1], [0.25]] },
    mlp: { rows: ["c"], columns: ["y"], weights: [[0.5]] },
  } });
  equal(texts(shown, "tbody td"), ["1.00", ".25"]);
  set(shown, { "#rnn-attention-score": "mlp" });
  equal([texts(shown, "tbody td"), texts(shown, "thead th")], [[".50"], ["y"]]);
});

const CROSS = { rows: ["x", "y"], columns: ["a", "b"] };
const answered = (weights) => ({
  source: "a b", target: "x y", method: "weights", stacks: { cross: { ...CROSS, weights: [weights] } },
});
const LOOKED = answered([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.4, 0.6]]]);
const ERASED = answered([[[0.5, -2], [3, 0.25]]]);

test("weights are compared with erasure", () => {
  const misleading = (head) => draw("misleading", {}, { looked: LOOKED, erased: ERASED, run: RUN, head });
  const shown = misleading("cross.1.mean");
  equal(texts(shown, "thead th")[1], "weight of cross.1.mean");
  equal([texts(shown, "td:nth-of-type(1)"), texts(shown, "td:nth-of-type(3)")], [[".70", ".30"], ["0.500", "−2.000"]]);
  set(shown, { "#misleading-word": "2 y" });
  equal([texts(shown, "td:nth-of-type(1)"), texts(shown, "td:nth-of-type(3)")], [[".30", ".70"], ["3.000", "0.250"]]);
  close(attributes(shown, "td:last-child .bar", "width"), [100, 100 / 12]);
  equal(texts(misleading("encoder.1.1"), "thead th")[1], "weight of cross.1.1");
});

test("a sum of heads has lengths and shares", () => {
  const steps = [
    { name: "head_outputs", values: [[3, 4], [0, 1]] }, { name: "head_shares", values: [1.25, -0.25] },
  ];
  const explanation = { stack: "cross", layer: 2, token: "x", heads: [1, 2], stages: [{ steps }] };
  const noted = [];
  const more = { explanation, run: RUN, without: ["cross.2.2"], translation: { translation: "A cat.", usual: "A dog." } };
  const shown = draw("sum-of-heads", {}, { ...more, flip: (head) => noted.push(head), change: () => noted.push("all") });
  equal(all(shown, "tbody tr").map((row) => texts(row, "th, td")),
    [["cross.2.1 on", "5.000", "", "125 %"], ["cross.2.2 off", "1.000", "", "−25 %"]]);
  equal(attributes(shown, "td .bar", "width"), ["100", "20"]);
  equal(pressed(shown, "button", noted), ["cross.2.1", "cross.2.2", "all"]);
  equal(texts(shown, "mark"), ["cat."]);
});

test("the whole machine has the tokens of the sentence and the sizes of the model", () => {
  const stacks = { encoder: [[1, 2]], decoder: [[1, 2], [1, 2]], cross: [[1, 2], [1, 2]] };
  const pieces = { stacks: { encoder: { columns: ["▁ja", "\u202e"] } } };
  const of = (run, part) => draw("transformer", {}, { run, part, pieces, translation: { tokens: ["▁yes", "</s>"] } });
  const shown = of({ ...RUN, stacks });
  equal(texts(shown, ".token"), ["▁yes", "</s>", "▁ja", "⟨U+202E⟩", "<s>", "▁yes"]);
  equal(texts(shown, ".layers > span"), ["encoder: 1 layer", "decoder: 2 layers"]);
  equal(shown.querySelector("figcaption").textContent.endsWith("Each attention has 2 heads."), true);
  equal(of(RUN).querySelector(".boxes"), null);
  equal(all(shown, ".lit").length, 0);
  equal(texts(of({ ...RUN, stacks }, "encoder"), ".lit > span"), ["encoder: 1 layer"]);
});

test("a part lights up in the small map", () => {
  for (const [part, names] of [
    ["attention", ["self-attention", "cross-attention", "masked self-attention"]],
    ["masked self-attention", ["masked self-attention"]],
    ["embedding", ["embedding + position", "embedding + position"]],
    ["layers", ["encoder layers", "decoder layers"]],
    ["no such part", []],
  ]) {
    const shown = drawn(drawMap(part));
    equal(texts(shown, ".lit > span"), names);
    equal(texts(shown, "figcaption"), [part]);
  }
});

test("pictures without an answer or a name are empty", () => {
  equal(draw("misleading", {}, { source: " " }).textContent, "This picture is about your sentence: type one.");
  for (const name of ["misleading", "beam", "no such picture", "constructor"]) {
    equal(draw(name, {}, { translation: null }).childNodes.length, 0);
  }
});
