// Two lines of words, one above the other, with a curve per link.

import { sum } from "./arithmetic.js";
import { button, decimal, element, folded, foreign, joined, shape, visible } from "./dom.js";
import { roving } from "./keyboard.js";
import { level, SHARES_OF_ONE } from "./shades.js";

const SIDES = ["above", "below"];
// In wrapped lines: pixels between words, and how full a row may be.
const [BETWEEN_WORDS, FILLED] = [5, 0.9];
let pictures = 0; // for unique ids

/**
 * Draw two lines of words and their links.
 *
 * `lines` are the upper and the lower one, each with `words`, `language`, `dir` and `name`. By number, words may have
 * `marks`: each has a `mark` (its class), a `note` explaining it, and a text `below`. A link is `{ from, to, weight }`,
 * word numbers of the upper and the lower line. Pressing a word calls `choose(side, number)`; the `chosen` words of the
 * lower line are marked. `scale` is the scale of the weights.
 */
export function linkedWords({ lines, links, name, scale = SHARES_OF_ONE, choose = () => {}, chosen = [] }) {
  const picture = `words-${(pictures += 1)}`;
  const sides = lines.map((line, side) => wordLine(line, side, { links, lines, scale, picture, choose, chosen }));
  const curves = links.map(({ weight }) => shape("path", { class: `link shade-${level(weight, scale.largest)}` }));
  const numbers = links.map(({ weight }) => shape("text", { class: "link-number" }, decimal(weight / scale.unit)));
  const drawing = shape("svg", { class: "links", "aria-hidden": true }, curves, numbers);
  const ruler = element("div"); // as wide as the figure, with a height that drawing does not change
  const figure = element("div", { class: "linked", role: "group", "aria-label": name }, ruler, drawing, sides);
  const words = sides.map((side) => [...side.querySelectorAll(".word")]);
  const ends = links.map(({ from, to }) => [words[0][from], words[1][to]]);
  const light = (word) => lightLinks(figure, { ends, curves, numbers }, word);
  const draw = () => {
    fit(figure, words);
    layCurves(figure, ends, curves);
    ends.forEach(([above, below], number) =>
      curves[number].classList.toggle("far", above.dataset.row !== below.dataset.row));
    light(document.activeElement); // which can have had the focus before the first layout
  };
  for (const kind of ["mouseover", "focusin"]) {
    figure.addEventListener(kind, ({ target }) => light(target.closest(".word")));
  }
  for (const kind of ["mouseleave", "focusout"]) {
    figure.addEventListener(kind, () => light(document.activeElement));
  }
  new ResizeObserver(draw).observe(ruler);
  figure.addEventListener("relayout", draw); // for printing, where ResizeObserver does not fire
  return figure;
}

function wordLine({ words, marks = [], language, dir, name }, side, { links, lines, scale, picture, choose, chosen }) {
  const buttons = words.map((word, number) => {
    const id = `${picture}-${side}-${number}`;
    const linked = linkedTo(links, side, number, lines[1 - side].words, scale).map((one) => one.join(" ")).join(", ");
    const { mark, note, below } = marks[number] ?? {};
    const said = [note, visible(linked)].filter(Boolean).join("; ");
    const shown = button(`${SIDES[side]} ${number}`, () => choose(side, number), {
      class: mark ? `word ${mark}` : "word", "aria-describedby": said && id, title: note,
      "aria-current": side === 1 && chosen.includes(number) ? "true" : null,
    }, foreign(word, null, dir), below && element("span", { class: "below-word", "aria-hidden": true }, below));
    return [shown, said && element("span", { id, hidden: true }, said), " "];
  });
  const attributes = { class: `words ${SIDES[side]}`, lang: language, dir, role: "group", "aria-label": name };
  const line = element("p", attributes, buttons);
  return roving(line, ".word", { line: true, current: line.querySelector("[aria-current]") });
}

/** The words linked to a word, each with its weight: `Kannst` and `.90`. */
function linkedTo(links, side, number, others, scale = SHARES_OF_ONE) {
  const own = links.filter(({ from, to }) => (side ? to : from) === number);
  return own.map(({ from, to, weight }) => [others[side ? from : to], decimal(weight / scale.unit)]);
}

/** The links as text, target word by target word. */
export function linksAsText(lines, links) {
  const [above, below] = lines.map(({ words }) => words);
  const items = below.map((word, number) => {
    const said = linkedTo(links, 1, number, above).map(([text, weight]) =>
      [foreign(text, lines[0].language), ` ${weight}`]);
    return said.length > 0 && element("li", {}, foreign(word, lines[1].language), ": ", joined(said));
  });
  return folded("links", "Links as text", { class: "as-text" }, element("ul", {}, items));
}

function lightLinks(figure, { ends, curves, numbers }, word) {
  figure.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
  ends.forEach((pair, number) => {
    if (pair.includes(word) && curves[number].hasAttribute("d")) {
      // Where curves from the same word have separated.
      const share = pair[1] === word ? 0.22 : 0.78;
      const { x, y } = curves[number].getPointAtLength(share * curves[number].getTotalLength());
      numbers[number].setAttribute("x", x);
      numbers[number].setAttribute("y", y);
      [curves[number], numbers[number], ...pair].forEach((one) => one.classList.add("lit"));
    }
  });
}

/** Use smaller words if they need more than one row; if they still do, put the rows of both lines under each other. */
function fit(figure, sides) {
  figure.classList.remove("tight", "wrapped");
  for (const kind of ["tight", "wrapped"]) {
    if (sides.some((words) => words.at(-1)?.offsetTop > words[0].offsetTop + words[0].offsetHeight)) {
      figure.classList.add(kind);
    }
  }
  const totals = sides.map((words) => sum(words.map((word) => word.offsetWidth + BETWEEN_WORDS)));
  const count = Math.ceil(Math.max(...totals) / (FILLED * figure.clientWidth)); // of the rows of both
  sides.forEach((words, side) => {
    words[0]?.parentElement.style.setProperty("--row", `${totals[side] / count}px`);
    const tops = [...new Set(words.map((word) => word.offsetTop))];
    words.forEach((word) => (word.dataset.row = tops.indexOf(word.offsetTop)));
  });
}

/** Draw each curve between its two elements: downwards or, with `across`, sideways. */
export function layCurves(figure, ends, curves, across = false) {
  const { left, top } = figure.getBoundingClientRect();
  ends.forEach(([first, second], number) => {
    const [from, to] = [first.getBoundingClientRect(), second.getBoundingClientRect()];
    const sides = from.left < to.left ? [from.right, to.left] : [from.left, to.right];
    const [x, u] = across ? sides : [from, to].map((box) => (box.left + box.right) / 2);
    const [y, v] = across ? [from, to].map((box) => (box.top + box.bottom) / 2) : [from.bottom, to.top];
    const bends = across ? [(x + u) / 2, y, (x + u) / 2, v] : [x, (y + v) / 2, u, (y + v) / 2];
    const [a, b, c, d] = bends.map((at, place) => at - (place % 2 ? top : left));
    curves[number].setAttribute("d", `M${x - left} ${y - top}C${a} ${b} ${c} ${d} ${u - left} ${v - top}`);
  });
}
