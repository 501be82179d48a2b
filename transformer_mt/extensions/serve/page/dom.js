// DOM helpers: elements from attributes and children, texts in the language of the page, safe display of untrusted
// text, short numbers. The English texts in the modules are the keys of the translations, as in gettext.

import { LANGUAGE } from "./language.js";

/** The code of the language, such as `de`; numbers follow it as well. */
export const LOCALE = LANGUAGE.code;
const TRANSLATIONS = new Map(Object.entries(LANGUAGE.texts ?? {}));
// Sentences with any values, `{0}`, or `{0:n}` for a number, as patterns.
const SENTENCES = Object.entries(LANGUAGE.sentences ?? {}).map(([english, own]) => [
  new RegExp(`^${english.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\d\}/g, "(.+?)")
    .replaceAll(/\{\d:n\}/g, "([\\d.,e+-]+)")}$`), own,
]);
const POINT = (0.5).toLocaleString(LOCALE).at(1);

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";
const SAID = ["aria-label", "aria-valuetext", "label", "title"];
// Cc: controls. Cf: format characters, such as direction overrides, but not those that scripts and emoji need and that
// do not reorder text. Cs: lone surrogates. Zl, Zp: line breaks.
const CONTROLS = /(?![\u200c\u200d\u00ad])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
// Runs of right-to-left letters, with SentencePiece's word mark and combining marks.
const FROM_RIGHT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const RUNS = new RegExp(`(▁?(?=\\p{L})[${FROM_RIGHT}]+)`, "u");
const IS_FROM_RIGHT = new RegExp(`^[${FROM_RIGHT}]`, "u");

/** A text in the language of the page, or the text itself; spaces around it stay. */
export function translated(text) {
  const inner = text.trim();
  return TRANSLATIONS.has(inner) ? text.replace(inner, () => TRANSLATIONS.get(inner)) : text;
}

/** A text with values: the key of say`layer ${2}` is `layer {0}`. With elements among the values, it is in parts. */
export function say(strings, ...values) {
  const key = strings.reduce((before, part, place) => `${before}{${place - 1}}${part}`).replaceAll(/\s+/g, " ");
  const parts = translated(key).split(/\{(\d)\}/).map((part, place) => (place % 2 ? values[part] : part));
  return values.some((one) => typeof one === "object") ? parts : parts.join("");
}

/** A number of things: `1 head`, `2 heads`. */
export const plural = (count, thing) => say(["", ` ${thing}${count === 1 ? "" : "s"}`], count);

/** A sentence of the server in the language of the page, part by part; unknown parts stay. */
export function retold(sentence) {
  const number = (text) => Number(text.replaceAll(",", "")).toLocaleString(LOCALE, { maximumSignificantDigits: 10 });
  return sentence.split(/(; |\.$)/).map((part) => {
    const [pattern, own] = SENTENCES.find(([one]) => one.test(part)) ?? [];
    return own ? part.replace(pattern, (_, ...values) => own.replaceAll(/\{(\d)(:n)?\}/g,
      (_, place, isNumber) => (isNumber ? number(values[place]) : values[place]))) : part;
  }).join("");
}

export const capitalised = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

/** Digits with the minus and the decimal point of the language. */
export const numeral = (digits) => digits.replaceAll("-", "−").replace(".", POINT);

/** Put the texts of the HTML into the language of the page. */
export function translatePage() {
  document.documentElement.lang = LOCALE;
  document.title = translated(document.title);
  for (const one of document.body.querySelectorAll(":not(script)")) {
    one.ariaLabel = one.ariaLabel && translated(one.ariaLabel);
    const texts = [...one.childNodes].filter((node) => node instanceof Text);
    texts.forEach((node) => (node.data = translated(node.data.replaceAll(/\s+/g, " "))));
  }
}

/**
 * Create an HTML element. Null and false attributes are left out; names starting with `on` are event listeners.
 *
 * Strings are texts of the page and get translated; for others, see `literal`.
 */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** Create a button that calls `onclick`; `place` identifies it for `replace`. */
export function button(place, onclick, attributes, ...children) {
  return element("button", { type: "button", "data-place": place, onclick, ...attributes }, ...children);
}

/** Create a paragraph that stays in the background. */
export const quiet = (...children) => element("p", { class: "quiet" }, children);

/** Items with a comma, or another text, between them. */
export const joined = (items, between = ", ") => items.map((one, place) => [place > 0 && between, one]);

/** Create a part that unfolds below a summary; `place` identifies it for `replace`. */
export function folded(place, summary, attributes, ...children) {
  return element("details", attributes, element("summary", { "data-place": place }, summary), children);
}

/** Create an SVG element, like `element`. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** Create a MathML element, like `element`, but from symbols, not texts. */
export function math(name, attributes = {}, ...children) {
  const symbols = children.flat().map((child) => (typeof child === "string" ? literal(child) : child));
  return filled(document.createElementNS(MATH, name), attributes, symbols);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) {
      node.addEventListener(key.slice(2), value);
    } else if (key.startsWith("aria-") && typeof value === "boolean") {
      node.setAttribute(key, String(value));
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? "" : SAID.includes(key) ? translated(value) : value);
    }
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "string" ? translated(child) : child));
}

/** Make control and reordering characters visible, as in the terminal: `␛`, `⟨U+202E⟩`. */
export function visible(text) {
  return text.replace(CONTROLS, (character) => {
    const code = character.codePointAt(0);
    const picture = code < 0x20 ? String.fromCodePoint(0x2400 + code) : code === 0x7f && "␡";
    return picture || `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Untrusted text that is only shown as it is, never translated. */
export const literal = (text) => new Text(visible(text));

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
  return element("bdi", { lang: language, dir: dir && direction(text, dir) }, literal(text));
}

/** Show a sentence of the server that contains untrusted words. */
export function mixed(sentence) {
  const parts = retold(sentence).split(RUNS).map((part, place) => (place % 2 ? foreign(part) : literal(part)));
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

/** Two decimals, without a zero before a point: `.42`, `−.31`, `1.00`; but `0,42`. */
export const decimal = (number) => compact(fixed(number, 2));

export const compact = (digits) => digits.replace(/^(−?)0\./, "$1.");

/** A number with so many decimals; no zero is negative. */
export const fixed = (number, digits) => numeral(number.toFixed(digits).replace(/^-(0\.0*)$/, "$1"));

/** Format a column of numbers with equal decimals: three, or enough for four digits of the largest. */
export function column(numbers) {
  const largest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const digits = largest ? Math.min(Math.max(3, 3 - Math.floor(Math.log10(largest))), 9) : 3;
  return numbers.map((number) => fixed(number, digits));
}

/** Format a probability; very small ones as `< .01`. */
export const probability = (number) => number < 0.005 ? `< ${decimal(0.01)}` : decimal(number);

/** An area that scrolls sideways, with a shadow at an edge where there is more; reachable by keyboard if it scrolls. */
export function scroller(name, dir, ...children) {
  const area = element("div", { class: "scrolls", dir }, children);
  const isReachable = area.querySelector("button, input, select, [tabindex]");
  const mark = () => {
    const [past, hidden] = [Math.abs(area.scrollLeft), area.scrollWidth - area.clientWidth];
    area.classList.toggle("more-before", past > 1);
    area.classList.toggle("more-after", hidden - past > 1);
    if (!isReachable && hidden > 1) {
      filled(area, { tabindex: 0, role: "group", "aria-label": name }, []);
    }
  };
  area.addEventListener("scroll", mark);
  new ResizeObserver(mark).observe(area);
  return area;
}
