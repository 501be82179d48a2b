// The page as a whole: the state, the requests that follow from it, and the views.

import { addressOf, keepAddress, lastRun, readAddress, rememberRun } from "./address.js";
import { drawBeam, drawChoices } from "./choices.js";
import { drawQuestion, drawStop, listenForArrows, stopOf } from "./course.js";
import { button, element, foreign, replace, visible } from "./dom.js";
import { drawHead, drawHeads, headToShow } from "./heads.js";
import { roving } from "./keyboard.js";
import { drawCurves, drawHistory, drawTooFew } from "./learning.js";
import { drawLens } from "./lens.js";
import { drawPicture, needsOf } from "./pictures.js";
import { pictureOfTable, saveFile } from "./save.js";
import { ask, prepare } from "./server.js";
import { drawSteps, headOptions, rowOptions } from "./steps.js";
import { drawTranslation } from "./translation.js";

// Delays in milliseconds: from the last key to translating, and from a translation to announcing it.
const TYPING = 80;
const SPEAKING = 1000;
// Milliseconds between polling the curves of a run in training, and the list of runs.
const MEASURING = 2000;
const LISTING = 10000;
// Alternatives per token, as in serve/questions.py.
const OTHERS = 9;
// If these fields of a run change, it is a different model, and choices are reset.
const OFFERED = ["stacks", "methods", "search", "source_language", "target_language"];
const NO_KEY = 401;
const WRONG = 422;

/** The whole state: the user's choices, then the last answer to each request, and its error. */
const state = {
  runs: [],
  run: null,
  source: "",
  prefix: [],
  chosenBefore: [], // the prefixes that undo goes back to
  without: [],
  beam: null, // the number of hypotheses; null for the run's default
  place: null, // the number of the token with open alternatives
  against: null, // the alternative to contrast with that token
  view: "choices",
  head: null,
  row: null, // the word and token to explain, and the translation they belong to
  method: "weights",
  words: true,
  wantsLosses: false,
  allLosses: false,
  checkpoint: null, // index into the run's checkpoints; null for the newest
  stop: null, // the number of the open stop of the course; null before it was opened
  isClass: false, // large text, for a projector
  translation: null,
  contrast: null,
  attention: null,
  losses: null,
  explanation: null,
  lens: null,
  curves: null,
  history: null,
  lessons: null,
  looked: null, // attention weights, and erasure, for the pictures of the course
  erased: null,
  problems: {},
};

/**
 * The requests: for each answer in the state, a function from the state to a route and its body, or null for none.
 * All except the first are about the pair in the first one's answer.
 */
const QUESTIONS = {
  translation: ({ run, source, prefix, without, beam }) =>
    run && source.trim() !== "" && ["translate", {
      run: run.run,
      source,
      prefix,
      without,
      search: beam === null ? {} : { beam },
      alternatives: OTHERS,
      trace: !run.search.sample,
      align: run.has_links,
    }],
  contrast: ({ run, translation, place, against, view, without }) =>
    view === "choices" && against !== null && translation?.alternatives?.[place] && ["contrast", {
      run: run.run,
      source: translation.read,
      prefix: translation.tokens.slice(0, place),
      word: translation.alternatives[place].token,
      other: against,
      without,
    }],
  attention: (now) => now.view === "heads" &&
    ofPair(now, "attend", { method: now.method, words: now.words, without: now.without }),
  losses: (now) => now.view === "heads" && now.wantsLosses && ofPair(now, "losses"),
  explanation: (now) => (now.view === "steps" || pictured(now, "explanation")) &&
    ofPair(now, "explain", explained(now)),
  lens: (now) => now.view === "lens" && ofPair(now, "lens"),
  looked: (now) => pictured(now, "looked") && ofPair(now, "attend", { method: "weights", words: true, without: [] }),
  erased: (now) => pictured(now, "erased") && ofPair(now, "attend", { method: "erasure", words: true, without: [] }),
  lessons: ({ stop }) => stop !== null && ["lessons", null],
  curves: ({ run, view }) =>
    run && view === "learning" && [`curves?run=${encodeURIComponent(run.run.toWellFormed())}`, null],
  history: (now) =>
    now.view === "learning" && now.run?.checkpoints.length > 1 &&
    ofPair(now, "history", { checkpoint: now.run.checkpoints.at(now.checkpoint ?? -1), words: true }),
};

/** A request about the pair, if there is one. */
function ofPair({ run, translation }, route, more = {}) {
  const is = translation?.translation;
  return is ? [route, { run: run.run, source: translation.read, target: translation.translation, ...more }] : null;
}

/** The name of the open picture of the course; `undefined` if there is none. */
function pictureOf({ lessons, stop, view }) {
  return view === "course" && lessons ? lessons.lessons[stopOf(lessons, stop) - 1].picture : undefined;
}

/** True if the open picture of the course needs this answer. */
function pictured(now, answer) {
  return needsOf(pictureOf(now)).includes(answer);
}

/** The row and head to explain, if chosen and still available. */
function explained({ run, head, row, translation }) {
  const [stack, layer, number] = head?.split(".") ?? [];
  const isThere = run?.stacks[stack]?.[layer - 1]?.includes(Number(number));
  const place = row && row.of === translation?.translation ? { word: row.word, token: row.token } : {};
  const only = row?.side === "source" && place.word ? { stack: "encoder" } : {};
  return { ...place, ...(isThere ? { stack, layer: Number(layer), head: Number(number) } : only) };
}

/**
 * The views: element id, the parts of the state it depends on, and the function that draws it. A view is redrawn when
 * one of the parts changes, and is empty while the first part is.
 */
const PICTURES = [
  ["problem", ({ problems }) => [problems.runs ?? problems.page], foreign],
  ["source-problem", ({ problems }) => [!isOfSearch(problems) && problems.translation], foreign],
  ["beam-problem", ({ problems }) => [problems.beam ?? (isOfSearch(problems) && problems.translation)], foreign],
  ["heads-problem", ({ problems }) => [problems.attention ?? problems.losses], foreign],
  ["about", ({ run }) => [run], about],
  ["translation", ({ translation, run, place }) => [translation, run, place],
    (translation, run, place) => drawTranslation(translation, run, place, { open: openWord, take, allOn })],
  ["pieces", ({ translation, run, place, prefix, against, contrast, problems }) =>
    [translation, run, place, prefix, against, contrast, problems.contrast],
    (translation, run, place, prefix, against, contrast, problem) =>
      drawChoices(translation, run, place, { prefix, open, go, undo, why, against, contrast, problem })],
  ["beam-tree", ({ translation, run }) => [translation, run],
    (translation, run) => drawBeam(translation, run, { go })],
  ["all-heads", ({ attention, run, head, without, losses, allLosses }) =>
    [attention, run, head, without, allLosses ? losses : null],
    (attention, run, head, without, losses) =>
      drawHeads(attention, run, headToShow(attention, run, head), without, losses, { pick, flip })],
  ["one-head", ({ attention, run, head, without, losses }) => [attention, run, head, without, losses],
    (attention, run, head, without, losses) =>
      drawHead(attention, run, headToShow(attention, run, head), without, losses)],
  ["steps-problem", ({ problems, view }) => [view === "steps" && problems.explanation], foreign],
  ["explained-row", ({ explanation }) => [explanation], rowOptions],
  ["explained-head", ({ explanation, run }) => [explanation, run], headOptions],
  ["all-steps", ({ explanation, run, without }) => [explanation, run, without], drawSteps],
  ["lens-problem", ({ problems }) => [problems.lens], foreign],
  ["layers", ({ lens, run, without }) => [lens, run, without], drawLens],
  ["learning-problem", ({ problems }) => [problems.curves ?? problems.history], foreign],
  ["curves", ({ curves }) => [curves], drawCurves],
  ["too-few", ({ run }) => [run], drawTooFew],
  ["course-problem", ({ problems, view }) =>
    [view === "course" && (problems.lessons ?? problems.explanation ?? problems.looked ?? problems.erased)], foreign],
  ["stop", ({ lessons, stop }) => [lessons, stop], (lessons, stop) => drawStop(lessons, stop, { go: goTo })],
  ["picture", (now) => [pictureOf(now), now.lessons, now.source.trim() === "", ...ANSWERS.map((one) => now[one])],
    (name, lessons, lacksSentence, ...found) => drawPicture(name, lessons.curves,
      { ...Object.fromEntries(ANSWERS.map((one, at) => [one, found[at]])), lacksSentence, pick, go })],
  ["question", ({ lessons, stop }) => [lessons, stop],
    (lessons, stop) => drawQuestion(lessons, stop, { go: goTo, attempt })],
  ["back", ({ lessons, stop, view }) => [view !== "course" && lessons && stop], (stop) =>
    button("to course", toCourse, {}, `Back to stop ${stop} of the course`)],
  ["purpose", ({ run }) => [run], purpose],
  ["examples", ({ run }) => [run?.examples?.length > 0 && run.examples], (examples) => roving(element("p", {},
    examples.map((one, at) => [button(`example ${at}`, () => take(one), { class: "example" }, foreign(one)), " "])),
  ".example", { line: true })],
  ["history", ({ history, translation, run, head }) => [history, translation, run, head],
    (history, translation, run, head) => drawHistory(history, translation, run, head, { pick })],
];

// The answers that each panel draws, as keys of the state.
const NEEDED = {
  choices: ["contrast"],
  heads: ["attention", "losses"],
  steps: ["explanation"],
  lens: ["lens"],
  learning: ["curves", "history"],
  course: ["lessons", "looked", "erased", "explanation"],
};
// What the pictures of the course may be about, as keys of the state.
const ANSWERS = ["run", "head", "translation", "explanation", "looked", "erased"];

const asked = {}; // the last request for each answer, as text
const failed = new Set(); // answers whose request failed although it was valid; retried later
const underWay = {}; // for each answer, the AbortController of its request
const drawn = {};
let speaking = null;

/** Change the state; all changes go through here. Then send requests and redraw. */
function change(patch) {
  Object.assign(state, patch);
  Object.keys(QUESTIONS).forEach((name) => pose(name));
  render();
}

/** Send a request if it, or the run's step, has changed; abort the previous one. */
function pose(name, again = false) {
  const waits = name !== "translation" && underWay.translation;
  const question = waits ? null : QUESTIONS[name](state) || null;
  const text = question && JSON.stringify([question, state.run?.step]);
  if (waits ? !underWay[name] : question && text === asked[name] && !again) {
    return;
  }
  underWay[name]?.abort();
  delete underWay[name];
  failed.delete(name);
  asked[name] = text;
  if (name === "translation") {
    clearTimeout(speaking);
  }
  if (question === null) {
    Object.assign(state, waits ? {} : { [name]: null, problems: { ...state.problems, [name]: undefined } });
    return;
  }
  const stop = new AbortController();
  underWay[name] = stop;
  const settle = (answer, problem) => {
    if (underWay[name] === stop) {
      delete underWay[name];
      change({ [name]: answer, problems: { ...state.problems, [name]: problem } });
      if (answer && name === "translation") {
        speak(answer);
      }
    }
  };
  ask(...question, { signal: stop.signal, waits: (said) => underWay[name] === stop && remark(name, said) }).then(
    settle,
    (error) => {
      if (underWay[name] === stop && error.status !== WRONG) {
        failed.add(name);
      }
      settle(null, refused(error));
    },
  );
}

function remark(name, problem) {
  state.problems = { ...state.problems, [name]: problem };
  render();
}

function refused(error) {
  return error.status === NO_KEY
    ? "This page has no valid key: open the address that tmt serve printed again, including everything after the #."
    : error.message;
}

/** True if the translation was refused because of the search settings, not the sentence. */
function isOfSearch({ translation }) {
  return /^search\b/.test(translation);
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
    tab.tabIndex = is ? 0 : -1;
    document.getElementById(tab.dataset.place).hidden = !is;
  }
  const isBusy = ["translation", ...NEEDED[state.view]].some((name) => underWay[name]);
  document.getElementById(state.view).setAttribute("aria-busy", String(isBusy));
  document.getElementById("busy").hidden = !isBusy;
  const isWrong = { source: /^source:/.test(state.problems.translation), beam: drawn["beam-problem"][0] };
  for (const [id, is] of Object.entries(isWrong)) {
    document.getElementById(id).setAttribute("aria-invalid", String(Boolean(is)));
  }
  document.getElementById("translation").setAttribute("aria-busy", String(Boolean(underWay.translation)));
  document.getElementById("ask-losses").setAttribute("aria-pressed", String(state.allLosses));
  document.getElementById("class-mode").setAttribute("aria-pressed", String(state.isClass));
  document.documentElement.classList.toggle("class-mode", state.isClass);
  document.body.dataset.view = state.view;
  document.getElementById("method").value = state.method;
  document.getElementById("unit").value = state.words ? "words" : "pieces";
  if (!state.translation) {
    clearTimeout(speaking);
    document.getElementById("spoken").textContent = "";
  }
  showCheckpoint();
  keepAddress(state);
}

/** Update the slider from the oldest to the newest checkpoint; hide it if there are fewer than two. */
function showCheckpoint() {
  const steps = state.run?.checkpoints ?? [];
  const slider = document.getElementById("checkpoint");
  const place = state.checkpoint ?? steps.length - 1;
  slider.max = steps.length - 1;
  slider.value = place;
  slider.setAttribute("aria-valuetext", `step ${steps[place]}`);
  slider.closest("p").hidden = steps.length < 2;
}

/** Announce the translation to screen readers once it has been unchanged for a second. */
function speak({ translation }) {
  speaking = setTimeout(() => {
    const spoken = document.getElementById("spoken");
    if (spoken.textContent !== visible(translation)) {
      replace(spoken, foreign(translation, state.run.target_language));
    }
  }, SPEAKING);
}

// User actions

/** Choose a run, with the choices of the address if they make sense for it. */
function chooseRun(name, wished = {}) {
  const run = state.runs.find((one) => one.run === name);
  const field = document.getElementById("source");
  // Also keep text typed before the list of runs arrived.
  const keeps = field.value.trim() !== "" && [undefined, run.source_language].includes(state.run?.source_language);
  field.lang = run.source_language;
  document.getElementById("run").value = name;
  document.getElementById("beam").value = run.search.beam;
  const methods = Object.keys(run.methods).map((method) => element("option", { value: method }, method));
  replace(document.getElementById("method"), methods);
  const source = wished.source ?? (keeps ? field.value : (run.example ?? ""));
  field.value = source;
  const method = Object.hasOwn(run.methods, wished.method ?? "") ? wished.method : Object.keys(run.methods)[0];
  const ofRun = Object.keys(QUESTIONS).filter((one) => one !== "lessons");
  const answers = Object.fromEntries(ofRun.map((one) => [one, null]));
  const nothing = { prefix: [], chosenBefore: [], without: [], beam: null, place: null, row: null, checkpoint: null };
  change({ ...answers, ...nothing, problems: {}, run, source, method, ...run.beginning, ...sensible(run, wished) });
}

/** The parts of the state that an address may set, without those that make no sense. */
function sensible({ stacks }, { view, head, without = [], stop = null, words, isClass }) {
  const isThere = (name) => {
    const [stack, layer, number] = name.split(".");
    return Boolean(Object.hasOwn(stacks, stack) && stacks[stack][layer - 1]?.includes(Number(number)));
  };
  const off = without.filter(isThere);
  return {
    ...(Object.hasOwn(NEEDED, view ?? "") && { view }),
    ...(head && { head }),
    ...(off.length > 0 && { without: off }),
    ...(words !== undefined && { words, isClass, stop: stop ?? (view === "course" ? 1 : null) }),
  };
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
  change({ place, against: null });
  focusOn(`piece ${from}`);
}

function why(against) {
  change({ against, contrast: null });
}

/** Open a stop of the course. */
function goTo(stop) {
  change({ stop: stopOf(state.lessons, stop) });
}

function toCourse() {
  change({ view: "course" });
  document.getElementById("tab-course").focus();
}

/** Set what a stop suggests to try: a sentence, a head, and a view. */
function attempt({ sentence, view, head }) {
  if (sentence) {
    take(sentence);
  }
  if (head) {
    pick(head);
  }
  if (Object.hasOwn(NEEDED, view ?? "")) {
    change({ view });
  }
  document.getElementById(`tab-${state.view}`).focus();
}

/** Open the alternatives of a word of the translation, from any view. */
function openWord(place) {
  change({ view: "choices" });
  open(place);
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
  change({ head, row: head && sideOf(head) !== state.row?.side ? null : state.row, wantsLosses: true });
}

function pickRow(row) {
  const head = state.head && sideOf(state.head) === row.side ? state.head : null;
  change({ head, row: { ...row, of: state.translation.translation } });
}

/** The side of the pair with the rows of a head. */
function sideOf(head) {
  return head.startsWith("encoder") ? "source" : "target";
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
  const { source_language: from, target_language: to, corpus, state: how, best_step: step, score } = run;
  const best = score === null ? "" : `, ${run.score_name} ${score.toFixed(3)}`;
  return [foreign(from), " → ", foreign(to), ", ", foreign(corpus), `, ${how}, weights of step ${step}${best}`];
}

/** What the page does, and what to type. */
function purpose({ source_language: from }) {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const language = /^[a-z]{2,3}$/.test(from) && names.of(from);
  return `Type a sentence${language ? ` in ${language}` : ""}. A small neural network on this machine translates it. `
    + "The lines and the tabs show how it does that.";
}

function listen() {
  const on = (id, event, listener) => document.getElementById(id).addEventListener(event, listener);
  let typing = null;
  on("source", "input", ({ target }) => {
    clearTimeout(typing);
    typing = setTimeout(() => type(target.value), TYPING);
  });
  on("run", "change", ({ target }) => {
    rememberRun(target.value);
    chooseRun(target.value);
  });
  on("class-mode", "click", () => change({ isClass: !state.isClass }));
  on("copy-link", "click", ({ target }) => copy(addressOf(state), target));
  on("save-page", "click", () => state.translation && savePage());
  on("save-picture", "click", () => {
    const drawn = document.querySelector("#one-head table");
    return drawn && saveFile("tmt.svg", "image/svg+xml", pictureOfTable(drawn));
  });
  listenForArrows(document.getElementById("course"), (by) => state.lessons && goTo((state.stop ?? 1) + by));
  on("method", "change", ({ target }) => change({ method: target.value }));
  on("unit", "change", ({ target }) => change({ words: target.value === "words" }));
  on("explained-row", "change", ({ target }) => pickRow(JSON.parse(target.value)));
  on("explained-head", "change", ({ target }) => pick(target.value || null));
  on("checkpoint", "input", ({ target }) => change({ checkpoint: target.valueAsNumber }));
  on("beam", "change", ({ target: { validity, valueAsNumber, max } }) => {
    remark("beam", validity.valid ? undefined : `Give a whole number from 1 to ${max}.`);
    change({ beam: validity.valid ? valueAsNumber : state.beam });
  });
  on("ask-losses", "click", () => change({ wantsLosses: true, allLosses: !state.allLosses }));
  on("tabs", "click", ({ target }) => target.dataset.place && change({
    view: target.dataset.place, stop: state.stop ?? (target.dataset.place === "course" ? 1 : null),
  }));
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      document.body.classList.toggle("printing", printing);
      document.querySelectorAll(".linked").forEach((one) => one.dispatchEvent(new Event("relayout")));
    });
  }
  roving(document.getElementById("tabs"), "[role=tab]", { line: true });
}

/** Copy a text, and say so on the button. */
async function copy(text, button) {
  const before = button.textContent;
  button.textContent = await navigator.clipboard.writeText(text).then(() => "Copied", () => "Copy the address");
  setTimeout(() => (button.textContent = before), SPEAKING);
}

/** Save the page with its answers as one file. */
async function savePage() {
  const { run, source, translation, prefix, method, words, without } = state;
  const target = prefix.length ? translation?.translation : "";
  try {
    const { page } = await ask("page", { run: run.run, source, target, method, words, without });
    saveFile("tmt.html", "text/html", page);
  } catch (error) {
    remark("page", refused(error));
  }
}

/** Refresh the list of runs, and retry failed requests. */
async function list() {
  try {
    const { runs, opens } = await ask("runs", null, { waits: (said) => state.run || remark("runs", said) });
    if (runs !== state.runs || state.problems.runs) {
      offer(runs, opens);
    }
    failed.forEach((name) => delete asked[name]);
    change({});
  } catch (error) {
    remark("runs", refused(error));
  }
}

function offer(runs, opens = null) {
  const options = runs.map(({ run, stacks, error }) => {
    const why = error ? " (damaged)" : !stacks && " (no model yet)";
    return element("option", { value: run, disabled: !stacks }, visible(run), why);
  });
  const select = document.getElementById("run");
  replace(select, options);
  state.runs = runs;
  const usable = runs.filter((run) => run.stacks);
  const wished = readAddress();
  const first = [wished.run, opens, lastRun()].map((name) => usable.find(({ run }) => run === name)).find(Boolean) ??
    usable.find(({ state: how }) => how === "finished") ?? usable[0];
  const now = runs.find(({ run, stacks }) => stacks && run === state.run?.run);
  const gone = state.run && !now && `The run ${state.run.run} is gone or damaged; choose another.`;
  remark("runs", gone || (first ? undefined : "No run here has a model yet; train one with: tmt train"));
  if (now) {
    select.value = now.run;
    const ageless = (run) => JSON.stringify({ ...run, bytes: 0, seconds_since: 0 });
    const offered = (run) => JSON.stringify(OFFERED.map((key) => run[key]));
    if (offered(now) !== offered(state.run)) {
      chooseRun(now.run); // a different model of the same name
    } else if (ageless(now) !== ageless(state.run)) {
      change({ run: now, checkpoint: state.checkpoint < now.checkpoints.length ? state.checkpoint : null });
    }
  } else if (first && !state.run) {
    chooseRun(first.run, wished);
  }
}

/** Poll while the page is visible. */
function every(milliseconds, look) {
  setTimeout(async () => {
    if (!document.hidden) {
      await look();
    }
    every(milliseconds, look);
  }, milliseconds);
}

async function start() {
  await prepare(() => {
    Object.keys(asked).forEach((name) => delete asked[name]);
    list();
  });
  listen();
  addEventListener("hashchange", () => {
    const wished = readAddress();
    const run = state.runs.find((one) => one.run === wished.run && one.stacks) ?? state.run;
    if (run && location.hash.includes("=")) { // not a link to an element of the page
      chooseRun(run.run, { source: run.example ?? "", view: "choices", ...wished });
    }
  });
  await list();
  every(LISTING, list);
  every(MEASURING, () => {
    if (state.view === "learning" && state.run?.state === "training" && !underWay.curves) {
      pose("curves", true);
    }
  });
}

start();
