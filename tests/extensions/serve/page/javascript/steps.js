// The tab "How one number is computed" with an answer of any model, for `test_steps.py`.

import { all, equal, picture, texts } from "./check.js";

const RUN = { source_language: "de", target_language: "en" };

/** Fail unless every stage is drawn, with the weights and the length of the head's vector. */
export function check(answer) {
  const shown = picture("all-steps", answer, RUN, []);
  equal(all(shown, ".stage").length, answer.stages.length);
  const steps = Object.fromEntries(answer.stages.flatMap((stage) => stage.steps).map((one) => [one.name, one.values]));
  const lengths = texts(shown, ".vector").map((text) => Number(text.split(/[=[]/)[1]));
  equal(lengths.some((one) => Math.abs(one - Math.hypot(...steps.head)) < 6e-4), true);
  const formulas = texts(shown, "p > code");
  const missing = answer.stages.flatMap(({ steps }) => steps).filter(({ symbol }) =>
    !formulas.some((one) => one.startsWith(symbol)));
  equal(missing, []);
}
