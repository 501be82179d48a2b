// DOM helpers: elements from attributes and children, safe display of untrusted text, short numbers.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";
// Cc: controls. Cf: format characters, including direction overrides. Cs: lone surrogates. Zl, Zp: line breaks.
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Format characters that scripts and emoji need and that do not reorder text.
const HARMLESS = "\u200c\u200d\u00ad";
// Runs of right-to-left letters, with SentencePiece's word mark and combining marks.
const FROM_RIGHT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const RUNS = new RegExp(`(▁?(?=\\p{L})[${FROM_RIGHT}]+)`, "u");
const IS_FROM_RIGHT = new RegExp(`^[${FROM_RIGHT}]`, "u");

/** Create an HTML element. Null and false attributes are left out; names starting with `on` are event listeners. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Create a button that calls `onclick`; `place` identifies it for `replace`. */
export function button(place, onclick, attributes, ...children) {
  return element("button", { type: "button", "data-place": place, onclick, ...attributes }, ...children);
}

/** Create an SVG element, like `element`. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** Create a MathML element, like `element`. */
export function math(name, attributes = {}, ...children) {
  return filled(document.createElementNS(MATH, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) {
      node.addEventListener(key.slice(2), value);
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? "" : value);
    }
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Make control and reordering characters visible, as in the terminal: `␛`, `⟨U+202E⟩`. */
export function visible(text) {
  return text.replace(CONTROLS, (character) => {
    const code = character.codePointAt(0);
    if (HARMLESS.includes(character)) {
      return character;
    }
    if (code < 0x20 || code === 0x7f) {
      return code === 0x7f ? "␡" : String.fromCodePoint(0x2400 + code);
    }
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The direction of a text, `ltr` or `rtl`, from its first letter; `usual` if it has none. */
export function direction(text, usual = "ltr") {
  const [first] = text.match(/\p{L}/u) ?? [];
  return first ? (IS_FROM_RIGHT.test(first) ? "rtl" : "ltr") : usual;
}

/**
 * Show untrusted text, from a model, a corpus or a run's name, isolated from the text around it.
 *
 * Part of a line, such as a word, without letters takes the direction of the line, `dir`.
 */
export function foreign(text, language = null, dir = null) {
  return element("bdi", { lang: language, dir: dir && direction(text, dir) }, visible(text));
}

/** Show a sentence of the program that contains untrusted words. */
export function mixed(sentence) {
  const parts = sentence.split(RUNS).map((part, place) => (place % 2 ? foreign(part) : visible(part)));
  return element("bdi", { dir: "ltr" }, parts);
}

/** Replace the children of a container; elements with the same `data-place` keep focus and open state. */
export function replace(container, ...children) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const details = () => [...container.querySelectorAll("details")];
  const place = (one) => one.querySelector("summary").dataset.place;
  const before = new Map(details().map((one) => [place(one), one.open]));
  container.replaceChildren(...present(children));
  details().forEach((one) => (one.open = before.get(place(one)) ?? one.open));
  if (focused?.dataset.place) {
    const same = container.querySelector(`[data-place="${CSS.escape(focused.dataset.place)}"]`);
    (same ?? container.querySelector("[data-place]"))?.focus({ preventScroll: true });
  }
}

/** Two decimals, without a leading zero: `.42`, `−.31`, `1.00`. */
export function decimal(number) {
  return number.toFixed(2).replace(/^-?0?\.00$/, ".00").replace(/^(-?)0\./, "$1.").replace("-", "−");
}

/** Two decimals, for logarithms: `−0.61`. */
export function logarithm(number) {
  return number.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
}

/** Format a column of numbers with equal decimals: three, or enough for four digits of the largest. */
export function column(numbers) {
  const largest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const digits = largest ? Math.min(Math.max(3, 3 - Math.floor(Math.log10(largest))), 9) : 3;
  return numbers.map((number) => number.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−"));
}

/** Format a probability; very small ones as `< .01`. */
export function probability(number) {
  return number < 0.005 ? "< .01" : decimal(number);
}

/** A number of things: `1 head`, `2 heads`. */
export function plural(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** An area that scrolls sideways, with a shadow at an edge where there is more; reachable by keyboard if it scrolls. */
export function scroller(name, dir, ...children) {
  const area = element("div", { class: "scrolls", dir }, children);
  const isReachable = area.querySelector("button, input, select, [tabindex]");
  const mark = () => {
    const [past, hidden] = [Math.abs(area.scrollLeft), area.scrollWidth - area.clientWidth];
    area.classList.toggle("more-before", past > 1);
    area.classList.toggle("more-after", hidden - past > 1);
    if (!isReachable && hidden > 1) {
      Object.entries({ tabindex: 0, role: "group", "aria-label": name }).forEach((one) => area.setAttribute(...one));
    }
  };
  area.addEventListener("scroll", mark);
  new ResizeObserver(mark).observe(area);
  return area;
}
