// The tab "How one number is computed": what its temperature does to an answer of any model, for `test_steps.py`.

import { all, attributes, close, equal, picture, texts } from "./check.js";

const RUN = { source_language: "de", target_language: "en" };
const length = (vector) => Math.hypot(...vector);

/** Fail unless every stage is drawn, and the slider, if it should be there, recomputes weights and head. */
export function check(answer, hasSlider) {
  const shown = picture("all-steps", answer, RUN, []);
  equal(all(shown, ".stage").length, answer.stages.length);
  const [panel, slider] = [shown.querySelector(".what-if"), shown.querySelector("#what-if-temperature")];
  equal(Boolean(slider), hasSlider);
  if (!slider) {
    return;
  }
  slider.value = -0.3;
  slider.dispatchEvent(new Event("input"));
  equal(slider.getAttribute("aria-valuetext"), "T = 0.50");
  const steps = Object.fromEntries(answer.stages.flatMap((stage) => stage.steps).map((one) => [one.name, one.values]));
  const scores = steps.scores_with_position ?? steps.scores;
  const most = Math.max(...scores);
  const powers = scores.map((score, j) => (steps.mask?.[j] ?? true) * Math.exp((score - most) / 10 ** -0.3));
  const total = powers.reduce((sum, one) => sum + one, 0) || 1; // a row may have no neighbours
  const weights = powers.map((one) => one / total);
  close(all(panel, "tbody tr").map((row) => Number(texts(row, "td")[2])), weights, 6e-4);
  const widths = attributes(panel, ".imagined", "width");
  close(widths, weights.map((one) => Math.max(0.5, 100 * one)), 0.01);
  const head = steps.head.map((_, d) => weights.reduce((sum, weight, j) =>
    sum + weight * (steps.values[j][d] + (steps.position_values?.[j][d] ?? 0)), 0));
  const lengths = texts(panel, ".vector").map((text) => Number(text.split(/[=[]/)[1]));
  const expected = [steps.head, head].map(length);
  close(lengths.map((one, at) => (one - expected[at]) / (expected[at] + 0.03)), [0, 0], 0.02); // shown with three digits
}
