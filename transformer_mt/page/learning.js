// View 7: how a run learned: its curves, and a sentence at each saved checkpoint.

import { element, shape } from "./dom.js";
import { drawHead, drawHeads, headToShow } from "./heads.js";
import { table } from "./steps.js";
import { comparison } from "./translation.js";

// The curves of each panel, with their names there.
const PANELS = {
  "Loss, nats per target token": { validation_loss: "on validation", training_loss: "in training (dashed)" },
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
// The size of a panel and the area of its curves, in SVG units.
const SIZE = { width: 320, height: 190, left: 46, right: 310, top: 10, bottom: 164 };
const MOST_ROWS = 60;

/** The curves of a run in panels, and their numbers as a table, from an answer of `curves`. */
export function drawCurves({ runs: [curves] }) {
  const panels = Object.entries(PANELS).map(([title, names]) => {
    const shown = Object.entries(names).filter(([name]) => curves[name].length > 0);
    const lines = shown.map(([name, called]) => ({ name, called, points: curves[name] }));
    return lines.length > 0 && drawPanel(title, lines);
  });
  return [element("div", { class: "panels" }, panels), asTable(curves)];
}

function drawPanel(title, curves) {
  const [across, up] = [0, 1].map((axis) => extent(curves.flatMap(({ points }) => points.map((point) => point[axis]))));
  const x = (step) => SIZE.left + ((step - across[0]) / (across[1] - across[0])) * (SIZE.right - SIZE.left);
  const y = (value) => SIZE.bottom - ((value - up[0]) / (up[1] - up[0])) * (SIZE.bottom - SIZE.top);
  const text = (number, at) => shape("text", at, short(number));
  const drawing = shape(
    "svg",
    { class: "panel", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, "aria-hidden": "true" },
    ticks(...up, 5).map((value) => [
      shape("path", { class: "grid", d: `M${SIZE.left} ${y(value)}H${SIZE.right}` }),
      text(value, { class: "upward", x: SIZE.left - 5, y: y(value) }),
    ]),
    ticks(...across, 4).map((step) => text(step, { class: "across", x: x(step), y: SIZE.bottom + 16 })),
    curves.map(({ name, points }) => {
      const path = points.map(([step, value]) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
      return shape("path", { class: `curve ${name}`, d: `M${path}h0` });
    }),
  );
  const said = curves.map(({ called, points }) => {
    const [[first, start], [last, end]] = [points[0], points.at(-1)];
    return element("li", {}, `${called} ${short(start)} at step ${short(first)}, ${short(end)} at step ${short(last)}`);
  });
  return element("figure", {}, element("figcaption", {}, title), drawing, element("ul", {}, said));
}

/** The ends of an axis; they differ even if all numbers are the same. */
function extent(numbers) {
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
  return high > low ? [low, high] : [low - Math.abs(low) / 2, high + (Math.abs(high) / 2 || 1)];
}

/** At most `most` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten. */
function ticks(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  for (const step of [1, 2, 5, 10, 20].map((factor) => factor * power)) {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    if (last - first < most) {
      return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
    }
  }
  return [];
}

function short(number) {
  return Number(number.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
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
  const how = "tmt train --set training.keep_checkpoints=weights --set training.validate_every=100";
  return checkpoints.length < 2 &&
    element("p", {}, "This run has no earlier checkpoints. To keep the weights of every validation: ",
      element("code", {}, how));
}
