// View 5: how one number is computed, step by step, and the effect of a different temperature.

import { softmax, weighedSum } from "./arithmetic.js";
import { bar } from "./choices.js";
import { interactive, selection } from "./controls.js";
import {
  capitalised, column, element, fixed, folded, foreign, literal, mixed, plural, quiet, retold, say, translated,
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
const TEXTS = { target: "Translation", source: "Sentence" };

addTab({
  id: "steps",
  title: "How one number is computed",
  place: 30,
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
  const language = stack === "encoder" ? run.source_language : run.target_language;
  const reads = foreign(read, language);
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
  return folded(`stage ${number}`, summary, { class: "stage", open: Boolean(main) }, grouped(steps).map((group) => [
    drawGroup(group, answer, run),
    group.some((step) => step.name === "head") && whatIf(answer, run),
  ]));
}

/** Group steps: consecutive ones with a number per key, or per head, share a table. */
function grouped(steps) {
  const groups = [];
  for (const step of steps) {
    const last = groups.at(-1)?.[0];
    if (last && last.over === step.over && step.over !== "row" && !isVector(last) && !isVector(step)) {
      groups.at(-1).push(step);
    } else {
      groups.push([step]);
    }
  }
  return groups;
}

function isVector({ over, values }) {
  return Array.isArray(over === "row" ? values : values[0]);
}

/** The steps of a group: vectors in lines, and a table whose rows of zeros are only named. */
function drawGroup(steps, answer, run) {
  const [first] = steps;
  const { over, symbol, values } = first;
  if (over === "row") {
    return [formula(first), isVector(first) && vectorLines(symbol, [values], [""])];
  }
  const columns = isVector(first)
    ? { [`‖${symbol}‖`]: column(values.map(length)), [symbol]: entries(values), "as shades": strips(values) }
    : Object.fromEntries(steps.map((step) => [step.symbol, printed(step.values)]));
  const name = steps.map(({ words }) => retold(words)).join("; ");
  const all = Object.entries({ ...labels(over, answer, run), ...columns });
  const numbers = Object.values(columns).filter(([first]) => typeof first === "string");
  const isZero = (_, place) => ZERO.test(numbers.map((cells) => cells[place]).join(""));
  const shown = all.map(([heading, cells]) => [heading, cells.filter((cell, place) => !isZero(cell, place))]);
  const zeros = all[over === "keys" ? 1 : 0][1].filter(isZero);
  return [
    steps.map(formula), table(name, Object.fromEntries(shown)), zeros.length > 0 &&
      quiet("Zero in all digits shown: ", zeros.map((label, place) => [place > 0 && ", ", label])),
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

/** Vectors with their names, lengths and entries. */
function vectorLines(symbol, vectors, names) {
  const [all, shades, lengths] = [entries(vectors), strips(vectors), column(vectors.map(length))];
  return names.map((name, place) =>
    element("p", { class: "vector" }, `${name}‖${symbol}‖ = ${lengths[place]}`, all[place], shades[place]));
}

/** The entries of vectors; of long ones, the first four and the last. */
function entries(vectors) {
  const isLong = vectors[0].length > 6;
  const numbers = column(vectors.flatMap((values) => (isLong ? [...values.slice(0, 4), values.at(-1)] : values)));
  const size = numbers.length / vectors.length;
  return vectors.map((_, place) => {
    const own = numbers.slice(place * size, (place + 1) * size);
    return element("span", { class: "entries" }, `[${(isLong ? own.toSpliced(4, 0, "…") : own).join(" ")}]`);
  });
}

/** Vectors as rows of shaded squares, on a common scale. */
function strips(vectors) {
  const scale = scaleOf([vectors]);
  return vectors.map((values) => smallMatrix([values], scale));
}

function length(values) {
  return Math.hypot(...values);
}

/** A slider that recomputes the softmax and the head for a temperature; without a softmax, an explanation. */
function whatIf(answer, run) {
  const found = softmaxOf(answer.stages.flatMap(({ steps }) => steps));
  if (!found.isSoftmax) {
    return element("p", {}, "These weights are not a softmax of scores, so there is no temperature to change.");
  }
  const shown = (power) => power === 0 ? say`T = ${fixed(1, 2)}, as in the model` : `T = ${fixed(10 ** power, 2)}`;
  const field = { name: "temperature", label: "Temperature", min: -1, max: 1, step: 0.05, value: 0, shown };
  return element("section", { class: "what-if", "aria-label": "What if?" }, element("h4", {}, "What if?"),
    element("p", {}, "The scores are divided by T before the softmax. Below 1, the largest weight grows; above 1, the "
      + "weights become more equal. Only T = 1 gives the model's own numbers."),
    interactive("what-if", [field], (values) => imagined(found, 10 ** values.temperature, answer, run)));
}

/** Scores, mask, weights and weighted vectors; `isSoftmax` if the weights are the softmax of the scores. */
function softmaxOf(steps) {
  const of = (name) => steps.findLast((step) => step.name === name);
  const scores = (of("scores_with_position") ?? of("scores")).values;
  const mask = of("mask")?.values ?? scores.map(() => true);
  const weights = of("weights");
  const shifts = of("position_values")?.values;
  const vectors = of("values").values.map((one, j) => (shifts ? one.map((number, d) => number + shifts[j][d]) : one));
  const again = softened(scores, mask, 1);
  const isSoftmax = weights.formula.startsWith("exp(") &&
    weights.values.every((weight, j) => Math.abs(weight - again[j]) < 1e-3);
  return { scores, mask, weights: weights.values, vectors, head: of("head").values, isSoftmax };
}

/** softmax(scores / temperature) over unmasked columns; all zeros if there are none. */
function softened(scores, mask, temperature) {
  return softmax(scores.map((score, j) => (mask[j] ? score : -Infinity)), temperature);
}

function imagined({ scores, mask, weights, vectors, head }, temperature, answer, run) {
  const others = softened(scores, mask, temperature);
  const sum = weighedSum(others, vectors);
  const columns = {
    ...labels("keys", answer, run),
    α_j: column(weights),
    [say`what if, T = ${fixed(temperature, 2)}`]: column(others),
    "as bars, the model's above": weights.map((weight, j) => [bar(weight), bar(others[j], "imagined")]),
  };
  return [
    table("Weights of the model, and what if", columns),
    vectorLines("head", [head, sum], [translated("The model's "), translated("What if ")]),
  ];
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
    return element("optgroup", { label: TEXTS[side] }, options);
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
