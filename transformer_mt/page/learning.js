// View 7: how a run learned: its curves, and a sentence at each saved checkpoint.

import { drawChart, short } from "./chart.js";
import { element } from "./dom.js";
import { drawHead, drawHeads, headToShow } from "./heads.js";
import { table } from "./steps.js";
import { comparison } from "./translation.js";

// The curves of each panel, with their names there.
const PANELS = {
  "Loss, nats per target token": {
    validation_loss: "on validation",
    training_loss: "in training (dashed)",
    training_floor: "floor of the smoothed training loss",
  },
  "Learning rate": { learning_rate: "" },
  "BLEU on validation": { bleu: "" },
};
// The columns of the table.
const COLUMNS = {
  training_loss: "training loss",
  validation_loss: "validation loss",
  learning_rate: "learning rate",
  bleu: "BLEU",
};
const MOST_ROWS = 60;

/** The curves of a run in panels, and their numbers as a table, from an answer of `curves`. */
export function drawCurves({ runs: [curves] }) {
  const panels = Object.entries(PANELS).map(([title, names]) => {
    const shown = Object.entries(names).filter(([name]) => curves[name]?.length > 0);
    const lines = shown.map(([name, called]) => ({ name, called, points: curves[name] }));
    return lines.length > 0 && drawChart(title, lines);
  });
  return [element("div", { class: "panels" }, panels), asTable(curves)];
}

/** All curves at the steps of validation; of many steps, an even selection including the last. */
function asTable(curves) {
  const measured = curves.validation_loss.length > 0 ? curves.validation_loss : curves.training_loss;
  const apart = Math.ceil(measured.length / MOST_ROWS);
  const steps = measured.map(([step]) => step).filter((_, place) => (measured.length - 1 - place) % apart === 0);
  const columns = Object.entries(COLUMNS).map(([name, heading]) => {
    const values = new Map(curves[name]);
    return [heading, steps.map((step) => (values.has(step) ? short(values.get(step)) : "–"))];
  });
  const numbers = table("The curves in numbers", { step: steps.map(short), ...Object.fromEntries(columns) });
  return element("details", {}, element("summary", { "data-place": "numbers" }, "As a table"), numbers);
}

/** The sentence at a checkpoint, from an answer of `history`: its translation, and where the heads looked. */
export function drawHistory(frame, { read, translation }, run, head, { pick }) {
  const loss = frame.loss === null ? "" : `, loss on validation ${short(frame.loss)}`;
  const attention = { ...frame, method: "weights", source: read, target: translation };
  const chosen = headToShow(attention, run, head);
  const now = frame.translation === translation ? ", as now" : "";
  return [
    element("h3", {}, `After step ${short(frame.step)}`, loss),
    element("p", { class: "then" }, `It translated${now}: `,
      comparison(frame.translation, translation, run.target_language)),
    element("p", { class: "quiet" }, "Where each head looked then, given the current translation."),
    drawHeads(attention, run, chosen, [], null, { pick }),
    drawHead(attention, run, chosen, [], null),
  ];
}

/** A hint for runs without earlier checkpoints. */
export function drawTooFew({ checkpoints }) {
  const how = "tmt train --set training.keep_checkpoints=weights";
  return checkpoints.length < 2 &&
    element("p", {}, "This run has no earlier checkpoints. To keep the weights of every validation: ",
      element("code", {}, how));
}
