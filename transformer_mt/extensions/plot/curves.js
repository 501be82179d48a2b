// The curves of a run, in the tab "How it learned".

import { drawChart, short } from "./chart.js";
import { element, folded } from "./dom.js";
import { table } from "./matrix.js";
import { addTab } from "./tabs.js";

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
  training_loss: "training loss", validation_loss: "validation loss", learning_rate: "learning rate", bleu: "BLEU",
};
const MOST_ROWS = 60;

/** The curves of a run in panels, and their numbers as a table, from an answer of `curves`. */
function drawCurves({ runs: [curves] }) {
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
  return folded("numbers", "As a table", {},
    table("The curves in numbers", { step: steps.map(short), ...Object.fromEntries(columns) }));
}

addTab({
  id: "learning",
  questions: { curves: ({ run }) => run && [`curves?run=${encodeURIComponent(run.run.toWellFormed())}`, null] },
  pictures: [["curves", ({ curves }) => [curves], drawCurves]],
});
