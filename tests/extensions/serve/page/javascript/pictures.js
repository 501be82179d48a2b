// The pictures of the course: what they show is what `arithmetic.js` computes, also after a change of a control.

import {
  attended, convolvedAt, dropped, histogram, isNeighbour, maskedWeights, multiplied, noamRate, normals, randomScores,
  rotaryProduct, sinusoidalProduct, smoothedLoss, softmax,
} from "/page/arithmetic.js";
import { short } from "/page/chart.js";
import { column, decimal } from "/page/dom.js";
import { drawPicture } from "/page/pictures.js";
import { all, attributes, close, drawn, equal, test, texts } from "./check.js";

const RUN = {
  source_language: "de", target_language: "en", stacks: { cross: [[1, 2]] },
  methods: { weights: { whole: false, meaning: "a weight" } },
};
const WORDS = [[0.34, 0.22, 0.54], [0.53, 0.34, 0.98], [0.29, 0.54, 0.93]];
const draw = (name, curves = {}, answers = {}) => drawn(drawPicture(name, curves, { translation: {}, ...answers }));

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

test("queries, keys and values are live", () => {
  const shown = draw("query-key-value");
  set(shown, { "[aria-label='W_k from x2, number 2']": "3" });
  const matrices = ["W_q", "W_k", "W_v"].map((name) => {
    const numbers = all(shown, `[aria-label^='${name} ']`).map((one) => one.valueAsNumber);
    return [0, 2, 4].map((at) => numbers.slice(at, at + 2));
  });
  equal(matrices[1][1][1], 3);
  checkByHand(shown, attended(...matrices.map((matrix) => multiplied(WORDS, matrix)), 1 / Math.sqrt(2)));
});

test("a temperature divides the scores", () => {
  for (const [power, t, scaled] of [[4, 1, false], [6, 4, true], [0, 0.1, false]]) {
    const shown = drawnWith("temperature", { power, t, scaled });
    const scores = randomScores(2 ** power, 2000, 7).map((score) => score / (scaled ? Math.sqrt(2 ** power) : 1));
    const weights = softmax(scores.slice(0, 8), t);
    const spread = Math.sqrt(scores.reduce((sum, score) => sum + score * score, 0) / 2000);
    equal(texts(shown, "tbody th"), scores.slice(0, 8).map(decimal));
    equal(texts(shown, "tbody td:nth-of-type(1)"), weights.map(decimal));
    equal(texts(shown, ".drawn p"), [
      `Spread of the scores: ${decimal(spread)}. √d is ${decimal(Math.sqrt(2 ** power))}.`,
      `The largest of 8 weights is ${decimal(Math.max(...weights))}.`,
    ]);
    const counts = histogram(scores, 40, 40);
    close(attributes(shown, "svg.panel .bar", "height"), counts.map((count) => (100 * count) / Math.max(...counts)));
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
    shown.querySelector("[data-place='dropout-seed']").click();
    return after.join();
  });
  equal(new Set(rows).size > 1, true);
  equal(texts(drawnWith("dropout", { p: 0 }), "tbody td:nth-of-type(2)"), weights.map(decimal));
});

test("positions are named with their ends", () => {
  const query = normals(16, 11);
  const sinusoidal = sinusoidalProduct(64, 16) / sinusoidalProduct(0, 16);
  const rotary = rotaryProduct(64, query, query) / rotaryProduct(0, query, query);
  equal(texts(drawnWith("positions", { power: 4 }), "li"), [
    `sinusoidal: 1 at distance 0, ${short(sinusoidal)} at distance 64`,
    `rotary, with a random q = k: 1 at distance 0, ${short(rotary)} at distance 64`,
  ]);
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
      `${degrees.flat().length} arrows of 144. A position sees ${Math.min(...counts)} to ${Math.max(...counts)}.`,
    ]);
    equal(attributes(shown, ".square path", "d"), [edges]);
  }
  equal(texts(drawnWith("graphs", { graph: "fixed", k: 2, c: 3 }), "figcaption"),
    ["fixed(2, 2): row i may look at column j"]);
});

test("a convolution moves with the chosen cell", () => {
  const shown = draw("convolution");
  const pixels = texts(shown, "tbody button").map(Number);
  const grid = [0, 1, 2, 3, 4, 5, 6].map((row) => pixels.slice(7 * row, 7 * row + 7));
  for (const [name, kernel, row, across] of [
    ["mean", [1, 1, 1, 1, 1, 1, 1, 1, 1].map((one) => one / 9), 3, 3],
    ["blur", [1, 2, 1, 2, 4, 2, 1, 2, 1].map((one) => one / 16), 0, 6],
    ["edge", [0, -1, 0, -1, 4, -1, 0, -1, 0].map((one) => one / 4), 4, 1],
  ]) {
    set(shown, { "#convolution-kernel": name });
    shown.querySelector(`[data-place='cell ${row} ${across}']`).click();
    equal(texts(shown, "pre")[0].split(/\s+/), kernel.map(decimal));
    const rows = [0, 3, 6].map((at) => kernel.slice(at, at + 3));
    equal(texts(shown, ".drawn p"), [`The chosen cell becomes ${decimal(convolvedAt(grid, rows, row, across))}.`]);
    equal(attributes(shown, "[aria-pressed=true]", "data-place"), [`cell ${row} ${across}`]);
    const near = kernel.flatMap((weight, at) => {
      const [i, j] = [row - 1 + Math.floor(at / 3), across - 1 + (at % 3)];
      return weight && i in grid && j in grid[0] ? [`cell ${i} ${j}`] : [];
    });
    equal(attributes(shown, "td:not(.shade-0) > button", "data-place"), near);
  }
});

test("smoothing has a floor, and Noam's rate a peak", () => {
  for (const [smoothing, warmup, factor] of [[0.1, 4000, 1], [0.4, 500, 2.5]]) {
    const [loss, rate] = texts(drawnWith("smoothing-and-noam", { smoothing, warmup, factor }), ".drawn > p");
    const best = 1 - smoothing + smoothing / 1000;
    const least = decimal(smoothedLoss(best, smoothing, 1000));
    equal(loss.includes(`the least loss is ${least}, at p = ${short(best)}`), true);
    const peak = noamRate(warmup, { width: 512, factor, warmup }).toPrecision(3);
    equal(rate, `The peak is ${peak} at step ${short(warmup)}.`);
  }
});

// From stored curves and the model's answers

test("stored curves are drawn", () => {
  const length = { gru_none: [[1, 5, 30.5], [11, null, 4.25]], gru_dot: [[1, 5, 31], [6, 10, 30]] };
  equal(texts(draw("length-curves", { length }), "li"),
    ["gru_none 30.5 at words 3, 4.25 at words 11", "gru_dot 31 at words 3, 30 at words 8"]);
  const loss = { pre: [[100, 5.5], [500, 2]], post: [[100, 6], [500, 5.75]] };
  equal(texts(draw("norm-curves", { loss }), "li")[1], "post 6 at step 100, 5.75 at step 500");
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
  const shown = draw("sum-of-heads", {}, { explanation, run: RUN });
  equal(all(shown, "tbody tr").map((row) => texts(row, "th, td")),
    [["cross.2.1", "5.000", "", "125 %"], ["cross.2.2", "1.000", "", "−25 %"]]);
  equal(attributes(shown, "td .bar", "width"), ["100", "20"]);
});

test("pictures without an answer or a name are empty", () => {
  equal(draw("misleading", {}, { lacksSentence: true }).textContent, "This picture is about your sentence: type one.");
  for (const name of ["misleading", "beam", "no such picture", "constructor"]) {
    equal(draw(name, {}, { translation: null }).childNodes.length, 0);
  }
});
