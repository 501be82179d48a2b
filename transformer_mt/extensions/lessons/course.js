// The guided course: one stop at a time, with a picture, a question and something to try.

import { button, byId, element, folded, foreign, quiet, say, scroller, translated, visible } from "./dom.js";
import { coloured, drawFormula, isAboutRoles } from "./formula.js";
import { explained } from "./heads.js";
import { drawPicture, needsOf } from "./pictures.js";
import { addTab, ofPair, tabs } from "./tabs.js";
import { drawMap } from "./transformer.js";

// *emphasis* and `code`.
const MARKED = /(\*[^*]+\*|`[^`]+`)/;
// Addresses that a text may link to.
const LINKED = ["http:", "https:"];

// What the pictures may be about, as keys of the state.
const ANSWERS = [
  "source", "run", "head", "without", "translation", "explanation", "looked", "erased", "pieces", "prefix",
];
const WEIGHTS = { method: "weights", words: true, without: [] };

const given = new Map(); // the student's answers, by the question

addTab({
  id: "course",
  title: "Course",
  place: 60,
  needsModel: true,
  follow: openStop,
  questions: {
    lessons: () => ["lessons", null],
    explanation: (now) => pictured(now, "explanation") && ofPair(now, "explain", explained(now)),
    looked: (now) => pictured(now, "looked") && ofPair(now, "attend", WEIGHTS),
    erased: (now) => pictured(now, "erased") && ofPair(now, "attend", { ...WEIGHTS, method: "erasure" }),
    pieces: (now) => pictured(now, "pieces") && ofPair(now, "attend", { ...WEIGHTS, words: false }),
  },
  pictures: [
    ["stop", ({ lessons, stop }) => [lessons, stop], drawStop],
    ["picture", (now) => [pictureOf(now), now.lessons, lessonOf(now)?.part, ...ANSWERS.map((one) => now[one])],
      (name, { curves }, part, ...more) => {
        const actions = more.at(-1);
        return drawPicture(name, curves, { ...actions.state, ...actions, part });
      }],
    ["question", ({ lessons, stop }) => [lessons, stop], drawQuestion],
    ["back", ({ stop, view }) => [view !== "course" && stop], (stop, { change }) =>
      button("to course", () => {
        change({ view: "course" });
        byId("tab-course").focus();
      }, {}, say`← Back to stop ${stop} of the course`)],
  ],
  listen: (panel, { change, state }) => listenForArrows(panel, (by) =>
    state.lessons && goTo(state.lessons, state.stop + by, change)),
});

/** The open stop; undefined before the course has come. */
function lessonOf({ lessons, stop }) {
  return lessons?.lessons[stopOf(lessons, stop) - 1];
}

/** The picture of the open stop: its own, or the whole machine if the stop is about a part of it. */
function pictureOf(now) {
  const { picture, part } = lessonOf(now) ?? {};
  return picture ?? (part && "transformer");
}

function pictured(now, answer) {
  return needsOf(pictureOf(now)).includes(answer);
}

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

/** The number of the stop to show: the nearest that exists. */
function stopOf({ lessons }, wanted) {
  return Math.min(Math.max(1, wanted), lessons.length);
}

/** Open a stop at its title. */
function goTo(course, wanted, change) {
  change({ stop: stopOf(course, wanted) });
  document.querySelector("#stop .stops").open = false;
  const title = document.querySelector("#stop h3");
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "nearest" });
}

/** The list of all stops, folded, then the text of one with its formulas and sources. */
function drawStop(course, wanted, { change }) {
  const number = stopOf(course, wanted);
  const { title, paragraphs, formulas = [], papers = [], code, picture, part } = course.lessons[number - 1];
  const hasRoles = isAboutRoles(formulas);
  const stops = course.lessons.map((one, place) => element("li", {},
    button(`stop ${place + 1}`, () => goTo(course, place + 1, change), {
      "aria-current": place + 1 === number ? "step" : null,
    }, `${place + 1}. `, foreign(one.title))));
  return [
    folded(`contents ${number}`, "Contents", { class: "stops" },
      element("nav", { "aria-label": "Stops" }, element("ol", {}, stops))),
    part && picture && drawMap(part),
    element("h3", { tabindex: -1, "data-place": "title" }, say`${number} of ${stops.length}: `, foreign(title)),
    paragraphs.map((text) => element("p", {}, marked(text, hasRoles))),
    formulas.map((line) => scroller("Formula", null, drawFormula(line, hasRoles))),
    papers.length > 0 && quiet("Paper: ",
      papers.map((paper, place) => [place > 0 && ", ", linked(paper)])),
    code && quiet("Code: ", element("code", {}, foreign(code))),
  ];
}

/** A link, or only its text if the address is none that a browser should open. */
function linked({ text, url }) {
  const is = url && URL.canParse(url) && LINKED.includes(new URL(url).protocol);
  return is ? element("a", { href: url, target: "_blank", rel: "noreferrer" }, foreign(text)) : foreign(text);
}

/** The question of a stop with a field for an answer, its folded answer, what to try, and the ways back and on. */
function drawQuestion(course, wanted, { change, copy }) {
  const number = stopOf(course, wanted);
  const lesson = course.lessons[number - 1];
  const tried = lesson.try ?? {};
  const go = (wanted) => goTo(course, wanted, change);
  const open = () => {
    change({ view: tried.view });
    byId(`tab-${tried.view}`).focus();
  };
  return [
    element("p", {}, element("strong", {}, "Question: "), marked(lesson.question, isAboutRoles(lesson.formulas ?? []))),
    lesson.check && field(lesson),
    folded(`answer ${number}`, "Answer", { class: "answer" }, element("p", {}, marked(lesson.answer))),
    tried.command &&
      quiet("In the terminal: ", element("code", {}, foreign(tried.command))),
    element("p", { class: "ways" },
      button("back", () => go(number - 1), { "aria-disabled": number === 1 }, "← Back"),
      button("next", () => go(number + 1), { "aria-disabled": number === course.lessons.length }, "Next →"),
      Object.hasOwn(tabs, tried.view ?? "") &&
        button("try", open, { title: say`Open the view “${translated(tabs[tried.view].title)}”` }, "Try it"),
      course.lessons.some(({ check }) => check) && button("copy answers",
        ({ target }) => copy(answersOf(course), target), {}, "Copy my answers")),
  ];
}

// The student's answers: in this page only, as long as it is open.

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
      onchange: ({ target }) => judge(target.value.trim()),
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
function listenForArrows(panel, move) {
  panel.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isTaken = event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (by && !isTaken && !event.target.matches("input, select, textarea")) {
      move(by);
    }
  });
}
