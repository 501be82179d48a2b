// Two lines of words, one above the other, with a curve for each link between them.

import { button, decimal, element, foreign, shape, visible } from "./dom.js";
import { roving } from "./keyboard.js";
import { level, SHARES_OF_ONE } from "./shades.js";

// A piece for a character that the vocabulary lacks.
const BYTE = /^<0x[0-9A-F]{2}>$/;
const SIDES = ["above", "below"];
let pictures = 0; // so that what describes a word has a name of its own

/**
 * The picture of two lines and their links.
 *
 * `lines` are the upper and the lower one, each with its `words`, `language` and `name`. A word has its `text`, and may
 * have `marks` (classes), a `note` that says in words why it is marked, and a `number` to stand below it. A link is
 * `{ from, to, weight }`, word numbers of the upper and the lower line. `choose(side, number)` is called for a word
 * that is pressed; the `chosen` one of the lower line is marked. `scale` is that of the weights.
 */
export function linkedWords({ lines, links, name, scale = SHARES_OF_ONE, choose = () => {}, chosen = null }) {
  const picture = `words-${(pictures += 1)}`;
  const sides = lines.map((line, side) => wordLine(line, side, { links, lines, scale, picture, choose, chosen }));
  const curves = links.map(({ weight }) => shape("path", { class: `link shade-${level(weight, scale.largest)}` }));
  const numbers = links.map(({ weight }) => shape("text", { class: "link-number" }, decimal(weight / scale.unit)));
  const drawing = shape("svg", { class: "links", "aria-hidden": "true" }, curves, numbers);
  const ruler = element("div"); // as wide as the picture, and of a height that nothing here changes
  const figure = element("div", { class: "linked", role: "group", "aria-label": name }, ruler, drawing, sides);
  const words = sides.map((side) => [...side.querySelectorAll(".word")]);
  const ends = links.map(({ from, to }) => [words[0][from], words[1][to]]);
  const draw = () => {
    fit(figure, words);
    layCurves(figure, ends, curves);
  };
  const light = (word) => {
    if (curves.some((curve) => !curve.hasAttribute("d"))) {
      draw(); // the focus can come before the first layout
    }
    lightLinks(figure, { ends, curves, numbers }, word);
  };
  for (const kind of ["mouseover", "focusin"]) {
    figure.addEventListener(kind, ({ target }) => light(target.closest(".word")));
  }
  for (const kind of ["mouseleave", "focusout"]) {
    figure.addEventListener(kind, () => light(figure.contains(document.activeElement) ? document.activeElement : null));
  }
  new ResizeObserver(draw).observe(ruler);
  figure.addEventListener("relayout", draw); // paper has no observer
  return figure;
}

/** For each piece the number of the word in which it begins, or null where pieces spell other letters than words. */
export function wordsOfPieces(words, pieces) {
  const bytes = (text) => new TextEncoder().encode(text).length;
  const letters = pieces.map((piece) => (BYTE.test(piece) ? 1 : bytes(piece.replaceAll("▁", ""))));
  const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
  let end = 0;
  const ends = words.map((word) => (end += bytes(word)));
  if (total(letters) !== end) {
    return pieces.map(() => null);
  }
  return pieces.map((_, place) => ends.findIndex((of) => total(letters.slice(0, place)) < of));
}

function wordLine({ words, language, name }, side, { links, lines, scale, picture, choose, chosen }) {
  const buttons = words.map((word, number) => {
    const id = `${picture}-${side}-${number}`;
    const said = [word.note, linkedTo(links, side, number, lines[1 - side].words, scale)].filter(Boolean).join("; ");
    const shown = button(`${SIDES[side]} ${number}`, () => choose(side, number), {
      class: ["word", ...(word.marks ?? [])].join(" "),
      "aria-describedby": said && id,
      "aria-current": side === 1 && number === chosen ? "true" : null,
      title: word.note,
    }, foreign(word.text), word.number && element("span", { class: "below-word", "aria-hidden": "true" }, word.number));
    return [shown, said && element("span", { id, hidden: true }, said), " "];
  });
  const attributes = { class: `words ${SIDES[side]}`, lang: language, role: "group", "aria-label": name };
  const line = element("p", attributes, buttons);
  return roving(line, ".word", { line: true, current: line.querySelector("[aria-current]") });
}

/** The links of a word as text: `Kannst .90, du .07`. */
function linkedTo(links, side, number, others, scale = SHARES_OF_ONE) {
  const own = links.filter(({ from, to }) => (side ? to : from) === number);
  const said = ({ from, to, weight }) => `${visible(others[side ? from : to].text)} ${decimal(weight / scale.unit)}`;
  return own.map(said).join(", ");
}

/** The links of a pair in words, target word by target word. */
export function linksAsText(lines, links) {
  const [above, below] = lines.map(({ words }) => words);
  const items = below.map((word, number) => {
    const said = linkedTo(links, 1, number, above);
    return said && element("li", {}, foreign(word.text, lines[1].language), ": ", foreign(said, lines[0].language));
  });
  const summary = element("summary", { "data-place": "as text" }, "Links as text");
  return element("details", { class: "as-text" }, summary, element("ul", {}, items));
}

function lightLinks(figure, { ends, curves, numbers }, word) {
  const lit = ends.map((pair) => pair.includes(word));
  figure.classList.toggle("lighting", lit.includes(true));
  figure.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
  lit.forEach((is, number) => {
    if (is) {
      // Where the curves that leave one word have parted.
      const share = ends[number][1] === word ? 0.22 : 0.78;
      const { x, y } = curves[number].getPointAtLength(share * curves[number].getTotalLength());
      numbers[number].setAttribute("x", x);
      numbers[number].setAttribute("y", y);
      [curves[number], numbers[number], ...ends[number]].forEach((one) => one.classList.add("lit"));
    }
  });
}

/** Smaller words where they need more than a row; and where they still do, links stay in the background until lit. */
function fit(figure, sides) {
  figure.classList.remove("tight", "wrapped");
  for (const kind of ["tight", "wrapped"]) {
    if (sides.some((words) => words.at(-1)?.offsetTop > words[0].offsetTop + words[0].offsetHeight)) {
      figure.classList.add(kind);
    }
  }
}

/** Draw each curve between its two elements: from above to below, or, `across`, from left to right. */
export function layCurves(figure, ends, curves, across = false) {
  const { left, top } = figure.getBoundingClientRect();
  ends.forEach(([first, second], number) => {
    const [from, to] = [first.getBoundingClientRect(), second.getBoundingClientRect()];
    const [x, u] = across ? [from.right, to.left] : [from, to].map((box) => (box.left + box.right) / 2);
    const [y, v] = across ? [from, to].map((box) => (box.top + box.bottom) / 2) : [from.bottom, to.top];
    const bends = across ? [(x + u) / 2, y, (x + u) / 2, v] : [x, (y + v) / 2, u, (y + v) / 2];
    const [a, b, c, d] = bends.map((at, place) => at - (place % 2 ? top : left));
    curves[number].setAttribute("d", `M${x - left} ${y - top}C${a} ${b} ${c} ${d} ${u - left} ${v - top}`);
  });
}
