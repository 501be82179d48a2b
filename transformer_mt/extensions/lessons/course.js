// The guided course: one stop at a time, with a picture, a question and something to try.

import { button, element, foreign, visible } from "./dom.js";
import { explained } from "./heads.js";
import { drawPicture, needsOf } from "./pictures.js";
import { addTab, ofPair, tabs } from "./tabs.js";

// *emphasis* and `code`.
const MARKED = /(\*[^*]+\*|`[^`]+`)/;

// What the pictures may be about, as keys of the state.
const ANSWERS = ["run", "head", "translation", "explanation", "looked", "erased"];

addTab({
  id: "course",
  title: "Course",
  place: 60,
  needsModel: true,
  questions: {
    lessons: () => ["lessons", null],
    explanation: (now) => pictured(now, "explanation") && ofPair(now, "explain", explained(now)),
    looked: (now) => pictured(now, "looked") && ofPair(now, "attend", { method: "weights", words: true, without: [] }),
    erased: (now) => pictured(now, "erased") && ofPair(now, "attend", { method: "erasure", words: true, without: [] }),
  },
  pictures: [
    ["stop", ({ lessons, stop }) => [lessons, stop], drawStop],
    ["picture", (now) => [pictureOf(now), now.lessons, now.source.trim() === "", ...ANSWERS.map((one) => now[one])],
      (name, lessons, lacksSentence, ...more) => {
        const found = Object.fromEntries(ANSWERS.map((one, at) => [one, more[at]]));
        return drawPicture(name, lessons.curves, { ...found, lacksSentence, ...more.at(-1) });
      }],
    ["question", ({ lessons, stop }) => [lessons, stop], drawQuestion],
    ["back", ({ stop, view }) => [view !== "course" && stop], (stop, { change }) =>
      button("to course", () => {
        change({ view: "course" });
        document.getElementById("tab-course").focus();
      }, {}, `Back to stop ${stop} of the course`)],
  ],
  listen: (panel, { change, state }) => listenForArrows(panel, (by) =>
    state.lessons && change({ stop: stopOf(state.lessons, (state.stop ?? 1) + by) })),
});

/** The name of the picture of the open stop; `undefined` if there is none. */
function pictureOf({ lessons, stop }) {
  return lessons ? lessons.lessons[stopOf(lessons, stop ?? 1) - 1].picture : undefined;
}

/** True if the picture of the open stop needs this answer. */
function pictured(now, answer) {
  return needsOf(pictureOf(now)).includes(answer);
}

/** Do what a stop suggests: give its sentence, choose its head, and open its view. */
function attempt({ sentence, view, head }, { change, take, pick, state }) {
  if (sentence) {
    take(sentence);
  }
  if (head) {
    pick(head);
  }
  if (Object.hasOwn(tabs, view ?? "")) {
    change({ view });
  }
  document.getElementById(`tab-${state.view}`).focus();
}

/** The number of the stop to show: the nearest that exists. */
function stopOf({ lessons }, wanted) {
  return Math.min(Math.max(1, wanted), lessons.length);
}

/** The text of a stop, under the numbers of all. */
function drawStop(course, wanted, { change }) {
  const number = stopOf(course, wanted);
  const lesson = course.lessons[number - 1];
  const stops = course.lessons.map((one, place) => element("li", {},
    button(`stop ${place + 1}`, () => change({ stop: place + 1 }), {
      "aria-current": place + 1 === number ? "step" : null, "aria-label": `Stop ${place + 1}: ${visible(one.title)}`,
    }, String(place + 1))));
  return [
    element("nav", { class: "stops", "aria-label": "Stops" }, element("ol", {}, stops)),
    element("h3", {}, `${number} of ${course.lessons.length}: `, foreign(lesson.title)),
    lesson.paragraphs.map((text) => element("p", {}, marked(text))),
  ];
}

/** The question of a stop with its folded answer, what to try, and the ways back and on. */
function drawQuestion(course, wanted, actions) {
  const number = stopOf(course, wanted);
  const { question, answer, try: tried } = course.lessons[number - 1];
  const isTried = tried && (tried.sentence || tried.view || tried.head);
  const ends = [number === 1, number === course.lessons.length];
  const go = (wanted) => actions.change({ stop: stopOf(course, wanted) });
  return [
    element("p", {}, element("strong", {}, "Question: "), marked(question)),
    element("details", { class: "answer" },
      element("summary", { "data-place": `answer ${number}` }, "Answer"), element("p", {}, marked(answer))),
    isTried && element("p", {}, button("try", () => attempt(tried, actions), {}, "Try it"), tried.sentence &&
      [" ", foreign(tried.sentence)]),
    tried?.command &&
      element("p", { class: "quiet" }, "In the terminal: ", element("code", {}, foreign(tried.command))),
    element("p", { class: "ways" },
      button("back", () => go(number - 1), { "aria-disabled": String(ends[0]) }, "← Back"), " ",
      button("next", () => go(number + 1), { "aria-disabled": String(ends[1]) }, "Next →")),
  ];
}

/** Text with *emphasis* and `code`. */
function marked(text) {
  return text.split(MARKED).map((part, place) =>
    place % 2 ? element(part[0] === "*" ? "em" : "code", {}, foreign(part.slice(1, -1))) : part && foreign(part));
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
