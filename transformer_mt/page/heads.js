// Views 3 and 4: where each head looks, and whether it matters.

import { button, decimal, direction, element, logarithm } from "./dom.js";
import { roving } from "./keyboard.js";
import { matrixTable, smallMatrix } from "./matrix.js";
import { legend, level, scaleOf } from "./shades.js";
import { linkedWords } from "./words.js";

export const STACKS = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};
// The minimum shade of links to draw.
const LEAST = 1;

/**
 * Every head as a small matrix and a switch, from an answer of `attend`.
 *
 * `losses` is an answer of `losses`, or null. `pick(head)` and `flip(head)` are called with a name such as
 * `cross.2.1`; without `flip`, there are no switches.
 */
export function drawHeads(attention, run, chosen, without, losses, { pick, flip }) {
  const scale = scaleOf(Object.values(attention.stacks).flatMap(matricesOf));
  const { whole } = run.methods[attention.method];
  const stacks = Object.entries(attention.stacks).map(([stack, maps]) => {
    const [{ dir }] = sidesOf(stack, attention, run);
    const layers = whole ? [[1]] : run.stacks[stack];
    const rows = layers.map((heads, layer) => {
      const cells = heads.map((head) => {
        const name = whole ? stack : `${stack}.${layer + 1}.${head}`;
        const off = without.includes(name);
        const loss = losses?.without[name] === undefined ? null : losses.log_probability - losses.without[name];
        return headCell(name, maps.weights[layer][head - 1], scale, { off, loss, chosen, dir, pick, flip });
      });
      const label = whole ? "whole model" : `layer ${layer + 1}`;
      return [
        element("p", { class: "quiet" }, label),
        element("div", { class: "layer", role: "group", "aria-label": `${STACKS[stack]}, ${label}` }, cells),
      ];
    });
    return element("section", { class: "stack" }, element("h3", {}, STACKS[stack]), rows);
  });
  const grid = element("div", { class: "heads" }, stacks);
  return roving(grid, "button", { current: grid.querySelector(".pick[aria-pressed=true]") });
}

function headCell(name, matrix, scale, { off, loss, chosen, dir, pick, flip }) {
  const picture = matrix ? smallMatrix(matrix, scale, dir) : element("span", { class: "small empty" }, "off");
  const isSwitched = flip && name.includes(".");
  return element("div", { class: "head" },
    button(`pick ${name}`, () => pick(name), {
      class: "pick", "aria-pressed": String(name === chosen), "aria-label": `Look at ${name}`,
    }, picture),
    isSwitched && button(`switch ${name}`, () => flip(name), {
      class: "switch", "aria-pressed": String(!off), "aria-label": `Use ${name}`,
    }, name.slice(name.indexOf(".") + 1), off ? " off" : " on"),
    loss !== null && element("span", { class: "loss" }, rounded(loss)));
}

/** The chosen head: the effect of removing it, its links, and its numbers as a table. */
export function drawHead(attention, run, chosen, without, losses) {
  const found = matrixOf(attention, chosen);
  const loss = losses?.without[chosen] !== undefined &&
    element("p", {}, importance(chosen, losses), without.length > 0 && " All other heads are on here.");
  if (!found) {
    const isOff = without.includes(chosen);
    return [element("p", {}, isOff ? `${chosen} is off.` : "Choose a head above to see its numbers."), loss];
  }
  const { maps, stack, numbers } = found;
  const [above, below] = sidesOf(stack, attention, run);
  const scale = scaleOf([numbers]);
  const links = numbers.flatMap((row, to) =>
    row.map((number, from) => ({ from, to, weight: number ?? 0 })),
  ).filter(({ weight }) => level(weight, scale.largest) >= LEAST);
  const words = (texts) => texts.map((text) => ({ text }));
  const lines = [
    { words: words(maps.columns), ...above, name: "Columns: where it may look" },
    { words: words(maps.rows), ...below, name: "Rows: where it looks from" },
  ];
  const { meaning } = run.methods[attention.method];
  const caption = `${STACKS[stack]}, ${chosen}. A number is ${meaning}; ${legend(scale)}.`;
  return [
    element("h3", {}, chosen),
    loss,
    linkedWords({ lines, links, scale, name: `Where ${chosen} looks` }),
    matrixTable({
      numbers,
      rows: { words: maps.rows, ...below },
      columns: { words: maps.columns, ...above },
      scale,
      caption,
    }),
  ];
}

/** The language and direction of the columns and rows of a stack. */
function sidesOf(stack, { source, target }, run) {
  const ofSource = { language: run.source_language, dir: direction(source) };
  const ofTarget = { language: run.target_language, dir: direction(target) };
  return [stack === "decoder" ? ofTarget : ofSource, stack === "encoder" ? ofSource : ofTarget];
}

/** The chosen head if the model has it, even if it is off; otherwise the first cross-attention head with a matrix. */
export function headToShow({ method, stacks }, run, chosen) {
  const [stack, layer, number] = (chosen ?? "").split(".");
  const other = "cross" in stacks ? "cross" : Object.keys(stacks)[0];
  if (run.methods[method].whole) {
    return stack in stacks ? stack : other;
  }
  if (run.stacks[stack]?.[layer - 1]?.includes(Number(number))) {
    return chosen;
  }
  const named = (heads, i) => heads.map((matrix, j) => matrix && `${other}.${i + 1}.${j + 1}`);
  return stacks[other]?.weights.flatMap(named).find(Boolean);
}

/** A note for numbers that are computed with all heads, if some are off. */
export function drawAllOn(without) {
  return without.length > 0 && element("p", { class: "quiet" }, "All heads are on here.");
}

function importance(name, losses) {
  const fall = losses.log_probability - losses.without[name];
  const [before, after] = [losses.log_probability, losses.without[name]].map(logarithm);
  const what = `Without ${name}, ln p of this translation`;
  return before === after
    ? `${what} stays at ${before}.`
    : `${what} ${fall < 0 ? "rises" : "falls"} by ${decimal(Math.abs(fall))}, from ${before} to ${after}.`;
}

function rounded(loss) {
  return `${Math.abs(loss) < 0.005 ? "" : loss < 0 ? "+" : "−"}${decimal(Math.abs(loss))}`;
}

function matricesOf({ weights }) {
  return weights.flat().filter((matrix) => matrix !== null);
}

function matrixOf(attention, name) {
  const [stack, layer = 1, head = 1] = (name ?? "").split(".");
  const maps = attention.stacks[stack];
  const numbers = maps?.weights[layer - 1]?.[head - 1];
  return numbers ? { maps, stack, numbers } : null;
}
