// "Why not?", beside each alternative of a token.

import { bars } from "./choices.js";
import { button, element, fixed, foreign, mixed, quiet, say, translated, visible } from "./dom.js";
import { table } from "./matrix.js";
import { addTab } from "./tabs.js";

addTab({
  id: "choices",
  questions: {
    contrast: ({ run, translation, place, against, without }) =>
      against !== null && translation?.alternatives?.[place] && ["contrast", {
        run: run.run, source: translation.read, prefix: translation.tokens.slice(0, place),
        word: translation.alternatives[place].token, other: against, without,
      }],
  },
  besideOther: drawWhy,
});

/** A button that asks why the model did not choose this alternative, and the answer or the problem if it was asked. */
function drawWhy(token, number, run, { against, contrast, problem, change }) {
  const isAsked = token === against;
  const attributes = { class: "why", "aria-expanded": isAsked, "aria-label": say`why not? ${visible(token)}` };
  return [
    button(`why ${number}`, () => change({ against: isAsked ? null : token, contrast: null }), attributes, "why not?"),
    isAsked && element("div", { class: "contrast", "aria-live": "polite", dir: "ltr" },
      problem && element("p", { class: "problem" }, foreign(translated(problem))),
      contrast && drawContrast(contrast, run)),
  ];
}

/** Why one token and not another: for each method, a bar per word, and the answer in words. */
function drawContrast(found, run) {
  const sides = [[found.from_source, run.source_language], [found.from_prefix, run.target_language]];
  const tables = ["gradient", "erasure"].filter((method) => found.from_source[method]).map((method) => {
    const numbers = sides.flatMap(([side]) => side[method]);
    const word = sides.flatMap(([side, language]) => side.words.map((one) => foreign(one, language)));
    return table(method, { word, [method]: numbers.map((one) => fixed(one, 2)), "as bars": bars(numbers) });
  });
  return [element("p", {}, mixed(found.in_words)), element("div", { class: "side-by-side" }, tables),
    quiet("Each word's part of ln p(chosen) − ln p(other): gradient × input, and the fall without the word. "
      + "Below zero, it speaks for the other.")];
}
