// View 5: how one number is computed, step by step.

import { inRows } from "./arithmetic.js";
import { selection } from "./controls.js";
import {
  capitalised, column, element, folded, foreign, joined, literal, mixed, plural, quiet, retold, say, translated,
} from "./dom.js";
import { changeOf, drawAllOn, explained, STACKS } from "./heads.js";
import { smallMatrix, table } from "./matrix.js";
import { scaleOf } from "./shades.js";
import { addTab, ofPair } from "./tabs.js";

// Stages with one of these steps are open at first, and have its words as their titles.
const MAIN = ["query", "scores", "weights", "head"];
// The least fall of a probability that is said to matter.
const MATTERS = 0.05;
// The numbers of a row that are all zero as printed; a masked column has a dot.
const ZERO = /^[·−0.,]*0[·−0.,]*$/;

addTab({
  id: "steps", title: "How one number is computed", place: 30,
  questions: { explanation: (now) => ofPair(now, "explain", explained(now)) },
  pictures: [
    ["explained-row", ({ explanation }) => [explanation], rowOptions],
    ["explained-head", ({ explanation, run }) => [explanation, run], headOptions],
    ["all-steps", ({ explanation, run, without }) => [explanation, run, without], drawSteps],
  ],
  controls: ({ pick, pickRow }) => [
    selection("explained-row", "Word", (value) => pickRow(JSON.parse(value)), [], "needs-model"),
    selection("explained-head", "Head", (value) => pick(value || null), [], "needs-model"),
  ],
});

/** The head and row of an answer of `explain`, in words; then its stages, as in `tmt explain`. */
function drawSteps(answer, run, without) {
  const { stack, layer, head, row, read, token, choice } = answer;
  const title = say`${translated(STACKS[stack])}, layer ${layer}, head ${head}, row i = ${row}`;
  const reads = foreign(read, stack === "encoder" ? run.source_language : run.target_language);
  return [
    drawAllOn(without),
    element("h3", {}, stack === "encoder" ? say`${title}, which reads ${reads}`
      : say`${title}, which reads ${reads} and writes ${foreign(token, run.target_language)}`),
    choice && element("p", {}, effect(choice, `${stack}.${layer}.${head}`, run)),
    answer.in_words.map((sentence) => element("p", {}, mixed(sentence))),
    quiet("The row i and the columns j count from 0. For each vector you see its length "
      + "‖·‖, some entries, and all entries as shades, blue above zero."),
    answer.stages.map((stage, number) => drawStage(stage, number, answer, run)),
  ];
}

/** What removing the chosen head changes, as probabilities; small changes are called small. */
function effect({ of, log_probability: before, without }, name, run) {
  const heads = plural(Object.keys(without).length, "head");
  const claim = Math.exp(before) - Math.exp(without[name]) >= MATTERS
    ? say`Of ${heads} this one matters most.` : say`Of ${heads} none matters much alone.`;
  const token = foreign(of, run.target_language);
  return [claim, " ", say`Without ${name}, p of ${token} ${changeOf(before, without[name])}.`];
}

/** A stage under the words of its main step, with the class that computes it. */
function drawStage({ title, steps }, number, answer, run) {
  const [name, ...sentence] = title.split(": ");
  const main = steps.find((step) => MAIN.includes(step.name));
  const [called] = retold((main ?? steps[0]).words).split(": ");
  const summary = [
    element("strong", {}, literal(`${number + 1}. ${capitalised(called)}`)), " ",
    element("span", { class: "quiet" }, element("code", {}, literal(name)), " ", foreign(retold(sentence.join(": ")))),
  ];
  return folded(`stage ${number}`, summary, { class: "stage", open: Boolean(main) },
    grouped(steps).map((group) => drawGroup(group, answer, run)));
}

/** Group steps: consecutive ones with a number per key, or per head, share a table. */
function grouped(steps) {
  const isShared = (one, other) =>
    one?.over === other.over && one.over !== "row" && !isVector(one) && !isVector(other);
  const starts = [...steps.keys()].filter((place) => !isShared(steps[place - 1], steps[place]));
  return starts.map((start, number) => steps.slice(start, starts[number + 1]));
}

const isVector = ({ over, values }) => Array.isArray(over === "row" ? values : values[0]);

/** The steps of a group: vectors in lines, and a table whose rows of zeros are only named. */
function drawGroup(steps, answer, run) {
  const [first] = steps;
  const { over, symbol, values } = first;
  const vectors = isVector(first) && (over === "row" ? [values] : values);
  const lengths = vectors && column(vectors.map((vector) => Math.hypot(...vector)));
  if (over === "row") {
    return [formula(first), vectors &&
      element("p", { class: "vector" }, `‖${symbol}‖ = ${lengths}`, entries(vectors), strips(vectors))];
  }
  const columns = vectors
    ? { [`‖${symbol}‖`]: lengths, [symbol]: entries(vectors), "as shades": strips(vectors) }
    : Object.fromEntries(steps.map((step) => [step.symbol, printed(step.values)]));
  const name = steps.map(({ words }) => retold(words)).join("; ");
  const all = Object.entries({ ...labels(over, answer, run), ...columns });
  const numbers = Object.values(columns).filter(([first]) => typeof first === "string");
  const isZero = (_, place) => ZERO.test(numbers.map((cells) => cells[place]).join(""));
  const shown = all.map(([heading, cells]) => [heading, cells.filter((cell, place) => !isZero(cell, place))]);
  const zeros = all[over === "keys" ? 1 : 0][1].filter(isZero);
  return [
    steps.map(formula), table(name, Object.fromEntries(shown)),
    zeros.length > 0 && quiet("Zero in all digits shown: ", joined(zeros)),
  ];
}

function formula({ words, symbol, formula: how, over, values }) {
  const value = over === "row" && !Array.isArray(values) ? ` = ${column([values])[0]}` : "";
  const equation = [symbol, how].filter(Boolean).join(" = ");
  return element("p", {}, `${capitalised(retold(words))}: `, element("code", {}, literal(equation + value)));
}

/** The first columns of a table: the number j of each column and its token, or the number of each head. */
function labels(over, { stack, columns, heads }, run) {
  const language = stack === "decoder" ? run.target_language : run.source_language;
  const tokens = columns.map((token) => foreign(token, language));
  return over === "heads" ? { r: heads } : { j: [...columns.keys()], column: tokens };
}

function printed(values) {
  const names = { true: "yes", false: "·" };
  return values.some((value) => value % 1) ? column(values) : values.map((value) => names[value] ?? value);
}

/** The entries of vectors; of long ones, the first four and the last. */
function entries(vectors) {
  const isLong = vectors[0].length > 6;
  const shown = isLong ? vectors.map((values) => [...values.slice(0, 4), values.at(-1)]) : vectors;
  return inRows(column(shown.flat()), shown[0].length).map((own) =>
    element("span", { class: "entries" }, `[${(isLong ? own.toSpliced(4, 0, "…") : own).join(" ")}]`));
}

/** Vectors as rows of shaded squares, on a common scale. */
function strips(vectors) {
  const scale = scaleOf([vectors]);
  return vectors.map((values) => smallMatrix([values], scale));
}

/** Options for the word: every token with a row, with `{ side, word, token }` as its value. */
function rowOptions({ rows, stack, row }) {
  const own = stack === "encoder" ? "source" : "target";
  return Object.entries(rows).map(([side, words]) => {
    let count = 0;
    const texts = words.map(([word]) => word);
    const options = words.flatMap(([word, tokens], number) =>
      tokens.map((token, place) => {
        const name = texts.indexOf(word) === number ? word : String(number + 1);
        const value = JSON.stringify({ side, word: name, token: place + 1 });
        const label = tokens.length > 1 ? `${word}: ${token}` : word;
        return element("option", { value, selected: side === own && (count += 1) === row + 1 }, literal(label));
      }),
    );
    return element("optgroup", { label: side === "source" ? "Sentence" : "Translation" }, options);
  });
}

/** Options for the head: the one with the largest effect (empty value), and every head of the model. */
function headOptions({ stack, layer, head, choice }, run) {
  const own = `${stack}.${layer}.${head}`;
  const groups = Object.entries(run.stacks).map(([name, layers]) => {
    const heads = layers.flatMap((numbers, place) => numbers.map((number) => `${name}.${place + 1}.${number}`));
    const options = heads.map((one) => element("option", { value: one, selected: !choice && one === own }, one));
    return element("optgroup", { label: STACKS[name] }, options);
  });
  const most = choice ? say`the largest effect: ${own}` : "the largest effect";
  return [element("option", { value: "" }, most), groups];
}
