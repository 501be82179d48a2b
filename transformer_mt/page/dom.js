// Elements made of attributes and children, text from strangers made safe to see, numbers in few characters.

const SVG = "http://www.w3.org/2000/svg";
// Cc: controls. Cf: among them the overrides that make text read backwards. Cs: halves of pairs. Zl, Zp: line breaks.
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Format characters that scripts and emoji need, and that move nothing.
const HARMLESS = "\u200c\u200d\u00ad";
// Letters of scripts that are read from right to left, each run with the mark of a word's beginning and with its marks.
const FROM_RIGHT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const RUNS = new RegExp(`(▁?(?=\\p{L})[${FROM_RIGHT}]+)`, "u");
const IS_FROM_RIGHT = new RegExp(`^[${FROM_RIGHT}]`, "u");

/** An HTML element. Attributes that are null or false are left out; one that begins with `on` is a listener. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** A button that calls `onclick` when it is pressed, at a place for `replace`. */
export function button(place, onclick, attributes, ...children) {
  return element("button", { type: "button", "data-place": place, onclick, ...attributes }, ...children);
}

/** An SVG element, in the same way. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
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

/** Text with every character visible that could reorder it, as the terminal shows it: `␛`, `⟨U+202E⟩`. */
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

/** The direction in which a text is read, `ltr` or `rtl`: that of its first letter, or without any the `usual` one. */
export function direction(text, usual = "ltr") {
  const [first] = text.match(/\p{L}/u) ?? [];
  return first ? (IS_FROM_RIGHT.test(first) ? "rtl" : "ltr") : usual;
}

/**
 * Text from a model, a corpus or the name of a run, which neither commands nor reorders what stands around it.
 *
 * A part of a line, such as a word, has the direction of the line, `dir`, where it has no letter of its own.
 */
export function foreign(text, language = null, dir = null) {
  return element("bdi", { lang: language, dir: dir && direction(text, dir) }, visible(text));
}

/** A sentence of the program with foreign words in it. */
export function mixed(sentence) {
  const parts = sentence.split(RUNS).map((part, place) => (place % 2 ? foreign(part) : visible(part)));
  return element("bdi", { dir: "ltr" }, parts);
}

/** Put other children into a container; what has the same `data-place` stays focused, or open or closed. */
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

/** Two digits after the point, and none before it where that is a zero: `.42`, `−.31`, `1.00`. */
export function decimal(number) {
  return number.toFixed(2).replace(/^-?0?\.00$/, ".00").replace(/^(-?)0\./, "$1.").replace("-", "−");
}

/** Two digits after the point, for logarithms: `−0.61`. */
export function logarithm(number) {
  return number.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
}

/** Numbers of a column with one count of digits after the point: three, or what gives the largest of them four. */
export function column(numbers) {
  const largest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const digits = largest ? Math.min(Math.max(3, 3 - Math.floor(Math.log10(largest))), 9) : 3;
  return numbers.map((number) => number.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−"));
}

/** A probability; the smallest ones as a bound. */
export function probability(number) {
  return number < 0.005 ? "< .01" : decimal(number);
}
