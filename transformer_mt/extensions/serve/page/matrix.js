// A matrix as a small picture, and as a table with its numbers.

import { decimal, element, foreign, say, scroller, shape } from "./dom.js";
import { roving } from "./keyboard.js";
import { level, SHARES_OF_ONE } from "./shades.js";

/** A matrix without numbers: one path per shade, a unit square per cell; columns in the direction `dir`. */
export function smallMatrix(numbers, scale = SHARES_OF_ONE, dir = "ltr") {
  const squares = numbers.flatMap((row, down) => row.map((number, across) => ({
    shade: number === null ? "masked" : level(number, scale.largest) > 0 && shadeOf(number, scale),
    path: `M${across} ${down}h1v1h-1z`,
  })));
  const drawn = [...Map.groupBy(squares.filter(({ shade }) => shade), ({ shade }) => shade)].map(([shade, cells]) =>
    shape("path", { class: shade, d: cells.map(({ path }) => path).join("") }));
  const viewBox = `0 0 ${numbers[0]?.length ?? 0} ${numbers.length}`;
  return shape("svg", { class: "small", dir, viewBox, preserveAspectRatio: "none", "aria-hidden": true }, drawn);
}

/** A matrix as a table: `rows` and `columns` are `{ words, language, dir }`; `caption` explains the numbers. */
export function matrixTable({ numbers, rows, columns, scale = SHARES_OF_ONE, caption, shown = decimal }) {
  const heads = columns.words.map((word) =>
    element("th", { scope: "col", lang: columns.language },
      element("span", { class: "turned" }, foreign(word, null, columns.dir))));
  const body = numbers.map((row, down) => [
    element("th", { scope: "row", lang: rows.language }, foreign(rows.words[down], null, rows.dir)),
    row.map((number, across) => element("td", {
      class: number === null ? "masked" : shadeOf(number, scale), "data-place": `cell ${down} ${across}`,
    }, number === null ? "·" : shown(number / scale.unit))),
  ]);
  const unit = scale.unit === 1 ? "" : say` Numbers are in units of ${scale.unit}.`;
  const drawn = tableOf({ class: "matrix" }, element("caption", { dir: "ltr" }, caption, unit), body,
    [element("td"), heads]);
  return scroller(caption, columns.dir, roving(drawn, "tbody td"));
}

/** A table with a caption from rows of cells, under a row of `heads`. */
export function tableOf(attributes, caption, rows, heads = null) {
  const row = (cells) => element("tr", {}, cells);
  return element("table", attributes, caption, heads && element("thead", {}, row(heads)),
    element("tbody", {}, rows.map(row)));
}

/** The class of a cell with a number. */
export const shadeOf = (number, scale) => `${number < 0 ? "negative" : "shade"}-${level(number, scale.largest)}`;

/** A table from columns by heading; the first one has the row headings. */
export function table(name, columns) {
  const [labels, ...others] = Object.values(columns);
  const heads = Object.entries(columns).map(([heading, [first]]) =>
    element("th", { scope: "col", class: first instanceof SVGElement && "of-bars" }, heading));
  const rows = labels.map((label, number) => [
    element("th", { scope: "row" }, label), others.map((cells) => element("td", {}, cells[number])),
  ]);
  return scroller(name, null, tableOf({ class: "numbers", "aria-label": name }, null, rows, heads));
}
