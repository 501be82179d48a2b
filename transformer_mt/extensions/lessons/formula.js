// Formulas in one line of text, as MathML: softmax(Q Kᵀ / √d) V. What the rules do not know stays text.

import { element, foreign, literal, math, visible } from "./dom.js";

// The parts of a line, after spaces: raised characters, lowered ones, words, numbers, and single characters.
const PARTS = /\s*(?:[⁰¹²³⁴-⁹⁺⁻ⁿⁱᵀ]+|[₀-₉₊₋ᵢ-ᵥₐ-ₜⱼ]+|(?:[\p{Lu}\p{Ll}\p{Lo}]\p{M}*′?)+|\d[\d,]*(?:\.\d+)?|\S)/gu;
const [RAISED, LOWERED] = [/^[\^⁰¹²³⁴-⁹⁺⁻ⁿⁱᵀ]/u, /^[_₀-₉₊₋ᵢ-ᵥₐ-ₜⱼ]/u];
const [WORD, NUMBER, LARGE, OPENS, CLOSES] = [/^\p{L}/u, /^\d/, /^[Σ∑Π∏]$/u, /^[([{]$/, /^[)\]}]$/];
const OPERATOR = /^[+\-−±·×=≠≈≤≥<>→∈∞,;:|‖∥…∂∇()[\]{}!*Σ∑Π∏]$/u;
// A fraction bar between spaces divides everything back to the last of these.
const ENDS = /^[+\-−±=≠≈≤≥<>→∈,;:|]$/u;
// The matrices of an attention layer and their rows have a colour each.
const ROLE_OF = { Q: "query", q: "query", K: "key", k: "key", V: "value", v: "value" };
const LONGEST = 500;
const ATTENDS = /(?<!\p{L})[Qq](?![\p{Ll}])/u;
// Words need a space, as in "log p".
const isWord = (one) => one.localName === "mi" && one.textContent.length > 1;
const SPOKEN = /(?<![\p{L}_])(quer(?:y|ies)|keys?|values?|[QKV])(?!\p{L})/iu;

/** A line of text as a formula, with the colours of queries, keys and values where `hasRoles`. */
export function drawFormula(text, hasRoles) {
  return text.length > LONGEST ? foreign(text)
    : math("math", { display: "block", class: "formula" }, row(lineOf(visible(text), hasRoles)));
}

/** Text with indices, as in W_o, and where `hasRoles` queries, keys and values in the colours of the formulas. */
export function coloured(text, hasRoles) {
  return hasRoles ? text.split(SPOKEN).flatMap((part, place) => place % 2
    ? element("span", { class: ROLE_OF[part[0]] }, part) : coloured(part))
    : text.split(/(?<!_)_([a-z])\b/).map((part, at) => at % 2 ? element("sub", {}, literal(part)) : literal(part));
}

/** True if these formulas are about queries, keys and values. */
export const isAboutRoles = (formulas) => formulas.some((one) => ATTENDS.test(one));

/** A line to read from its start: its parts, each with whether there is a space before it. */
function lineOf(text, hasRoles = false) {
  const parts = (text.match(PARTS) ?? []).map((part) => ({ text: part.trim(), isApart: /^\s/.test(part) }));
  return { parts, at: 0, hasRoles };
}

/** The next part; an empty one at the end. */
const next = ({ parts, at }) => parts[at] ?? { text: "", isApart: false };

/** The items up to a part at which `ends` is true, as one element; what is around a fraction bar is a fraction. */
function row(line, ends = /^$/) {
  const items = [];
  let tight = 0; // where the last part without spaces begins
  while (line.at < line.parts.length && !ends.test(next(line).text)) {
    const { text, isApart } = next(line);
    tight = isApart ? items.length : tight;
    if (text === "/" && items.length > 0) {
      line.at += 1;
      const last = items.findLastIndex((one) => ENDS.test(one.textContent)) + 1;
      const above = items.splice(Math.min(isApart ? last : Math.max(last, tight), items.length - 1));
      items.push(math("mfrac", {}, bare(above.length > 1 ? math("mrow", {}, above) : above[0]), bare(item(line))));
    } else {
      const [before, one] = [items.at(-1), item(line)];
      const isWide = isApart && before && (isWord(before) || isWord(one));
      items.push(...(isWide ? [math("mspace", { width: "0.3em" }), one] : [one]));
    }
  }
  return items.length === 1 ? items[0] : math("mrow", {}, items);
}

/** The next thing with its indices; a function takes its argument along, and a large sum what follows it. */
function item(line) {
  const { text } = next(line);
  const isLarge = LARGE.test(text);
  const base = indexed(line, atom(line), isLarge);
  const { text: after, isApart } = next(line);
  const takesMore = isLarge ? after : WORD.test(text) && text.length > 1 && after === "(" && !isApart;
  return takesMore ? math("mrow", {}, base, item(line)) : base;
}

function atom(line) {
  const { text } = next(line);
  line.at += 1;
  if (text === "√") {
    return math("msqrt", {}, bare(item(line)));
  }
  if (OPENS.test(text)) {
    const inner = row(line, CLOSES);
    const closing = next(line).text;
    line.at += 1;
    return math("mrow", { class: text === "(" && closing === ")" && "group" },
      math("mo", {}, text), inner, closing && math("mo", {}, closing));
  }
  if (WORD.test(text)) {
    const letters = /^[QKVWX]{2,}$/.test(text) ? [...text] : [text];
    const symbols = letters.map((one) => math("mi", { class: line.hasRoles && ROLE_OF[one] }, one));
    return symbols.length > 1 ? math("mrow", {}, symbols) : symbols[0];
  }
  const kind = NUMBER.test(text) ? "mn" : OPERATOR.test(text) ? "mo" : "mtext";
  return math(kind, {}, text === "-" ? "−" : text);
}

/** An element with the indices that follow it: raised and lowered characters, ^x and _x, ^(…) and _(…). */
function indexed(line, base, isLarge) {
  const [found, { hasRoles }] = [{}, line];
  for (;;) {
    const { text, isApart } = next(line);
    const side = isApart ? null : RAISED.test(text) ? "above" : LOWERED.test(text) ? "below" : null;
    if (!side || found[side]) {
      break;
    }
    line.at += 1;
    line.hasRoles = false;
    found[side] = /^[\^_]/.test(text) ? bare(atom(line)) : row(lineOf(text.normalize("NFKC")));
    line.hasRoles = hasRoles;
  }
  const { above, below } = found;
  const kinds = isLarge ? ["munderover", "mover", "munder"] : ["msubsup", "msup", "msub"];
  return above || below ? math(kinds[above && below ? 0 : above ? 1 : 2], {}, base, below, above) : base;
}

/** What is in parentheses, if that is all there is. */
const bare = (one) => one.getAttribute("class") === "group" ? one.children[1] : one;
