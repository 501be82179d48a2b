// The page as a whole: one state, the questions that follow from it, and the pictures of state and answers.

import { drawBeam, drawChoices } from "./choices.js";
import { element, replace, visible } from "./dom.js";
import { drawHead, drawHeads, headToShow } from "./heads.js";
import { roving } from "./keyboard.js";
import { ask, takeKey } from "./server.js";
import { drawTranslation } from "./translation.js";

// Milliseconds after the last key before a sentence is translated, and after a translation before it is spoken.
const TYPING = 80;
const SPEAKING = 1000;
// Alternatives of each piece.
const OTHERS = 9;
const NO_KEY = 401;

/** All that the page knows: a person's choices, then the last answer to each question and what stands in its way. */
const state = {
  runs: [],
  run: null,
  source: "",
  prefix: [],
  chosenBefore: [], // the prefixes that undo goes back to
  without: [],
  beam: null, // that of the run
  place: null, // the piece whose alternatives are open
  view: "choices",
  head: null,
  method: "weights",
  words: true,
  wantsLosses: false,
  allLosses: false,
  translation: null,
  attention: null,
  losses: null,
  problems: {},
};

/**
 * What is asked of the server: for each answer of the state its route and a function from the state to the question,
 * or null for none. All but the first look at the pair that the first one answers.
 */
const QUESTIONS = {
  translation: ["translate", ({ run, source, prefix, without, beam }) =>
    run && source.trim() !== "" && {
      run: run.run,
      source,
      prefix,
      without,
      search: beam === null ? {} : { beam },
      alternatives: OTHERS,
      trace: !run.search.sample,
      align: run.has_links,
    }],
  attention: ["attend", (now) => {
    const pair = pairOf(now, "heads");
    return pair && { ...pair, method: now.method, words: now.words, without: now.without };
  }],
  losses: ["losses", (now) => (now.wantsLosses ? pairOf(now, "heads") : null)],
};

function pairOf({ run, translation, view }, only) {
  const is = view === only && translation?.translation;
  return is ? { run: run.run, source: translation.read, target: translation.translation } : null;
}

/**
 * What is drawn: where, from which parts of the state, and how. A picture is drawn anew when one of these changes, and
 * is empty while there is nothing of the first.
 */
const PICTURES = [
  ["problem", ({ problems }) => [problems.runs], visible],
  ["source-problem", ({ problems }) => [problems.translation], visible],
  ["heads-problem", ({ problems }) => [problems.attention ?? problems.losses], visible],
  ["about", ({ run }) => [run], about],
  ["translation", ({ translation, run, place }) => [translation, run, place],
    (translation, run, place) => drawTranslation(translation, run, place, { open, take, allOn })],
  ["pieces", ({ translation, run, place, prefix }) => [translation, run, place, prefix],
    (translation, run, place, prefix) => drawChoices(translation, run, place, { prefix, open, go, undo })],
  ["beam-tree", ({ translation, run }) => [translation, run],
    (translation, run) => drawBeam(translation.trace, run, { go })],
  ["all-heads", ({ attention, run, head, without, losses, allLosses }) =>
    [attention, run, head, without, allLosses ? losses : null],
    (attention, run, head, without, losses) =>
      drawHeads(attention, run, headToShow(attention, head), without, losses, { pick, flip })],
  ["one-head", ({ attention, run, head, without, losses }) => [attention, run, head, without, losses],
    (attention, run, head, without, losses) =>
      drawHead(attention, run, headToShow(attention, head), without, losses)],
];

const asked = {}; // the last question of each answer, as text
const underWay = {}; // for each answer, what stops its request
const drawn = {};
let speaking = null;

/** The one way in which the state changes: then questions follow from it, and pictures. */
function change(patch) {
  Object.assign(state, patch);
  Object.keys(QUESTIONS).forEach(pose);
  render();
}

/** Ask a question if it is another than before; the request before it is not wanted any more. */
function pose(name) {
  const [route, of] = QUESTIONS[name];
  const waits = name !== "translation" && underWay.translation;
  const question = waits ? null : of(state) || null;
  const text = JSON.stringify(question);
  if (text === asked[name] || (waits && !underWay[name])) {
    return;
  }
  underWay[name]?.abort();
  delete underWay[name];
  asked[name] = text;
  if (question === null) {
    Object.assign(state, waits ? {} : { [name]: null, problems: { ...state.problems, [name]: undefined } });
    return;
  }
  const stop = new AbortController();
  underWay[name] = stop;
  const settle = (answer, problem) => {
    if (underWay[name] === stop) {
      delete underWay[name];
      change({ ...answer, problems: { ...state.problems, [name]: problem } });
    }
  };
  ask(route, question, { signal: stop.signal, waits: (said) => underWay[name] === stop && remark(name, said) }).then(
    (answer) => {
      settle({ [name]: answer });
      if (name === "translation") {
        speak(answer);
      }
    },
    (error) => settle({ [name]: null }, refused(error)),
  );
}

function remark(name, problem) {
  state.problems = { ...state.problems, [name]: problem };
  render();
}

function refused(error) {
  return error.status === NO_KEY
    ? "This page has no valid key: open the address again that tmt serve printed, with all that follows the #."
    : error.message;
}

function render() {
  for (const [id, of, draw] of PICTURES) {
    const parts = of(state);
    if (!drawn[id] || parts.some((part, number) => part !== drawn[id][number])) {
      drawn[id] = parts;
      replace(document.getElementById(id), parts[0] ? draw(...parts) : null);
    }
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const is = tab.dataset.place === state.view;
    tab.setAttribute("aria-selected", String(is));
    document.getElementById(tab.dataset.place).hidden = !is;
  }
  document.getElementById("source").setAttribute("aria-invalid", String(Boolean(state.problems.translation)));
  document.getElementById("ask-losses").setAttribute("aria-pressed", String(state.allLosses));
}

/** Have the translation spoken once it has stood for a second. */
function speak({ translation }) {
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    const spoken = document.getElementById("spoken");
    spoken.lang = state.run.target_language;
    spoken.textContent = visible(translation);
  }, SPEAKING);
}

// What a person does

function chooseRun(name) {
  const run = state.runs.find((one) => one.run === name);
  const field = document.getElementById("source");
  // What was typed while the list of runs came is kept, too.
  const keeps = field.value.trim() !== "" && [undefined, run.source_language].includes(state.run?.source_language);
  field.lang = run.source_language;
  document.getElementById("run").value = name;
  document.getElementById("beam").value = run.search.beam;
  const methods = run.methods.map((method) => element("option", { value: method }, method));
  replace(document.getElementById("method"), methods);
  const source = keeps ? field.value : (run.example ?? "");
  field.value = source;
  const method = run.methods[0];
  change({ run, source, method, prefix: [], chosenBefore: [], without: [], beam: null, place: null });
}

function type(source) {
  change({ source, prefix: [], chosenBefore: [], place: null });
}

function take(sentence) {
  const field = document.getElementById("source");
  field.value = sentence;
  field.focus();
  type(sentence);
}

function open(place, from = place) {
  change({ place });
  focusOn(`piece ${from}`);
}

function go(prefix, place = prefix.length - 1) {
  change({ prefix, chosenBefore: [...state.chosenBefore, state.prefix], place: null });
  focusOn(`piece ${place}`);
}

function undo() {
  if (state.chosenBefore.length) {
    change({ prefix: state.chosenBefore.at(-1), chosenBefore: state.chosenBefore.slice(0, -1), place: null });
  }
}

function pick(head) {
  change({ head, wantsLosses: true });
}

function flip(head) {
  const off = state.without.includes(head);
  change({ without: off ? state.without.filter((one) => one !== head) : [...state.without, head] });
}

function allOn() {
  change({ without: [] });
}

function focusOn(place) {
  document.querySelector(`#pieces [data-place="${place}"]`)?.focus();
}

function about(run) {
  const { source_language: from, target_language: to, corpus, state: how, step, score, score_name: name } = run;
  const best = score === null ? "" : `, ${name} ${score.toFixed(3)}`;
  return visible(`${from} → ${to}, ${corpus}, ${how} at step ${step}${best}`);
}

function listen() {
  const on = (id, event, listener) => document.getElementById(id).addEventListener(event, listener);
  let typing = null;
  on("source", "input", ({ target }) => {
    clearTimeout(typing);
    typing = setTimeout(() => type(target.value), TYPING);
  });
  on("run", "change", ({ target }) => chooseRun(target.value));
  on("method", "change", ({ target }) => change({ method: target.value }));
  on("unit", "change", ({ target }) => change({ words: target.value === "words" }));
  on("beam", "change", ({ target }) => target.validity.valid && change({ beam: target.valueAsNumber }));
  on("ask-losses", "click", () => change({ wantsLosses: true, allLosses: !state.allLosses }));
  on("tabs", "click", ({ target }) => target.dataset.place && change({ view: target.dataset.place }));
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      document.body.classList.toggle("printing", printing);
      document.querySelectorAll(".linked").forEach((one) => one.dispatchEvent(new Event("relayout")));
    });
  }
  roving(document.getElementById("tabs"), "[role=tab]", { line: true });
}

async function start() {
  takeKey();
  listen();
  try {
    const { runs } = await ask("runs", null, { waits: (said) => remark("runs", said) });
    const chosen = runs.find((run) => run.stacks);
    const options = runs.map(({ run, stacks, error }) => {
      const why = error ? " (damaged)" : !stacks && " (no model yet)";
      return element("option", { value: run, disabled: !stacks }, visible(run), why);
    });
    replace(document.getElementById("run"), options);
    state.runs = runs;
    remark("runs", chosen ? undefined : "No run here has a model yet; train one with: tmt train");
    if (chosen) {
      chooseRun(chosen.run);
    }
  } catch (error) {
    remark("runs", refused(error));
  }
}

start();
