// Numbers and texts as the page writes them, to the digit.

import {
  dropped, histogram, maskedWeights, multiplied, normals, randomScores, softmax, uniforms,
} from "/page/arithmetic.js";
import { drawChart } from "/page/chart.js";
import { column, decimal, direction, fixed, mixed, probability, visible } from "/page/dom.js";
import { headToShow } from "/page/heads.js";
import { smallMatrix } from "/page/matrix.js";
import { legend } from "/page/shades.js";
import { all, attributes, close, drawn, equal, picture, test, texts } from "./check.js";

test("numbers have two decimals", () => {
  equal([0.42, -0.31, 1, -1.5, 0.001, -0.001, 0, 10.05].map(decimal).join(" "),
    ".42 −.31 1.00 −1.50 .00 .00 .00 10.05");
  equal([-0.61, 0.5, -0.001, -12.345, 0].map((one) => fixed(one, 2)).join(" "), "−0.61 0.50 0.00 −12.35 0.00");
  equal([0.3, 1, 0.006, 0.0049].map(probability).join(" "), ".30 1.00 .01 < .01");
});

test("numbers of a column have equal decimals", () => {
  equal(column([1234.5, 2]), ["1234.500", "2.000"]);
  equal(column([0.5, -0.25]), ["0.5000", "−0.2500"]);
  equal(column([0.012345, 0]), ["0.01235", "0.00000"]);
  equal(column([0, 0]), ["0.000", "0.000"]);
  equal(column([3e-9, 0]), ["0.000000003", "0.000000000"]);
  equal(column([1, -1e-9]), ["1.000", "0.000"]);
});

test("a legend has the starts of shades", () => {
  equal(legend(), "shades from .05, .25, .50 and .75");
  equal(legend({ largest: 0.04, unit: 0.01 }), "shades from .20, 1.00, 2.00 and 3.00");
});

test("a small matrix has a path per shade, and cells without a shade are blank", () => {
  const paths = (matrix) => attributes(drawn(smallMatrix(matrix, { largest: 2, unit: 1 })), "path", "class", "d");
  equal(paths([[0.5, 0.5], [0, null]]), [["shade-2", "M0 0h1v1h-1zM1 0h1v1h-1z"], ["masked", "M1 1h1v1h-1z"]]);
  equal(paths([[-2, 0.1], [1, 0.09]]),
    [["negative-4", "M0 0h1v1h-1z"], ["shade-1", "M1 0h1v1h-1z"], ["shade-3", "M0 1h1v1h-1z"]]);
  equal(smallMatrix([[1, 1, 1]], { largest: 1 }).getAttribute("viewBox"), "0 0 3 1");
});

test("random numbers are repeatable, and spread as they should", () => {
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const near = (found, expected, error) => equal(Math.abs(found - expected) < error, true);
  const [normal, uniform] = [normals(20_000, 7), uniforms(20_000, 3)];
  equal(normals(5, 7), normal.slice(0, 5));
  equal(normals(5, 8)[0] === normal[0], false);
  near(mean(normal), 0, 0.03);
  near(mean(normal.map((one) => one ** 2)), 1, 0.03);
  near(mean(normal.map((one) => Math.abs(one) < 1)), 0.6827, 0.02);
  near(Math.min(...uniform), 0.0005, 0.0005);
  near(Math.max(...uniform), 0.9995, 0.0005);
  near(mean(uniform.map((one) => one < 0.3)), 0.3, 0.02);
  for (const d of [1, 3, 64]) {
    const numbers = normals(2 * d * 500, 7);
    const products = Array.from({ length: 500 }, (_, pair) => Array.from({ length: d }, (_, at) =>
      numbers[2 * d * pair + at] * numbers[2 * d * pair + d + at]).reduce((sum, one) => sum + one, 0));
    close(randomScores(d, 500, 7), products);
  }
  for (const p of [0, 0.3, 0.9]) {
    const weights = dropped(new Array(4000).fill(1), p, 2);
    near(mean(weights.map((one) => one > 0)), 1 - p, 0.03);
    close(weights.filter((one) => one > 0).map((one) => one * (1 - p) - 1), weights.filter((one) => one > 0).fill(0));
  }
});

test("softmax, products and histograms are as by hand", () => {
  close(softmax([0, Math.log(3)]), [0.25, 0.75]);
  close(softmax([700, 700 + Math.log(3) / 2], 0.5), [0.25, 0.75]); // no overflow
  close(softmax([-Infinity, 0]), [0, 1]);
  close(softmax([-Infinity, -Infinity]), [0, 0]);
  equal(multiplied([[1, 2], [3, 4]], [[1, 0, 1], [0, 10, 1]]), [[1, 20, 3], [3, 40, 7]]);
  equal(maskedWeights([[5, 7], [2, 2]], true), [[1, null], [0.5, 0.5]]);
  equal(maskedWeights([[2, 2], [5, 5]], false), [[0.5, 0.5], [0.5, 0.5]]);
  equal(histogram([-90, -40, -21, -20, 0, 19, 20, 40, 90], 40, 4), [3, 1, 2, 3]);
});

test("texts without letters take the given direction", () => {
  equal([direction("(", "rtl"), direction("3"), direction("a", "rtl")], ["rtl", "ltr", "ltr"]);
  equal(visible("\ud800"), "⟨U+D800⟩"); // Playwright cannot send it
});

test("own sentences keep their order around foreign words", () => {
  const said = "▁كلب (j = 3) gives 30 % of what head 1 of layer 2 adds to ▁dog; ▁بيت gives 7 %.";
  const shown = drawn(mixed(said));
  equal(texts(shown, "bdi bdi"), ["▁كلب", "▁بيت"]);
  equal(texts(shown, "bdi[dir=ltr]"), [said]);
});

test("the head to show has a matrix", () => {
  const run = {
    stacks: { encoder: [[1, 2]], cross: [[2]] }, methods: { weights: { whole: false }, erasure: { whole: true } },
  };
  const stacks = { encoder: { weights: [[[[1]], [[1]]]] }, cross: { weights: [[null, [[1]]]] } };
  for (const [method, chosen, shown] of [
    ["weights", null, "cross.1.2"],
    ["weights", "cross.1.1", "cross.1.2"], // pruned
    ["weights", "cross", "cross.1.2"],
    ["weights", "encoder.1.1", "encoder.1.1"],
    ["weights", "encoder.1.mean", "encoder.1.mean"],
    ["weights", "cross.1.mean", "cross.1.2"], // of one head
    ["erasure", "encoder.1.1", "encoder"],
    ["erasure", "decoder.1.1", "cross"],
  ]) {
    equal(headToShow({ method, stacks }, run, chosen), shown);
  }
});

// Charts

const NONE = { training_loss: [], validation_loss: [], learning_rate: [], bleu: [] };
const CURVES = {
  training_loss: [[10, 8], [20, 3], [40, 2.5]],
  training_floor: [[10, 2.25], [40, 2.25]],
  validation_loss: [[20, 4], [40, 2]],
  learning_rate: [[10, 0.001], [40, 0.004]],
  bleu: [],
};
const curves = (more) => picture("curves", { runs: [{ ...NONE, ...more }] });

test("curves fill their frame, under labels at their places", () => {
  const [chart] = all(drawn(drawChart("Loss", [{ name: "one", called: "one", points: [[10, 8], [40, 2], [25, 5]] }])),
    "svg.panel");
  // From 10 to 40 across, 8 at the top and 2 at the bottom.
  equal(attributes(chart, ".curve", "d"), ["M46.0 10.0L310.0 142.0L178.0 76.0h0"]);
  equal(all(chart, ".upward").map((one) => [one.textContent, Number(one.getAttribute("y")).toFixed(1)]),
    [["2", "142.0"], ["4", "98.0"], ["6", "54.0"], ["8", "10.0"]]);
  equal(attributes(chart, ".grid", "d").map((path) => parseFloat(path.split(" ")[1]).toFixed(1)),
    ["142.0", "98.0", "54.0", "10.0"]);
  equal(all(chart, ".across").map((one) => [one.textContent, one.getAttribute("x")]),
    [["10", "46"], ["20", "134"], ["30", "222"], ["40", "310"], ["step", "178"]]);
  equal(chart.getAttribute("viewBox"), "0 0 320 176");
});

test("axes have round numbers, even for a constant", () => {
  const labels = (...values) => texts(curves({ training_loss: [...values.entries()] }), ".upward");
  equal(labels(4, 4), ["2", "3", "4", "5", "6"]);
  equal(labels(0, 0), ["0", "0.5", "1"]);
  equal(labels(-2, -2), ["−3", "−2.5", "−2", "−1.5", "−1"]);
  equal(labels(100, 101), ["100", "100.5", "101"]);
  equal(labels(3e-6, 0.7), ["0.2", "0.4", "0.6"]);
});

test("curves are described by their ends", () => {
  const shown = curves(CURVES);
  equal(texts(shown, "li"), [
    "on validation 4 at step 20, 2 at step 40", "in training (dashed) 8 at step 10, 2.5 at step 40",
    "floor of the smoothed training loss 2.25", " 0.001 at step 10, 0.004 at step 40",
  ]);
  equal(attributes(shown, "figure:first-of-type .panel .curve", "class"),
    ["curve validation_loss", "curve training_loss", "curve training_floor"]);
  equal(texts(curves({ validation_loss: [[20, 4]], learning_rate: [[1, 0.5], [9, 0.5]] }), "li"),
    ["on validation 4 at step 20, measured once", " 0.5"]);
});
