// Curves over a common horizontal axis, as a picture and in words.

import { times } from "./arithmetic.js";
import { element, LOCALE, numeral, say, shape, translated } from "./dom.js";

// The size of a chart and the area of its curves, in SVG units.
const SIZE = { width: 320, height: 176, left: 46, right: 310, top: 10, bottom: 142 };

/**
 * A chart: each curve has a `name` (its class), what it is `called`, and `points`. `axis` names the horizontal one, and
 * `at` a place on it.
 */
export function drawChart(title, curves, { axis = "step", at = (place) => say`step ${place}` } = {}) {
  const [across, up] = [0, 1].map((axis) => extent(curves.flatMap(({ points }) => points.map((point) => point[axis]))));
  const x = (step) => SIZE.left + ((step - across[0]) / (across[1] - across[0])) * (SIZE.right - SIZE.left);
  const y = (value) => SIZE.bottom - ((value - up[0]) / (up[1] - up[0])) * (SIZE.bottom - SIZE.top);
  const text = (number, at) => shape("text", at, short(number));
  const size = { class: "panel", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, "aria-hidden": true };
  const drawing = shape("svg", size,
    ticks(...up, 5).map((value) => [
      shape("path", { class: "grid", d: `M${SIZE.left} ${y(value)}H${SIZE.right}` }),
      text(value, { class: "upward", x: SIZE.left - 5, y: y(value) }),
    ]),
    ticks(...across, 4).map((step) => text(step, { class: "across", x: x(step), y: SIZE.bottom + 11 })),
    shape("text", { class: "across", x: (SIZE.left + SIZE.right) / 2, y: SIZE.bottom + 26 }, axis),
    curves.map(({ name, points }) => {
      const path = points.map(([step, value]) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
      return shape("path", { class: `curve ${name}`, d: `M${path}h0` });
    }));
  const said = curves.map(({ name, called, points }) => {
    const key = shape("svg", { class: "sample", viewBox: "0 0 24 8", "aria-hidden": true },
      shape("path", { class: `curve ${name}`, d: "M1 4H23" }));
    return element("li", {}, curves.length > 1 && key, inWords(translated(called), points, at));
  });
  return element("figure", {}, element("figcaption", {}, title), drawing, element("ul", {}, said));
}

/** The ends of a curve; a single point is no trend, and a constant has one value. */
function inWords(called, points, at) {
  const [[, start]] = points;
  if (points.length > 1 && points.every(([, value]) => short(value) === short(start))) {
    return `${called} ${short(start)}`;
  }
  const [once, then] = [points[0], points.at(-1)].map(([place, value]) => say`${short(value)} at ${at(short(place))}`);
  return points.length > 1 ? say`${called} ${once}, ${then}` : say`${called} ${once}, measured once`;
}

/** The ends of an axis; they differ even if all numbers are the same. */
function extent(numbers) {
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
  return high > low ? [low, high] : [low - Math.abs(low) / 2, high + (Math.abs(high) / 2 || 1)];
}

/** At most `most` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten. */
function ticks(low, high, most) {
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  for (const step of [1, 2, 5, 10, 20].map((factor) => factor * power)) {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    if (last - first < most) {
      return times(last - first + 1, (place) => (first + place) * step);
    }
  }
  return [];
}

/** At most four significant digits; very small numbers as `1.7e−7`. */
export function short(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) {
    return numeral(number.toPrecision(2));
  }
  return Number(number.toPrecision(4)).toLocaleString(LOCALE, { maximumSignificantDigits: 4 }).replace("-", "−");
}
