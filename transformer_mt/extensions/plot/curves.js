// The curves of a run, in the tab "How it learned".

import { drawChart } from "./chart.js";
import { element } from "./dom.js";
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

/** The curves of a run in panels, from an answer of `curves`. */
function drawCurves({ runs: [curves] }) {
  const panels = Object.entries(PANELS).map(([title, names]) => {
    const shown = Object.entries(names).filter(([name]) => curves[name]?.length > 0);
    const lines = shown.map(([name, called]) => ({ name, called, points: curves[name] }));
    return lines.length > 0 && drawChart(title, lines);
  });
  return element("div", { class: "panels" }, panels);
}

addTab({
  id: "learning",
  questions: { curves: ({ run }) => run && [`curves?run=${encodeURIComponent(run.run.toWellFormed())}`, null] },
  pictures: [["curves", ({ curves }) => [curves], drawCurves]],
});
