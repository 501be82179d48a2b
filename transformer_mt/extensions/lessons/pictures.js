// The pictures of the course, by name: computed here, stored with the course, or from the model's answers.

import {
  attended, dotProduct, dropped, histogram, inRows, isNeighbour, kernelWeights, maskedWeights, multiplied,
  noamRate, normals, randomScores, reached, smoothedLoss, softmax, sum, times, uniforms,
} from "./arithmetic.js";
import { drawChart, short } from "./chart.js";
import { bar, bars, drawBeam } from "./choices.js";
import { control, interactive } from "./controls.js";
import {
  button, column, decimal, element, fixed, foreign, numeral, plural, quiet, replace, say, shape, translated, visible,
} from "./dom.js";
import { drawAllOn, drawHead, drawHeads, headNames, headSwitch, headToShow, matrixOf } from "./heads.js";
import { matrixTable, shadeOf, smallMatrix, table, tableOf } from "./matrix.js";
import { drawTransformer } from "./transformer.js";
import { allOnButton, comparison } from "./translation.js";

/**
 * Draw a picture by its name; null if there is none of that name.
 *
 * `curves` are the stored ones; `answers` are the parts of the state, with those of `needsOf`, and the page's actions;
 * `part` is the one to light up.
 */
export function drawPicture(name, curves, answers) {
  if (needsOf(name).some((one) => !answers[one])) {
    return answers.source?.trim() === "" && quiet("This picture is about your sentence: type one.");
  }
  if (Object.hasOwn(FOLLOWING, name)) {
    return interactive(name, ...FOLLOWING[name](curves));
  }
  return Object.hasOwn(PICTURED, name) ? PICTURED[name][1](answers, curves) : null;
}

/** The answers that a picture needs, as keys of the state. */
export const needsOf = (name) => Object.hasOwn(PICTURED, name) ? PICTURED[name][0] : [];

// The answers that a picture needs, and what draws it from them and the stored curves.
const PICTURED = {
  transformer: [["pieces", "translation", "run"], drawTransformer],
  "length-curves": [[], lengthCurves],
  "sum-of-heads": [["explanation", "translation", "run"], sumOfHeads],
  "norm-curves": [[], (_, { loss: { baseline, ...others } }) =>
    stored({ pre_norm: baseline, ...others }, "Training loss, nats per target token")],
  "cross-attention": [["looked", "run"], (answers) => withCrossHead(answers, (only, chosen) => [
    drawHead(only, answers.run, chosen, [], null),
    drawHeads(only, answers.run, chosen, [], null, { pick: answers.pick }),
  ])],
  beam: [["translation", "run"], ({ translation, run, prefix, go, undo }) => [drawBeam(translation, run, { go }),
    prefix.length > 0 && said(button("undo", undo, {}, "Undo"))]],
  misleading: [["looked", "erased", "run"], misleading],
};

// Pictures that follow controls: from the stored curves, these controls and what draws their values.
const FOLLOWING = {
  "shiny-sun": () => [[], byHand("shiny-sun", 1, lookOfShiny)],
  "query-key-value": () => [
    [{ name: "shared", label: "W_k = W_q", value: false }], byHand("query-key-value", 4, rolesOf),
  ],
  "other-scores": () => [[], byHand("other-scores", 1, threeScores)],
  "rnn-attention": ({ rnn_attention: found }) => [
    [{ name: "score", label: "Score", value: Object.keys(found)[0], options: Object.keys(found) }],
    ({ score }) => asMatrix(found[score].weights, found[score].rows, found[score].columns,
      "Rows: the words written. Columns: the words read. A row sums to 1."),
  ],
  positions: ({ positions }) => [
    [{ name: "distance", label: "Distance", value: Object.keys(positions).at(-1), options: Object.keys(positions) }],
    ({ distance }) => stored(positions[distance], say`Scaled product of the positions i and i + ${distance}`,
      { axis: "i", at: (i) => `i = ${i}` }),
  ],
  temperature: () => [[
    { name: "power", label: "d", min: 0, max: 8, value: 1, shown: (power) => `${2 ** power}` },
    { name: "t", label: "T", min: 0.1, max: 4, step: 0.1, value: 1 },
    { name: "scaled", label: "divide by √d", value: false },
  ], spreadOfScores],
  "causal-mask": () => [[{ name: "causal", label: "hide later words", value: true }], masks],
  dropout: () => [[
    { name: "p", label: "p", min: 0, max: 0.9, step: 0.1, value: 0.5 },
    { name: "seed", label: "Draw", min: 1, max: 9, value: 1 },
  ], dropouts],
  clipping: () => [[{ name: "m", label: "m", min: 1, max: 5, value: 4 }], clipped],
  graphs: () => [[
    { name: "graph", label: "Graph", value: "band", options: ["complete", "causal", "band", "strided", "fixed"] },
    { name: "k", label: "k, or l", min: 1, max: 6, value: 2 }, { name: "c", label: "c", min: 0, max: 3, value: 1 },
    { name: "layers", label: "Layers", min: 1, max: 6, value: 1 },
  ], edgesOf],
  convolution: () => [[
    { name: "kernel", label: "Kernel", value: "mean", options: ["mean", "blur", "edge"] },
    ...["row", "column"].map((name) => ({ name, label: name, min: 1, max: 7, value: 4 })),
  ], convolved],
  "smoothing-and-noam": () => [[
    { name: "shown", label: "Curve", value: "loss", options: ["loss", "learning rate"] },
    { name: "smoothing", label: "ε", min: 0, max: 0.4, step: 0.05, value: 0.1 },
    { name: "warmup", label: "Warm-up", min: 100, max: 8000, step: 100, value: 4000 },
    { name: "factor", label: "Factor", min: 0.5, max: 4, step: 0.5, value: 1 },
  ], lossAndRate],
};

const said = (...text) => element("p", {}, text);

// What the stored curves are called.
const CALLED = {
  gru_none: "GRU without attention", gru_additive: "GRU with attention", baseline: "Transformer",
  pre_norm: "pre-norm, layer norm", post_norm: "post-norm, layer norm", batch_norm: "pre-norm, batch norm",
  encodings: "sinusoidal", learned: "sinusoidal, with W_q and W_k of the ready model", rotary: "rotary, with them",
};

/** A chart of stored curves by variant. */
function stored(found, title, places) {
  const curves = Object.entries(found).map(([key, points], place) =>
    ({ called: `${visible(translated(CALLED[key] ?? key))}:`, name: `series-${place % 3}`, points }));
  return drawChart(title, curves, places);
}

function lengthCurves(_, { length }) {
  // The mean number of words in the band without an end is 37.9.
  const middle = ([fewest, most, bleu]) => [most === null ? 37.9 : (fewest + most) / 2, bleu];
  const curves = Object.entries(length).map(([key, rows]) => [key, rows.map(middle)]);
  return stored(Object.fromEntries(curves), "BLEU by the length of the sentence",
    { axis: "words and marks", at: (count) => say`${count} words` });
}

function asMatrix(numbers, rows, columns, caption, more = {}) {
  return matrixTable({ numbers, rows: { words: rows }, columns: { words: columns }, caption, ...more });
}

/** Editable vectors and matrices, `count` in all, and what `show(words, matrices)` computes from them. */
function byHand(picture, count, show) {
  return (values, change) => {
    values.grids ??= structuredClone(GRIDS.slice(0, count));
    const [words, queries, keys, ...others] = values.grids.map(({ rows }) => rows);
    const result = element("div");
    const draw = () => replace(result, show(words, [queries, values.shared ? queries : keys, ...others]));
    draw();
    const input = (row, place, name) => element("input", {
      type: "number", step: "any", min: -LARGEST, max: LARGEST, required: true, value: row[place],
      "aria-label": say`${name}, number ${place + 1}`, oninput: ({ target }) => {
        row[place] = target.validity.valid ? target.valueAsNumber : row[place];
        draw();
      },
    });
    const grids = values.grids.filter((_, number) => number !== KEYS || !values.shared);
    const tables = grids.map(({ name, role, rows, labels }) => tableOf({ class: "numbers", "aria-label": name },
      element("caption", { class: role }, name), rows.map((row, at) => [
        element("th", { scope: "row" }, labels[at]),
        row.map((_, place) => element("td", {}, input(row, place, `${translated(name)} ${labels[at]}`))),
      ])));
    return [element("div", { class: "edited" }, tables), result,
      said(button(`${picture} reset`, () => change({ grids: null }), {}, "Start again"))];
  };
}

const [THREE, NUMBERS] = [["Hello", "shiny", "sun"], ["x1", "x2", "x3"]];
const GRIDS = [
  { name: "Vectors", labels: THREE, rows: [[0.34, 0.22, 0.54], [0.53, 0.34, 0.98], [0.29, 0.54, 0.93]] },
  { name: "W_q", role: "query", labels: NUMBERS, rows: [[1, 0], [0, 1], [0.5, 0.5]] },
  { name: "W_k", role: "key", labels: NUMBERS, rows: [[0, 1], [1, 0], [1, -0.5]] },
  { name: "W_v", role: "value", labels: NUMBERS, rows: [[1, 0], [0, 1], [1, 1]] },
];
const [KEYS, SECOND, THIRD, LARGEST] = [2, 1, 2, 1000];

/** The scores, weights and mixture of the second word. */
function lookOfShiny(words) {
  const { scores, weights, contexts } = attended(words, words, words);
  const columns = {
    word: THREE, "score with shiny": column(scores[SECOND]), weight: column(weights[SECOND]),
    "as bars": weights[SECOND].map((weight) => bar(weight)),
  };
  return [table("Scores and weights of shiny", columns), said(say`Mixture: [${column(contexts[SECOND]).join(" ")}]`)];
}

/** The scores of the second word with each, by three formulas. */
function threeScores(words) {
  const size = (one) => Math.hypot(...one);
  const of = (score) => column(words.map((one) => score(words[SECOND], one)));
  return table("Scores with shiny", {
    word: THREE, length: column(words.map(size)), "dot product": of(dotProduct),
    cosine: of((q, k) => dotProduct(q, k) / (size(q) * size(k) || 1)),
    euclidean: of((q, k) => -(size(q.map((one, d) => one - k[d])) ** 2) / (2 * Math.sqrt(q.length))),
  });
}

/** Query, key and value of each word, the scores of the second, and two scores in both directions. */
function rolesOf(words, matrices) {
  const roles = matrices.map((matrix) => multiplied(words, matrix));
  const scale = 1 / Math.sqrt(roles[0][0].length);
  const { scores, weights, contexts } = attended(...roles, scale);
  const written = (vectors, place) =>
    vectors.map((vector) => element("span", { class: GRIDS[place + 1].role }, `[${vector.map(decimal).join(" ")}]`));
  const [q, k, v] = roles.map(written);
  const both = [[SECOND, THIRD], [THIRD, SECOND]].map(([one, other]) =>
    `${THREE[one]} → ${THREE[other]}: ${column([scores[one][other]])[0]}`);
  return [
    table("Roles, scores and weights", {
      word: THREE, q, k, v, "score of shiny": scores[SECOND].map(decimal), weight: weights[SECOND].map(decimal),
    }),
    said(say`Score q · k / √2: ${both.join("; ")}.`), said(say`Mixture: [${column(contexts[SECOND]).join(" ")}]`),
  ];
}

const [PAIRS, FEW, REACH, BINS, SEED] = [2000, 8, 40, 40, 7];
const [SEVEN, TWELVE] = [7, 12];

function spreadOfScores({ power, t, scaled }) {
  const d = 2 ** power;
  const scores = randomScores(d, PAIRS, SEED).map((score) => (scaled ? score / Math.sqrt(d) : score));
  const counts = histogram(scores, REACH, BINS);
  const spread = Math.sqrt(dotProduct(scores, scores) / PAIRS);
  const weights = softmax(scores.slice(0, FEW), t);
  return [
    uprights(say`Scores of ${short(PAIRS)} random pairs`, counts.map((count) => count / Math.max(...counts)),
      { [BINS / 4]: `−${REACH / 2}`, [BINS / 2]: "0", [(3 * BINS) / 4]: `${REACH / 2}` }),
    said(say`Spread of the scores: ${decimal(spread)}. √d is ${decimal(Math.sqrt(d))}.`),
    uprights("Weights of eight, above their scores", weights, scores.slice(0, FEW).map((one) => fixed(one, 1)),
      weights.map(decimal)),
    said(say`The largest of ${FEW} weights is ${decimal(Math.max(...weights))}.`),
  ];
}

/** Shares of the largest height as upright bars, with texts `under` and `above` some of them. */
function uprights(title, shares, under, above = {}) {
  const wide = 320 / shares.length;
  const bars = shares.map((share, place) => [
    shape("rect", { class: "bar", x: place * wide + 1, width: wide - 2, y: 74 - 60 * share, height: 60 * share }),
    [[above[place], 67 - 60 * share], [under[place], 84]].map(([text, y]) =>
      text && shape("text", { class: "across", x: (place + 0.5) * wide, y }, text)),
  ]);
  return element("figure", {}, element("figcaption", {}, title),
    shape("svg", { class: "panel", viewBox: "0 0 320 92", "aria-hidden": true }, bars));
}

const SIX = ["The", "dog", "runs", "in", "the", "park"];

// The decoder reads the words before the one that it predicts.
const READ = ["<s>", ...SIX.slice(0, -1)];

function masks({ causal }) {
  const scores = inRows(normals(SIX.length ** 2, 3), SIX.length);
  const rows = READ.map((word, place) => `${word} → ${SIX[place]}`);
  const columns = causal ? "Columns: the words it may look at, none of them later than the last."
    : "Columns: the words it would see without a mask, also the one to predict.";
  return asMatrix(maskedWeights(scores, causal), rows, READ,
    say`Rows: the last word read → the word to predict. ${translated(columns)}`);
}

/** The distances of Shaw et al. (2018, §3.2): which of the learned vectors belongs to a row and a column. */
function clipped({ m }) {
  const distances = SIX.map((_, i) => SIX.map((_, j) => Math.max(-m, Math.min(m, j - i))));
  return asMatrix(distances, SIX, SIX, say`Row i, column j: clip(j − i, −${m}, ${m}).`,
    { scale: { largest: m, unit: 1 }, shown: short });
}

function dropouts({ p, seed }) {
  const before = softmax(normals(SIX.length, 5));
  const after = dropped(before, p, seed);
  const most = Math.max(1, ...after);
  const columns = { word: SIX, weight: before.map(decimal), "with dropout": after.map(decimal),
    "as bars": after.map((weight) => bar(weight / most)) };
  return [table("A row of weights", columns),
    said(say`Kept weights are divided by 1 − p = ${decimal(1 - p)}. The row now sums to ${decimal(sum(after))}.`)];
}

function edgesOf({ graph, k, c, layers }) {
  const edges = times(TWELVE, (i) => times(TWELVE, (j) => (isNeighbour(graph, i, j, { k, l: k, c }) ? 1 : 0)));
  const rows = reached(edges, layers);
  const seen = rows.map(sum);
  const given = { band: `(${k})`, strided: `(${k})`, fixed: `(${k}, ${Math.min(c, k)})` }[graph] ?? "";
  return [
    element("figure", {}, element("figcaption", {}, say`${translated(graph)}${given}: what row i knows of after
      ${plural(layers, "layer")}`),
      element("div", { class: "square" }, smallMatrix(rows))),
    said(say`${sum(seen)} of ${TWELVE ** 2} pairs. A position knows of ${Math.min(...seen)} to ${Math.max(...seen)}.`),
  ];
}

const KERNELS = {
  mean: new Array(9).fill(1 / 9),
  blur: [1, 2, 1, 2, 4, 2, 1, 2, 1].map((one) => one / 16),
  edge: [0, -1, 0, -1, 4, -1, 0, -1, 0].map((one) => one / 4),
};

function convolved({ kernel: name, row, column: across }) {
  const flat = KERNELS[name];
  const kernel = inRows(flat, 3);
  const grid = inRows(uniforms(SEVEN ** 2, 2).map((one) => Math.round(9 * one)), SEVEN);
  const weights = kernelWeights(kernel, SEVEN, row - 1, across - 1);
  const cells = grid.map((line, i) => line.map((pixel, j) => element("td", {
    class: shadeOf(weights[i][j], { largest: Math.max(...flat) }),
    "aria-current": i === row - 1 && j === across - 1 ? "true" : null,
  }, String(pixel))));
  const caption = "The shade is each pixel's weight in the chosen cell; orange is negative.";
  return [
    tableOf({ class: "matrix pixels" }, element("caption", {}, caption), cells),
    element("pre", { "aria-label": "Kernel" }, kernel.map((line) => line.map(decimal).join("  ")).join("\n")),
    said(say`The chosen cell becomes ${decimal(dotProduct(grid.flat(), weights.flat()))}.`),
  ];
}

// As in the default model.
const [WIDTH, VOCABULARY] = [128, 8000];

function lossAndRate({ shown, smoothing, warmup, factor }) {
  const probabilities = times(99, (place) => (place + 1) / 100);
  const losses = [0, smoothing].map((epsilon, place) => ({
    called: `ε = ${short(epsilon)}:`, name: `series-${place}`,
    points: probabilities.map((p) => [p, smoothedLoss(p, epsilon, VOCABULARY)]),
  }));
  const best = 1 - smoothing + smoothing / VOCABULARY;
  const floor = smoothing ? smoothedLoss(best, smoothing, VOCABULARY) : 0;
  const steps = times(161, (place) => Math.max(1, 100 * place));
  const rates = steps.map((step) => [step, noamRate(step, { width: WIDTH, factor, warmup })]);
  return shown === "loss" ? [
    drawChart("Loss by the probability p of the right word", losses.slice(smoothing ? 0 : 1),
      { axis: "p", at: (p) => `p = ${p}` }),
    said(say`With ${short(VOCABULARY)} tokens, the floor is ${decimal(floor)}, at p = ${column([best])[0]}.`),
  ] : [
    drawChart(say`Learning rate by step, width ${WIDTH}`, [{ called: "rate", name: "series-0", points: rates }]),
    said(say`The peak is ${numeral(noamRate(warmup, { width: WIDTH, factor, warmup }).toPrecision(3))} at step
      ${short(warmup)}.`),
  ];
}

/** What each head of the explained layer adds to the row, and switches; the translation with the heads that are on. */
function sumOfHeads({ explanation, translation, run, without, flip, change }) {
  const { stack, layer, token, stages, heads } = explanation;
  const of = (name) => stages.flatMap(({ steps }) => steps).find((step) => step.name === name).values;
  const lengths = of("head_outputs").map((vector) => Math.hypot(...vector));
  const names = heads.map((number) => `${stack}.${layer}.${number}`);
  const columns = {
    head: names.map((name) => headSwitch(name, name, !without.includes(name), flip)),
    "length of what it adds": column(lengths),
    "as bars": bars(lengths),
    "share of the sum": of("head_shares").map((share) => numeral(`${Math.round(100 * share)} %`)),
  };
  const { usual = translation.translation, translation: now } = translation;
  return [said(say`What each head of this layer adds to ${foreign(token, run.target_language)}.`),
    drawAllOn(without), table("Heads of the layer", columns),
    said("Translation: ", comparison(now, usual, run.target_language), now === usual && without.length > 0 &&
      ", the same as with all heads"),
    without.length > 0 && said(allOnButton(change))];
}

/** The heads of the cross-attention of a model, with a choice of one above what `draw` shows of it. */
function withCrossHead({ looked, run, head, pick }, draw) {
  if (!looked.stacks.cross) {
    return said("This model has no cross-attention. Choose another run above.");
  }
  const only = { ...looked, stacks: { cross: looked.stacks.cross } };
  const chosen = headToShow(only, run, head?.startsWith("cross.") ? head : null);
  const field = { label: "Head", value: chosen, options: headNames(run, "cross").flat() };
  return [element("p", { class: "controls" }, control("cross-head", field, pick)), draw(only, chosen)];
}

/** For a word of the translation: the weights of a head, and the fall of its ln p without each source word. */
function misleading(answers) {
  const { looked, erased, run } = answers;
  return withCrossHead(answers, (_, chosen) => {
    const { rows, columns } = looked.stacks.cross;
    const places = rows.map((word, place) => `${place + 1} ${word}`);
    const fields = [{ name: "word", label: "Word", value: places[0], options: places }];
    return interactive("misleading", fields, ({ word }) => {
      const place = Math.max(0, places.indexOf(word)); // a word of another sentence may have been chosen
      const weights = matrixOf(looked, run, chosen, []).numbers[place];
      const falls = erased.stacks.cross.weights[0][0][place];
      return table("Weight and erasure", {
        "source word": columns.map((one) => foreign(one, run.source_language)),
        [say`weight of ${chosen}`]: weights.map(decimal),
        "weight as bars": weights.map((weight) => bar(weight)),
        "fall of ln p without it": column(falls),
        "fall as bars": bars(falls),
      });
    });
  });
}
