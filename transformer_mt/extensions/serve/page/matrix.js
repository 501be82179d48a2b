// A matrix as a small picture, and as a table with its numbers.

import { decimal, element, foreign, say, scroller, shape } from "./dom.js";
import { roving } from "./keyboard.js";
import { level } from "./shades.js";

/** A matrix without numbers: one path per shade, a unit square per cell; columns in the direction `dir`. */
export function smallMatrix(numbers, scale, dir = "ltr") {
  const paths = new Map();
  numbers.forEach((row, down) =>
    row.forEach((number, across) => {
      const shade = number === null ? "masked" : level(number, scale.largest) && shadeOf(number, scale);
      if (shade) {
        paths.set(shade, `${paths.get(shade) ?? ""}M${across} ${down}h1v1h-1z`);
      }
    }),
  );
  const drawn = [...paths].map(([shade, path]) => shape("path", { class: shade, d: path }));
  const size = `0 0 ${numbers[0]?.length ?? 0} ${numbers.length}`;
  const attributes = { class: "small", dir, viewBox: size, preserveAspectRatio: "none", "aria-hidden": true };
  return shape("svg", attributes, drawn);
}

/** A matrix as a table: `rows` and `columns` are `{ words, language, dir }`; `caption` explains the numbers. */
export function matrixTable({ numbers, rows, columns, scale, caption, shown = decimal }) {
  const heads = columns.words.map((word) =>
    element("th", { scope: "col", lang: columns.language },
      element("span", { class: "turned" }, foreign(word, null, columns.dir))),
  );
  const body = numbers.map((row, down) => {
    const cells = row.map((number, across) =>
      element("td", {
        class: number === null ? "masked" : shadeOf(number, scale), "data-place": `cell ${down} ${across}`,
      }, number === null ? "·" : shown(number / scale.unit)));
    return element("tr", {},
      element("th", { scope: "row", lang: rows.language }, foreign(rows.words[down], null, rows.dir)), cells);
  });
  const unit = scale.unit === 1 ? "" : say` Numbers are in units of ${scale.unit}.`;
  const drawn = element("table", { class: "matrix" }, element("caption", { dir: "ltr" }, caption, unit),
    element("thead", {}, element("tr", {}, element("td", {}), heads)), element("tbody", {}, body));
  return scroller(caption, columns.dir, roving(drawn, "tbody td"));
}

/** The class of a cell with a number. */
export function shadeOf(number, scale) {
  return `${number < 0 ? "negative" : "shade"}-${level(number, scale.largest)}`;
}

/** A table from columns by heading; the first one has the row headings. */
export function table(name, columns) {
  const [labels, ...others] = Object.values(columns);
  const heads = Object.entries(columns).map(([heading, [first]]) =>
    element("th", { scope: "col", class: first instanceof SVGElement && "of-bars" }, heading));
  const rows = labels.map((label, number) => {
    const cells = others.map((cells) => element("td", {}, cells[number]));
    return element("tr", {}, element("th", { scope: "row" }, label), cells);
  });
  const body = [element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)];
  return scroller(name, null, element("table", { class: "numbers", "aria-label": name }, body));
}
