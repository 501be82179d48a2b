// The guided course: one stop at a time, with a picture, a question and something to try.

import { button, byId, element, folded, foreign, joined, quiet, say, scroller, translated, visible } from "./dom.js";
import { coloured, drawFormula, isAboutRoles } from "./formula.js";
import { explained } from "./heads.js";
import { drawPicture, needsOf } from "./pictures.js";
import { addTab, ofPair, tabs } from "./tabs.js";
import { drawMap } from "./transformer.js";

// *emphasis* and `code`.
const MARKED = /(\*[^*]+\*|`[^`]+`)/;
// What the pictures may be about, as keys of the state.
const ANSWERS = [
  "source", "run", "head", "without", "translation", "explanation", "looked", "erased", "pieces", "prefix",
];
const WEIGHTS = { method: "weights", words: true, without: [] };

const given = new Map(); // the student's answers, by the question, as long as the page is open

addTab({
  id: "course", title: "Course", place: 60, needsModel: true,
  follow: openStop,
  questions: {
    lessons: () => ["lessons", null],
    explanation: (now) => pictured(now, "explanation") && ofPair(now, "explain", explained(now)),
    looked: (now) => pictured(now, "looked") && ofPair(now, "attend", WEIGHTS),
    erased: (now) => pictured(now, "erased") && ofPair(now, "attend", { ...WEIGHTS, method: "erasure" }),
    pieces: (now) => pictured(now, "pieces") && ofPair(now, "attend", { ...WEIGHTS, words: false }),
  },
  pictures: [
    ["stop", (now) => [lessonOf(now), now.lessons], drawStop],
    ["picture", (now) => [pictureOf(now), now.lessons, lessonOf(now)?.part, ...ANSWERS.map((one) => now[one])],
      (name, { curves }, part, ...more) => {
        const actions = more.at(-1);
        return drawPicture(name, curves, { ...actions.state, ...actions, part });
      }],
    ["question", (now) => [lessonOf(now), now.lessons], drawQuestion],
    ["back", ({ stop, view }) => [view !== "course" && stop], (stop, { change }) =>
      button("to course", () => openTab("course", change), {}, say`← Back to stop ${stop} of the course`)],
  ],
  listen: listenForArrows,
});

/** The open stop, or the nearest that exists; undefined before the course has come. */
const lessonOf = ({ lessons, stop }) => lessons?.lessons.at(Math.min(stop, lessons.lessons.length) - 1);

/** The picture of the open stop: its own, or the whole machine if the stop is about a part of it. */
function pictureOf(now) {
  const { picture, part } = lessonOf(now) ?? {};
  return picture ?? (part && "transformer");
}

const pictured = (now, answer) => needsOf(pictureOf(now)).includes(answer);

/** Once for each stop that is opened: give its sentence, choose its head, and a run with attention if it needs one. */
function openStop(now, { chooseRun }) {
  now.stop ??= 1;
  const needs = needsOf(pictureOf(now));
  document.body.dataset.about = needs.length > 0 ? "sentence" : "stop";
  if (!now.run || !now.lessons || now.entered === now.stop) {
    return {};
  }
  now.entered = now.stop;
  const { sentence, head } = lessonOf(now).try ?? {};
  const chosen = { ...(sentence && { source: sentence, row: null }), ...(head && { head }) };
  const other = now.runs.find(({ methods }) => methods?.weights);
  if (needs.some((one) => !["run", "translation"].includes(one)) && !now.run.methods.weights && other) {
    chooseRun(other.run, chosen);
  }
  if (sentence) {
    byId("source").value = sentence;
  }
  return { without: [], prefix: [], chosenBefore: [], place: null, ...chosen };
}

/** Open a stop at its title. */
function goTo({ lessons }, wanted, change) {
  change({ stop: Math.min(Math.max(1, wanted), lessons.length) });
  document.querySelector("#stop .stops").open = false;
  const title = document.querySelector("#stop h3");
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "nearest" });
}

function openTab(view, change) {
  change({ view });
  byId(`tab-${view}`).focus();
}

/** The list of all stops, folded, then the text of one with its formulas and sources. */
function drawStop({ number, title, paragraphs, formulas = [], papers = [], code, picture, part }, course, { change }) {
  const hasRoles = isAboutRoles(formulas);
  const stops = course.lessons.map((one) => element("li", {},
    button(`stop ${one.number}`, () => goTo(course, one.number, change), {
      "aria-current": one.number === number ? "step" : null,
    }, `${one.number}. `, foreign(one.title))));
  return [
    folded(`contents ${number}`, "Contents", { class: "stops" },
      element("nav", { "aria-label": "Stops" }, element("ol", {}, stops))),
    part && picture && drawMap(part),
    element("h3", { tabindex: -1, "data-place": "title" }, say`${number} of ${stops.length}: `, foreign(title)),
    paragraphs.map((text) => element("p", {}, marked(text, hasRoles))),
    formulas.map((line) => scroller("Formula", null, drawFormula(line, hasRoles))),
    papers.length > 0 && quiet("Paper: ", joined(papers.map(linked))),
    code && quiet("Code: ", element("code", {}, foreign(code))),
  ];
}

/** A link, or only its text if the address is none that a browser should open. */
function linked({ text, url }) {
  const shown = foreign(text);
  return /^https?:/.test(url) ? element("a", { href: url, target: "_blank", rel: "noreferrer" }, shown) : shown;
}

/** The question of a stop with a field for an answer, its folded answer, what to try, and the ways back and on. */
function drawQuestion(lesson, course, { change, copy }) {
  const { number, question, formulas = [], check, answer, try: { view, command } = {} } = lesson;
  const go = (by) => goTo(course, number + by, change);
  return [
    element("p", {}, element("strong", {}, "Question: "), marked(question, isAboutRoles(formulas))),
    check && field(lesson),
    folded(`answer ${number}`, "Answer", { class: "answer" }, element("p", {}, marked(answer))),
    command && quiet("In the terminal: ", element("code", {}, foreign(command))),
    element("p", { class: "ways" },
      button("back", () => go(-1), { "aria-disabled": number === 1 }, "← Back"),
      button("next", () => go(1), { "aria-disabled": number === course.lessons.length }, "Next →"),
      Object.hasOwn(tabs, view ?? "") && button("try", () => openTab(view, change),
        { title: say`Open the view “${translated(tabs[view].title)}”` }, "Try it"),
      course.lessons.some(({ check }) => check) && button("copy answers",
        ({ target }) => copy(answersOf(course), target), {}, "Copy my answers")),
  ];
}

/** A field for the answer to a question, and what is said of the answer. */
function field({ question, check }) {
  const said = element("output", {});
  const judge = (answer) => {
    given.set(question, answer);
    said.textContent = verdict(check, answer);
  };
  judge(given.get(question) ?? "");
  if (check.kind === "number") {
    const input = element("input", {
      id: "own-answer", inputmode: "decimal", autocomplete: "off", value: given.get(question),
      onchange: () => judge(input.value.trim()),
    });
    return element("p", { class: "own" }, element("label", { for: "own-answer" }, "Your answer: "), input,
      button("check", () => judge(input.value.trim()), {}, "Check"), said);
  }
  const choices = check.choices.map((text, place) => element("label", {}, element("input", {
    type: "radio", name: "own-answer", value: place, checked: given.get(question) === String(place),
    "data-place": `choice of answer ${place}`, onchange: ({ target }) => judge(target.value),
  }), " ", element("span", {}, marked(text))));
  return element("fieldset", { class: "own" }, element("legend", {}, "Your answer"), choices, said);
}

function verdict({ kind, value, tolerance, right }, answer) {
  if (answer === "") {
    return "";
  }
  const plain = answer.replace("−", "-").replaceAll(/%|\s/g, "");
  const readings = [plain.replaceAll(",", ""), plain.replace(",", ".")].map(Number); // a comma has two meanings
  const isNear = (one) => Math.abs(one - value) <= tolerance + 1e-12;
  const isRight = kind === "number"
    ? readings.some((one) => isNear(one) || (answer.includes("%") && isNear(one / 100))) : Number(answer) === right;
  return translated(isRight ? "Right." : "Not yet.");
}

/** All answers given, as text. */
function answersOf({ lessons }) {
  const answered = lessons.filter(({ check, question }) => check && given.get(question));
  const texts = answered.map(({ number, title, question, check }) => {
    const answer = given.get(question);
    const shown = check.kind === "choice" ? check.choices[answer] : answer;
    const all = [`${number}. ${title}`, say`Question: ${question}`, say`My answer: ${shown}`, verdict(check, answer)];
    return `${all.map(visible).join("\n")}\n`;
  });
  return texts.join("\n") || translated("No answers yet.");
}

/** Text with *emphasis* and `code`, and with the colours of queries, keys and values where `hasRoles`. */
function marked(text, hasRoles = false) {
  const plain = (part) => element("bdi", {}, coloured(part, hasRoles));
  return text.split(MARKED).map((part, place) => {
    const inner = plain(place % 2 ? part.slice(1, -1) : part);
    return place % 2 ? element(part[0] === "*" ? "em" : "code", {}, inner) : part && inner;
  });
}

/** Left and right arrows in the course move between stops, except where they already have a meaning. */
function listenForArrows(panel, { change, state }) {
  panel.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isTaken = event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (by && state.lessons && !isTaken && !event.target.matches("input, select, textarea")) {
      goTo(state.lessons, state.stop + by, change);
    }
  });
}
