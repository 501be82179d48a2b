// Files to save: a table as an SVG picture.

import { literal, shape } from "./dom.js";

/** A table as it is drawn now, as an SVG file with the colours in it. */
export function pictureOfTable(table) {
  const { left, top, width, height } = table.getBoundingClientRect();
  const { backgroundColor: page, color } = getComputedStyle(document.body);
  const cells = [...table.querySelectorAll("th, tbody td, caption")].map((cell) => {
    const box = cell.getBoundingClientRect();
    const style = getComputedStyle(cell);
    const [x, y] = [box.left - left, box.top - top];
    const [across, down] = [x + box.width / 2, y + box.height / 2];
    const isCaption = cell.matches("caption");
    const text = {
      x: isCaption ? 0 : across, y: down, fill: style.color, "font-size": isCaption ? 10 : style.fontSize,
      "text-anchor": isCaption ? "start" : "middle", "dominant-baseline": "central",
      transform: cell.querySelector(".turned") ? `rotate(-90 ${across} ${down})` : null,
    };
    return [
      shape("rect", { x, y, width: box.width, height: box.height, fill: style.backgroundColor }),
      shape("text", text, literal(cell.textContent)),
    ];
  });
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", color };
  return new XMLSerializer().serializeToString(shape("svg", size, shape("rect", { width, height, fill: page }), cells));
}

/** Offer a file to save. */
export function saveFile(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
