// Files to save: a table as an SVG picture.

import { element, literal, shape } from "./dom.js";

// Of a caption, in pixels: about the width of a letter, and the height of a line.
const [LETTER_WIDTH, LINE_HEIGHT] = [9, 20];

/** A table as it is drawn now, as an SVG file with the colours in it. */
export function pictureOfTable(table) {
  const { left, top, width, height } = table.getBoundingClientRect();
  const { backgroundColor: page, color } = getComputedStyle(document.body);
  const cells = [...table.querySelectorAll("th, tbody td, caption")].map((cell) => {
    const box = cell.getBoundingClientRect();
    const style = getComputedStyle(cell);
    const [x, y] = [box.left - left, box.top - top];
    const [across, down] = [x + box.width / 2, y + box.height / 2];
    const texts = cell.matches("caption") ? wrapped(cell.textContent, width / LETTER_WIDTH) : [cell.textContent];
    const place = cell.matches("caption") ? { x: 0 }
      : cell.scope === "row" ? { x: cell.firstChild.getBoundingClientRect().right - left, "text-anchor": "end" }
      : { x: across, "text-anchor": "middle" };
    const transform = cell.querySelector(".turned") ? `rotate(-90 ${across} ${down})` : null;
    return [
      shape("rect", { x, y, width: box.width, height: box.height, fill: style.backgroundColor }),
      texts.map((text, line) => shape("text", {
        y: down + LINE_HEIGHT * (line - (texts.length - 1) / 2), fill: style.color, "font-size": style.fontSize,
        "dominant-baseline": "central", transform, ...place,
      }, literal(text))),
    ];
  });
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", color };
  return new XMLSerializer().serializeToString(shape("svg", size, shape("rect", { width, height, fill: page }), cells));
}

/** A text in lines of so many letters at most. */
const wrapped = (text, most) => text.match(new RegExp(`.{1,${Math.floor(most)}}(\\s|$)`, "g")) ?? [];

/** Offer a file to save. */
export function saveFile(name, type, content) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href, download: name }).click();
  URL.revokeObjectURL(href);
}
