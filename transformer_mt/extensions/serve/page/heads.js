// Views 3 and 4: where each head looks, and whether it matters.

import {
  button, capitalised, decimal, direction, element, fixed, plural, probability, quiet, retold, say, translated,
} from "./dom.js";
import { roving } from "./keyboard.js";
import { matrixTable, smallMatrix } from "./matrix.js";
import { legend, level, scaleOf } from "./shades.js";
import { linkedWords } from "./words.js";

export const STACKS = {
  encoder: "Encoder self-attention", decoder: "Decoder self-attention", cross: "Cross-attention",
};
// In the name of a layer's mean, the place of the head's number.
const MEAN = "mean";

// The rows and columns of a method with one matrix for the whole model.
const BETWEEN = {
  encoder: "sentence against itself", decoder: "translation against itself", cross: "translation against sentence",
};

/** True if a method has one matrix for the whole model, not one per head. */
const isWhole = ({ method }, run) => run.methods[method]?.whole ?? false;

/** The title of a stack's matrices: what a method measures, and where. */
function titleOf(method, stack, whole) {
  const where = translated(whole ? BETWEEN[stack] : STACKS[stack]);
  return method === "weights" ? where : `${capitalised(translated(method))}: ${where}`;
}

/**
 * Every head as a small matrix and a switch, and the mean of each layer, from an answer of `attend`.
 *
 * `losses` is an answer of `losses`, or null. `pick(head)` and `flip(head)` are called with a name such as
 * `cross.2.1`; without `flip`, there are no switches. Heads in `without` are off: their matrices are not drawn.
 */
export function drawHeads(attention, run, head, without, losses, { pick, flip }) {
  const stacks = Object.keys(attention.stacks);
  if (!stacks.length) {
    return element("p", {},
      "This model has no attention, so there are no heads to look at. Choose another run above.");
  }
  const chosen = headToShow(attention, run, head);
  const whole = isWhole(attention, run);
  const namesOf = (stack) => whole ? [[stack]] : headNames(run, stack);
  const numbersOf = (name) => matrixOf(attention, run, name, without)?.numbers;
  const scale = scaleOf(stacks.flatMap(namesOf).flat().map(numbersOf).filter(Boolean));
  const sections = stacks.map((stack) => {
    const [{ dir }] = sidesOf(stack, attention, run);
    const title = titleOf(attention.method, stack, whole);
    const rows = namesOf(stack).map((names, layer) => {
      const cells = names.map((name) => headCell(name, whole ? title : name, numbersOf(name), {
        scale, dir, isChosen: name === chosen, isOff: without.includes(name), losses, pick, flip,
      }));
      const label = whole ? translated("whole model") : say`layer ${layer + 1}`;
      const group = { class: "layer", role: "group", "aria-label": `${title}, ${label}` };
      return [quiet(label), element("div", group, cells)];
    });
    return element("section", { class: `stack ${stack}` }, element("h3", {}, title), rows);
  });
  const grid = element("div", { class: "heads" }, sections);
  return roving(grid, "button", { current: grid.querySelector(".pick[aria-pressed=true]") });
}

/** True if a run has a head of this name. */
export function isHead({ stacks }, name) {
  const [stack, layer, number] = name.split(".");
  return Boolean(Object.hasOwn(stacks, stack) && stacks[stack][layer - 1]?.includes(Number(number)));
}

/** The names of the heads of a stack, layer by layer, and of the mean of a layer with several. */
export function headNames(run, stack) {
  return run.stacks[stack].map((heads, layer) =>
    [...heads, ...(heads.length > 1 ? [MEAN] : [])].map((head) => `${stack}.${layer + 1}.${head}`));
}

function headCell(name, said, matrix, { scale, dir, isChosen, isOff, losses, pick, flip }) {
  const picture = matrix ? smallMatrix(matrix, scale, dir) : element("span", { class: "small empty" }, "off");
  const [, layer, number] = name.split(".");
  const label = number === MEAN ? MEAN : `${layer}.${number}`;
  const attributes = { class: "pick", "aria-pressed": isChosen, "aria-label": say`Look at ${said}` };
  const loss = losses && losses.log_probability - losses.without[name];
  const sign = Math.abs(loss) < 0.005 ? "±" : loss < 0 ? "+" : "−";
  return element("div", { class: "head" },
    button(`pick ${name}`, () => pick(name), attributes, picture),
    flip && layer && number !== MEAN ? headSwitch(name, label, !isOff, flip)
      : layer && element("span", { class: "loss" }, label),
    Number.isFinite(loss) && element("span", { class: "loss" }, `ln p ${sign}${decimal(Math.abs(loss))}`));
}

/** A button that turns a head on or off. */
export function headSwitch(name, label, isOn, flip) {
  const attributes = { class: "switch", "aria-pressed": isOn, "aria-label": say`Use ${name}` };
  return button(`switch ${name}`, () => flip(name), attributes, label, " ", isOn ? "on" : "off");
}

/** The chosen head: the effect of removing it, its links, and its numbers as a table. */
export function drawHead(attention, run, head, without, losses) {
  const chosen = headToShow(attention, run, head);
  if (!chosen) {
    return null;
  }
  const found = matrixOf(attention, run, chosen, without);
  const [before, after] = [losses?.log_probability, losses?.without[chosen]];
  const logarithms = after !== undefined && say`ln p from ${fixed(before, 2)} to ${fixed(after, 2)}`;
  const loss = logarithms && element("p", {},
    say`Without ${chosen}, p of this translation ${changeOf(before, after)}; ${logarithms}.`,
    without.length > 0 && " All other heads are on here.");
  if (!found) {
    const isOff = without.includes(chosen) || chosen.endsWith(MEAN);
    return [element("p", {}, isOff ? say`${chosen} is off.` : "Choose a head above to see its numbers."), loss];
  }
  const { stack, numbers, count } = found;
  const [whole, meaning] = [isWhole(attention, run), run.methods[attention.method]?.meaning ?? attention.method];
  const [columns, rows] = sidesOf(stack, attention, run);
  const scale = scaleOf([numbers]);
  const links = numbers.flatMap((row, to) => row.map((number, from) => ({ from, to, weight: number ?? 0 })))
    .filter(({ weight }) => level(weight, scale.largest) > 0);
  const title = titleOf(attention.method, stack, whole);
  const mean = count === null ? "" : say` This is the mean of ${plural(count, "head")}.`;
  const caption =
    `${whole ? title : `${title}, ${chosen}`}. ${say`A number is ${retold(meaning)}; ${legend(scale)}.`}${mean}`;
  return [
    element("h3", {}, whole ? title : chosen),
    loss,
    linkedWords({ lines: [columns, rows], links, scale, name: say`Where ${whole ? title : chosen} looks` }),
    matrixTable({ numbers, rows, columns, scale, caption }),
  ];
}

/** The columns and rows of a stack: their words, language and direction. */
function sidesOf(stack, { source, target, stacks }, run) {
  const ofSource = { language: run.source_language, dir: direction(source) };
  const ofTarget = { language: run.target_language, dir: direction(target) };
  const { columns, rows } = stacks[stack];
  return [
    { words: columns, name: "Columns: where it may look", ...(stack === "decoder" ? ofTarget : ofSource) },
    { words: rows, name: "Rows: where it looks from", ...(stack === "encoder" ? ofSource : ofTarget) },
  ];
}

/** The chosen head if the model has it, even if it is off; otherwise the first cross-attention head with a matrix. */
export function headToShow(attention, run, chosen) {
  const { stacks } = attention;
  const [stack] = (chosen ?? "").split(".");
  const other = "cross" in stacks ? "cross" : Object.keys(stacks)[0];
  if (isWhole(attention, run)) {
    return stack in stacks ? stack : other;
  }
  const namesOf = (one) => Object.hasOwn(run.stacks, one ?? "") ? headNames(run, one).flat() : [];
  return namesOf(stack).includes(chosen) ? chosen
    : namesOf(other).find((name) => matrixOf(attention, run, name, []));
}

/** A note for numbers that are computed with all heads, if some are off. */
export const drawAllOn = (without) => without.length > 0 && quiet("These numbers are with all heads on.");

/** How a probability changes, as printed; from its logarithms. */
export function changeOf(before, after) {
  const [p, q] = [before, after].map((number) => probability(Math.exp(number)));
  return p === q ? say`stays at ${p}` : after > before ? say`rises from ${p} to ${q}` : say`falls from ${p} to ${q}`;
}

/** The matrix of a head that is on, or the mean over those of a layer and their `count`; null if there is none. */
export function matrixOf({ stacks }, run, name, without) {
  const [stack, layer = 1, head = 1] = name?.split(".") ?? [];
  const [matrices, isMean] = [stacks[stack]?.weights[layer - 1], head === MEAN];
  const on = (isMean ? run.stacks[stack][layer - 1] : [head]).filter((number) =>
    matrices?.[number - 1] && !without.includes(isMean ? `${stack}.${layer}.${number}` : name));
  const numbers = on.length > 0 && meanOf(on.map((number) => matrices[number - 1]));
  return numbers ? { stack, numbers, count: isMean ? on.length : null } : null;
}

/** The mean of matrices, cell by cell; masked cells stay null. */
function meanOf(matrices) {
  return matrices[0].map((row, i) => row.map((number, j) =>
    number === null ? null : matrices.reduce((sum, matrix) => sum + matrix[i][j], 0) / matrices.length));
}

/** The row and head to explain, as keys of a request, if chosen and still available. */
export function explained({ run, head, row, translation }) {
  const [stack, layer, number] = head?.split(".") ?? [];
  const place = row && row.of === translation?.translation ? { word: row.word, token: row.token } : {};
  const only = row?.side === "source" && place.word ? { stack: "encoder" } : {};
  const isThere = run && isHead(run, head ?? "");
  return { ...place, ...(isThere ? { stack, layer: Number(layer), head: Number(number) } : only) };
}
