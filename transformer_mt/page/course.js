// The guided course: one stop at a time, with a picture, a question and something to try.

import { button, element, foreign } from "./dom.js";

// *emphasis* and `code`.
const MARKED = /(\*[^*]+\*|`[^`]+`)/;

/** The number of the stop to show: the nearest that exists. */
export function stopOf({ lessons }, wanted) {
  return Math.min(Math.max(1, wanted), lessons.length);
}

/** The text of a stop, under the numbers of all; `go(number)` opens another. */
export function drawStop(course, wanted, { go }) {
  const number = stopOf(course, wanted);
  const lesson = course.lessons[number - 1];
  const stops = course.lessons.map((one, place) => element("li", {},
    button(`stop ${place + 1}`, () => go(place + 1), {
      "aria-current": place + 1 === number ? "step" : null, "aria-label": `Stop ${place + 1}: ${one.title}`,
    }, String(place + 1))));
  return [
    element("nav", { class: "stops", "aria-label": "Stops" }, element("ol", {}, stops)),
    element("h3", {}, `${number} of ${course.lessons.length}: `, foreign(lesson.title)),
    lesson.paragraphs.map((text) => element("p", {}, marked(text))),
  ];
}

/** The question of a stop with its folded answer, what to try, and the ways back and on. */
export function drawQuestion(course, wanted, { go, attempt }) {
  const number = stopOf(course, wanted);
  const { question, answer, try: tried } = course.lessons[number - 1];
  const isTried = tried && (tried.sentence || tried.view || tried.head);
  const ends = [number === 1, number === course.lessons.length];
  return [
    element("p", {}, element("strong", {}, "Question: "), marked(question)),
    element("details", { class: "answer" },
      element("summary", { "data-place": `answer ${number}` }, "Answer"), element("p", {}, marked(answer))),
    isTried && element("p", {}, button("try", () => attempt(tried), {}, "Try it"), tried.sentence &&
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
export function listenForArrows(panel, move) {
  panel.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isTaken = event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
    if (by && !isTaken && !event.target.matches("input, select, textarea")) {
      move(by);
    }
  });
}
