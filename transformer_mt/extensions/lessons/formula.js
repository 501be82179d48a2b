// Formulas in one line of text, as MathML: softmax(Q Kᵀ / √d) V. What the rules do not know stays text.

import { element, foreign, literal, math, visible } from "./dom.js";

// The parts of a line: raised characters, lowered ones, words, numbers, spaces, and single characters.
const PARTS = /[⁰¹²³⁴-⁹⁺⁻ⁿⁱᵀ]+|[₀-₉₊₋ᵢ-ᵥₐ-ₜⱼ]+|(?:[\p{Lu}\p{Ll}\p{Lo}]\p{M}*′?)+|\d[\d,]*(?:\.\d+)?|\s+|./gu;
const [RAISED, LOWERED] = [/^[⁰¹²³⁴-⁹⁺⁻ⁿⁱᵀ]/u, /^[₀-₉₊₋ᵢ-ᵥₐ-ₜⱼ]/u];
const [WORD, NUMBER, LARGE, OPENS, CLOSES] = [/^\p{L}/u, /^\d/, /^[Σ∑Π∏]$/u, /^[([{]$/, /^[)\]}]$/];
const OPERATOR = /^[+\-−±·×=≠≈≤≥<>→∈∞,;:|‖∥…∂∇()[\]{}!*]$/u;
// A fraction bar between spaces divides everything back to the last of these.
const ENDS = /^[+\-−±=≠≈≤≥<>→∈,;:|]$/u;
// The matrices of an attention layer and their rows have a colour each.
const ROLE_OF = { Q: "query", q: "query", K: "key", k: "key", V: "value", v: "value" };
const LONGEST = 500;
const ATTENDS = /(?<!\p{L})[Qq](?![\p{Ll}])/u;
// Words need a space, as in "log p".
const isWord = (one) => one?.localName === "mi" && one.textContent.length > 1;
const SPOKEN = /(?<![\p{L}_])(quer(?:y|ies)|keys?|values?|[QKV])(?!\p{L})/iu;

/** A line of text as a formula, with the colours of queries, keys and values where `hasRoles`. */
export function drawFormula(text, hasRoles) {
  if (text.length > LONGEST) {
    return foreign(text);
  }
  const parts = visible(text).match(PARTS) ?? [];
  return math("math", { display: "block", class: "formula" },
    row({ parts, at: 0, hasRoles }, () => false));
}

/** Text with indices, as in W_o, and where `hasRoles` queries, keys and values in the colours of the formulas. */
export function coloured(text, hasRoles) {
  return hasRoles ? text.split(SPOKEN).flatMap((part, place) => place % 2
    ? element("span", { class: ROLE_OF[part[0]] }, part) : coloured(part))
    : text.split(/(?<!_)_([a-z])\b/).map((part, at) => at % 2 ? element("sub", {}, literal(part)) : literal(part));
}

/** True if these formulas are about queries, keys and values. */
export function isAboutRoles(formulas) {
  return formulas.some((one) => ATTENDS.test(one));
}

/** The items up to a part at which `ends` is true, as one element; what is around a fraction bar is a fraction. */
function row(line, ends) {
  const items = [];
  let tight = 0; // where the last part without spaces begins
  while (line.at < line.parts.length && !ends(line.parts[line.at])) {
    const isSpaced = /^\s/.test(line.parts[line.at - 1] ?? "");
    if (line.parts[line.at] === "/" && items.length > 0) {
      line.at += 1;
      const last = items.findLastIndex((one) => ENDS.test(one.textContent)) + 1;
      const above = items.splice(Math.min(isSpaced ? last : Math.max(last, tight), items.length - 1));
      skip(line);
      items.push(math("mfrac", {}, bare(above.length > 1 ? math("mrow", {}, above) : above[0]), bare(item(line))));
    } else if (skip(line)) {
      tight = items.length;
    } else {
      const next = item(line);
      const isApart = tight === items.length && tight > 0 && (isWord(items.at(-1)) || isWord(next));
      items.push(...(isApart ? [math("mspace", { width: "0.3em" }), next] : [next]));
    }
  }
  return items.length === 1 ? items[0] : math("mrow", {}, items);
}

/** Go past a space; true if there was one. */
function skip(line) {
  const is = /^\s/.test(line.parts[line.at] ?? "");
  line.at += is ? 1 : 0;
  return is;
}

/** The next thing with its indices; a function takes its argument along, and a large sum what follows it. */
function item(line) {
  const name = line.parts[line.at] ?? "";
  const isLarge = LARGE.test(name);
  const base = indexed(line, atom(line), isLarge);
  const next = line.parts[line.at];
  if (isLarge ? !next : !(WORD.test(name) && name.length > 1 && next === "(")) {
    return base;
  }
  skip(line);
  return math("mrow", {}, base, item(line));
}

function atom(line) {
  const part = line.parts[line.at] ?? "";
  line.at += 1;
  if (part === "√") {
    return math("msqrt", {}, bare(item(line)));
  }
  if (OPENS.test(part)) {
    const inner = row(line, (one) => CLOSES.test(one));
    const closing = line.parts[line.at] ?? "";
    line.at += 1;
    return math("mrow", { class: part === "(" && closing === ")" && "group" },
      math("mo", {}, part), inner, closing && math("mo", {}, closing));
  }
  if (WORD.test(part)) {
    const role = line.hasRoles && !line.isIndex && ROLE_OF[part];
    return /^[QKVWX]{2,}$/.test(part)
      ? math("mrow", {}, [...part].map((one) => math("mi", { class: line.hasRoles && ROLE_OF[one] }, one)))
      : math("mi", { class: role }, part);
  }
  const kind = NUMBER.test(part) ? "mn" : OPERATOR.test(part) || LARGE.test(part) ? "mo" : "mtext";
  return math(kind, {}, part === "-" ? "−" : part);
}

/** An element with the indices that follow it: raised and lowered characters, ^x and _x, ^(…) and _(…). */
function indexed(line, base, isLarge) {
  const [found, before] = [{}, line.isIndex];
  for (;;) {
    const part = line.parts[line.at] ?? "";
    const side = RAISED.test(part) || part === "^" ? "above" : LOWERED.test(part) || part === "_" ? "below" : null;
    if (!side || found[side]) {
      break;
    }
    line.at += 1;
    line.isIndex = true;
    const plain = part.normalize("NFKC");
    found[side] = part === "^" || part === "_"
      ? bare(atom(line))
      : row({ parts: plain.match(PARTS), at: 0, isIndex: true }, () => false);
    line.isIndex = before;
  }
  const { above, below } = found;
  const kinds = isLarge ? ["munderover", "mover", "munder"] : ["msubsup", "msup", "msub"];
  return above || below
    ? math(kinds[above && below ? 0 : above ? 1 : 2], {}, base, below, above)
    : base;
}

/** What is in parentheses, if that is all there is. */
function bare(one) {
  return one.getAttribute("class") === "group" ? one.children[1] : one;
}
