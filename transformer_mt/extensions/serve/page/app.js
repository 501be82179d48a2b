// The page as a whole: the state, the requests that follow from it, and the views.

import { addressOf, keepAddress, lastRun, readAddress } from "./address.js";
import { drawBeam, drawChoices } from "./choices.js";
import { selection } from "./controls.js";
import {
  button, byId, element, fixed, foreign, literal, LOCALE, replace, retold, say, translated, translatePage, visible,
} from "./dom.js";
import "./extensions.js";
import { drawHead, drawHeads, isHead } from "./heads.js";
import { roving } from "./keyboard.js";
import "./learning.js";
import { smallMatrix } from "./matrix.js";
import { pictureOfTable, saveFile } from "./save.js";
import { ask, prepare, withKey } from "./server.js";
import { addTab, ofPair, tabs } from "./tabs.js";
import { drawTranslation } from "./translation.js";

// Milliseconds: from the last key to translating, from a translation to announcing it, and between two lists of runs.
const [TYPING, SPEAKING, LISTING] = [80, 1000, 10000];
// Alternatives per token, as in questions.py.
const OTHERS = 9;
// If these fields of a run change, it is a different model, and choices are reset.
const OFFERED = ["stacks", "methods", "search", "source_language", "target_language"];
// The runs as text, without what changes all the time.
const ageless = (runs) => JSON.stringify(runs.map((run) => ({ ...run, bytes: 0, seconds_since: 0 })));
const told = (problem) => foreign(retold(translated(problem)));
const optionOf = (name) => element("option", { value: name }, name);

addTab({
  id: "choices", title: "What else it might say", place: 10,
  pictures: [
    ["pieces", ({ translation, run, place, prefix, against, contrast, problems }) =>
      [translation, run, place, prefix, against, contrast, problems.contrast],
      (translation, run, place, prefix, against, contrast, problem, actions) =>
        drawChoices(translation, run, place, { prefix, against, contrast, problem, ...actions })],
    ["beam-tree", ({ translation, run }) => [translation, run], drawBeam],
    ["beam-problem", ({ problems }) => [problems.beam ?? (isOfSearch(problems) && problems.translation)], told],
  ],
});

addTab({
  id: "heads", title: "Where heads look", place: 20,
  questions: {
    attention: (now) => ofPair(now, "attend", { method: now.method, words: now.words, without: now.without }),
    losses: (now) => now.wantsLosses && ofPair(now, "losses"),
  },
  pictures: [
    ["method", ({ run }) => [run], ({ methods }) => Object.keys(methods).map(optionOf)],
    ["all-heads", ({ attention, run, head, without, losses, allLosses }) =>
      [attention, run, head, without, allLosses ? losses : null], drawHeads],
    ["one-head", ({ attention, run, head, without, losses }) => [attention, run, head, without, losses], drawHead],
  ],
  controls: () => [
    selection("method", "Numbers", (method) => change({ method })),
    selection("unit", "Rows and columns", (unit) => change({ words: unit === "words" }),
      [optionOf("words"), element("option", { value: "pieces" }, "tokens")]),
    button("losses", () => change({ wantsLosses: true, allLosses: !state.allLosses }), { id: "ask-losses" },
      "ln p without each head"),
    button("picture", () => document.querySelectorAll("#one-head table").forEach((one) =>
      saveFile("tmt.svg", "image/svg+xml", pictureOfTable(one))), { id: "save-picture" }, "Save picture"),
  ],
});

/** The part of the state that belongs to a run: choices, then the last answer to each request. */
const UNCHOSEN = {
  prefix: [], without: [],
  chosenBefore: [], // the prefixes that undo goes back to
  beam: null, // the number of hypotheses; null for the run's default
  place: null, // the number of the token with open alternatives
  row: null, // the word and token to explain, and the translation they belong to
  checkpoint: null, // index into the run's checkpoints; null for the newest
  translation: null,
};

/** The whole state: the user's choices, the answers, and their errors. */
const state = {
  runs: [], run: null, source: "", spoken: null, problems: {}, ...UNCHOSEN,
  view: "choices", head: null, method: "weights", words: true, wantsLosses: false, allLosses: false,
  against: null, // the alternative to contrast with the token at `place`
  stop: null, // the number of the open stop of the course; null before it was opened
  entered: null, // the stop whose sentence and head were given last
  isClass: false, // large text, for a projector
};

/**
 * The requests: for each answer in the state, a function from the state to a route and its body, or nothing. The first
 * is about the sentence, all others are those of the open tab.
 */
const QUESTIONS = {
  translation: ({ run, source, prefix, without, beam }) =>
    run && source.trim() !== "" && ["translate", {
      run: run.run, source, prefix, without, search: beam === null ? {} : { beam }, alternatives: OTHERS,
      trace: !run.search.sample, align: run.has_links,
    }],
};
for (const name of new Set(Object.values(tabs).flatMap(({ questions }) => Object.keys(questions)))) {
  state[name] = UNCHOSEN[name] = null;
  QUESTIONS[name] = (now) => tabs[now.view].questions[name]?.(now);
}

/** The pictures, as in `addTab`: an element is redrawn when one of the parts that it depends on changes. */
const PICTURES = [
  ["problem", ({ problems }) => [problems.runs ?? problems.page], told],
  ["source-problem", ({ problems }) => [!isOfSearch(problems) && problems.translation], told],
  ["run", ({ runs }) => [runs], (runs) => runs.map(({ run, stacks, error }) => element("option",
    { value: run, disabled: !stacks }, literal(run), error ? " (damaged)" : !stacks && " (no model yet)"))],
  ["about", ({ run }) => [run], about],
  ["translation", ({ translation, run, place }) => [translation, run, place], drawTranslation],
  ["spoken", ({ translation, spoken, run }) => [translation && spoken, run?.target_language],
    (text, language) => foreign(text, language)],
  ["purpose", ({ run }) => [run], purpose],
  ["examples", ({ run }) => [run?.examples?.length > 0 && run.examples], (examples) => roving(element("p", {},
    examples.map((one, at) => [button(`example ${at}`, () => take(one), { class: "example" }, foreign(one)), " "])),
  ".example", { line: true })],
  ...Object.values(tabs).flatMap(({ id, questions, pictures }) => [
    [`${id}-problem`, ({ view, problems }) =>
      [view === id && Object.keys(questions).map((one) => problems[one]).find(Boolean)], told],
    ...pictures,
  ]),
];
const ACTIONS = { state, change, chooseRun, copy, take, pick, pickRow, flip, open, go, undo };

const asked = {}; // the last request for each answer, as text
const refused = {}; // for each answer, whether its request was invalid (422), so that it is not sent again
const underWay = {}; // for each answer, the AbortController of its request
const drawn = {};

/** Change the state; all changes go through here. Then send requests and redraw. */
function change(patch) {
  Object.assign(state, patch);
  Object.assign(state, tabs[state.view].follow?.(state, ACTIONS));
  Object.keys(QUESTIONS).forEach((name) => pose(name));
  render();
}

/** Send a request if it, or the run's step, has changed; abort the previous one. */
function pose(name) {
  const waits = name !== "translation" && underWay.translation;
  const question = waits ? null : QUESTIONS[name](state) || null;
  const text = question && JSON.stringify([question, state.run?.step]);
  if (waits ? !underWay[name] : question && text === asked[name]) {
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
  const settle = (answer, error) => {
    if (underWay[name] === stop) {
      delete underWay[name];
      refused[name] = error?.cause?.status === 422;
      change({ [name]: answer, problems: { ...state.problems, [name]: error?.message } });
      setTimeout(() => speak(answer), SPEAKING);
    }
  };
  ask(...question, { signal: stop.signal, waits: (said) => underWay[name] === stop && remark(name, said) })
    .then(settle, (error) => settle(null, error));
}

function remark(name, problem) {
  state.problems = { ...state.problems, [name]: problem };
  render();
}

/** True if the translation was refused because of the search settings, not the sentence. */
const isOfSearch = ({ translation }) => /^search\b/.test(translation);

function render() {
  for (const [id, of, draw] of PICTURES) {
    const parts = of(state);
    const shown = byId(id);
    if (shown && (!drawn[id] || parts.some((part, number) => part !== drawn[id][number]))) {
      drawn[id] = parts;
      replace(shown, parts[0] ? draw(...parts, ACTIONS) : null);
    }
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const is = tab.dataset.place === state.view;
    Object.assign(tab, { ariaSelected: is, tabIndex: is ? 0 : -1 });
    byId(tab.dataset.place).hidden = !is;
  }
  const isBusy = ["translation", ...Object.keys(tabs[state.view].questions)].some((name) => underWay[name]);
  byId(state.view).ariaBusy = isBusy;
  byId("busy").hidden = !isBusy;
  byId("source").ariaInvalid = /^source:/.test(state.problems.translation);
  byId("beam").ariaInvalid = Boolean(drawn["beam-problem"][0]);
  byId("translation").ariaBusy = Boolean(underWay.translation);
  byId("ask-losses").ariaPressed = state.allLosses;
  byId("class-mode").ariaPressed = Boolean(state.isClass);
  document.body.dataset.view = state.view;
  byId("run").value = state.run?.run ?? "";
  byId("method").value = state.method;
  byId("unit").value = state.words ? "words" : "pieces";
  keepAddress(state);
}

/** Send all requests again at the next change. */
const forget = (names = Object.keys(QUESTIONS)) => names.forEach((name) => delete asked[name]);

/** Announce an answer to screen readers if it is still the translation. */
function speak(answer) {
  if (answer && answer === state.translation && !underWay.translation) {
    change({ spoken: answer.translation });
  }
}

/** Choose a run, with the choices of the address if they make sense for it. */
function chooseRun(name, wished = {}) {
  const run = state.runs.find((one) => one.run === name);
  const field = byId("source");
  // Also keep text typed before the list of runs arrived.
  const keeps = field.value.trim() !== "" && [undefined, run.source_language].includes(state.run?.source_language);
  const source = wished.source ?? (keeps ? field.value : (run.example ?? ""));
  Object.assign(field, { lang: run.source_language, value: source });
  byId("beam").value = run.search.beam;
  const method = Object.hasOwn(run.methods, wished.method ?? "") ? wished.method : Object.keys(run.methods)[0];
  forget();
  change({ ...UNCHOSEN, problems: {}, run, source, method, ...sensible(run, wished), ...run.beginning });
}

/** The parts of the state that an address may set, without those that make no sense. */
function sensible(run, { view, head, without = [], stop = null, entered = null, words, isClass }) {
  const off = without.filter((name) => isHead(run, name));
  return {
    ...(Object.hasOwn(tabs, view ?? "") && { view }),
    ...(head && { head }),
    ...(off.length > 0 && { without: off }),
    ...(words !== undefined && { words, isClass, entered, stop }),
  };
}

const type = (source) => change({ source, prefix: [], chosenBefore: [], place: null });

function take(sentence) {
  const field = byId("source");
  field.value = sentence;
  field.focus();
  type(sentence);
}

/** Open the alternatives of a token, from any view. */
function open(place, from = place) {
  change({ view: "choices", place, against: null });
  focusOn(`piece ${from}`);
}

function go(prefix, place = prefix.length - 1) {
  change({ prefix, chosenBefore: [...state.chosenBefore, state.prefix], place: null });
  focusOn(`piece ${place}`);
}

function undo() {
  const { chosenBefore } = state;
  change({ prefix: chosenBefore.at(-1) ?? [], chosenBefore: chosenBefore.slice(0, -1), place: null });
}

function pick(head) {
  change({ head, row: head && sideOf(head) !== state.row?.side ? null : state.row, wantsLosses: true });
}

function pickRow(row) {
  const head = state.head && sideOf(state.head) === row.side ? state.head : null;
  change({ head, row: { ...row, of: state.translation.translation } });
}

/** The side of the pair with the rows of a head. */
const sideOf = (head) => head.startsWith("encoder") ? "source" : "target";

function flip(head) {
  change({ without: [...new Set(state.without).symmetricDifference(new Set([head]))] });
}

const focusOn = (place) => document.querySelector(`#pieces [data-place="${place}"]`)?.focus();

function about(run) {
  const { source_language: from, target_language: to, corpus, state: how, best_step: step, score } = run;
  const best = score === null ? "" : `, ${retold(run.score_name)} ${fixed(score, 3)}`;
  return [foreign(from), " → ", foreign(to), ", ", foreign(corpus),
    say`, ${retold(how)}, weights of step ${step}`, best];
}

/** What the page does, and what to type. */
function purpose({ source_language: from }) {
  const names = new Intl.DisplayNames(LOCALE, { type: "language", fallback: "none" });
  const language = /^[a-z]{2,3}$/.test(from) && names.of(from);
  return [language ? say`Type a sentence in ${language}.` : "Type a sentence.",
    " A small neural network on this machine translates it. The lines and the tabs show how it does that."];
}

/** Add the panels and buttons of tabs that the HTML does not have. */
function build() {
  const ordered = Object.values(tabs).sort((one, other) => one.place - other.place);
  for (const { id, title, pictures, controls, needsModel, listen } of ordered) {
    byId("tabs").append(element("button", {
      type: "button", role: "tab", id: `tab-${id}`, "aria-controls": id, "data-place": id,
      class: needsModel && "needs-model",
    }, title));
    let panel = byId(id);
    if (!panel) {
      panel = element("section", { id, role: "tabpanel", "aria-labelledby": `tab-${id}` }, element("h2", {}, title),
        controls && element("p", { class: "controls" }, controls(ACTIONS)),
        element("p", { id: `${id}-problem`, class: "problem", role: "alert" }));
      document.querySelector("main").append(panel);
    }
    const missing = pictures.map(([name]) => name).filter((name) => !byId(name));
    panel.append(...missing.map((name) => element("div", { id: name })));
    listen?.(panel, ACTIONS);
  }
}

function listen() {
  const on = (id, event, listener) => byId(id).addEventListener(event, listener);
  let typing = null;
  on("source", "input", ({ target }) => {
    clearTimeout(typing);
    typing = setTimeout(() => type(target.value), TYPING);
  });
  on("run", "change", ({ target }) => {
    lastRun(target.value);
    chooseRun(target.value);
  });
  on("class-mode", "click", () => change({ isClass: !state.isClass }));
  on("copy-link", "click", ({ target }) => copy(withKey(addressOf(state)), target));
  const report = (error) => remark("page", error.message);
  on("show-code", "click", () => state.run && showCode().catch(report));
  on("save-page", "click", () => state.translation && savePage().catch(report));
  on("beam", "change", ({ target: { validity, valueAsNumber, max } }) => {
    remark("beam", validity.valid ? undefined : say`Give a whole number from 1 to ${max}.`);
    change({ beam: validity.valid ? valueAsNumber : state.beam });
  });
  on("tabs", "click", ({ target }) => target.dataset.place && change({ view: target.dataset.place }));
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      document.body.classList.toggle("printing", printing);
      document.querySelectorAll(".linked").forEach((one) => one.dispatchEvent(new Event("relayout")));
    });
  }
  roving(byId("tabs"), "[role=tab]", { line: true });
}

/** Copy a text, and say so on the button. */
async function copy(text, button) {
  const before = button.textContent;
  replace(button, await navigator.clipboard.writeText(text).then(() => "Copied", () => "Copy the address"));
  setTimeout(() => (button.textContent = before), SPEAKING);
}

/** Save the page with its answers as one file. */
async function savePage() {
  const { run, source, translation, prefix, method, words, without } = state;
  const target = prefix.length ? translation?.translation : "";
  const { page } = await ask("page", { run: run.run, source, target, method, words, without });
  saveFile("tmt.html", "text/html", page);
}

/** Show the link with the key as a QR code, for the cameras of a class. */
async function showCode() {
  const { rows } = await ask("code", { run: state.run.run, link: withKey(addressOf(state)) });
  replace(byId("code-picture"), smallMatrix(rows));
  byId("code").showModal();
}

/** Refresh the list of runs, and retry failed requests. */
async function list() {
  try {
    const { runs, opens } = await ask("runs", null, { waits: (said) => state.run || remark("runs", said) });
    if (ageless(runs) !== ageless(state.runs) || state.problems.runs) {
      offer(runs, opens);
    }
    forget(Object.keys(QUESTIONS).filter((name) => state.problems[name] && !refused[name]));
    change({});
  } catch (error) {
    remark("runs", error.message);
  }
}

function offer(runs, opens = null) {
  state.runs = runs;
  const usable = runs.filter((run) => run.stacks);
  const wished = readAddress();
  const first = [wished.run, opens, lastRun()].map((name) => usable.find(({ run }) => run === name)).find(Boolean) ??
    usable.find(({ run, state: how }) => how === "finished" && run !== "ready") ?? usable[0];
  const now = runs.find(({ run, stacks }) => stacks && run === state.run?.run);
  const gone = state.run && !now && say`The run ${state.run.run} is gone or damaged; choose another.`;
  remark("runs", gone || (first ? undefined : say`No run here has a model yet; train one with: tmt train`));
  if (now) {
    const offered = (run) => JSON.stringify(OFFERED.map((key) => run[key]));
    if (offered(now) !== offered(state.run)) {
      chooseRun(now.run); // a different model of the same name
    } else if (ageless([now]) !== ageless([state.run])) {
      change({ run: now, checkpoint: state.checkpoint < now.checkpoints.length ? state.checkpoint : null });
    }
  } else if (first && !state.run) {
    chooseRun(first.run, wished);
  }
}

/** Poll the list of runs while the page is visible. */
async function poll() {
  if (!document.hidden || !state.run) {
    await list();
  }
  setTimeout(poll, LISTING);
}

async function start() {
  translatePage();
  await prepare(list);
  build();
  listen();
  addEventListener("hashchange", () => {
    const wished = readAddress();
    const run = state.runs.find((one) => one.run === wished.run && one.stacks) ?? state.run;
    if (run && location.hash.includes("=")) { // not a link to an element of the page
      chooseRun(run.run, { source: run.example ?? "", view: "choices", ...wished });
    }
  });
  poll();
}

start();
