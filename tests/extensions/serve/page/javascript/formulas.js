// Formulas in one line of text become MathML.

import { coloured, drawFormula, isAboutRoles } from "/page/formula.js";
import { drawn, equal, test, texts } from "./check.js";

/** A formula as nested names: `msup(K, T)`; a row is its parts with spaces. */
function written(one) {
  const parts = [...one.children].map(written);
  if (parts.length === 0) {
    return one.localName === "mspace" ? "_" : one.textContent;
  }
  const is = ["math", "mrow"].includes(one.localName);
  return is ? parts.join(" ") : `${one.localName}(${parts.join(", ")})`;
}

const of = (text, hasRoles = false) => written(drawFormula(text, hasRoles));

test("the subset", () => {
  for (const [text, expected] of [
    ["softmax(Q Kᵀ / √d) V", "softmax ( mfrac(Q msup(K, T), msqrt(d)) ) V"],
    ["softmax((QKᵀ)/√d_k)", "softmax ( mfrac(msup(Q K, T), msqrt(msub(d, k))) )"],
    ["q·k/√d", "mfrac(q · k, msqrt(d))"],
    ["(a + b)/(c)", "mfrac(a + b, c)"],
    ["y = x + a/2", "y = x + mfrac(a, 2)"],
    ["τ (q · k)/(|q| |k|)", "τ mfrac(q · k, | q | | k |)"],
    ["10000^(2t/D)", "msup(10000, mfrac(2 t, D))"],
    ["x² ≤ ∞", "msup(x, 2) ≤ ∞"],
    ["x_i^2 + pe₁₂ - aᵢⱼ", "msubsup(x, i, 2) + msub(pe, 12) − msub(a, ij)"],
    ["e_(i,2t+1)", "msub(e, i , 2 t + 1)"],
    ["Σ_(j=1)^n α_j v_j", "munderover(Σ, j = 1, n) msub(α, j) msub(v, j)"],
    ["exp(s_j)/Σ_k exp(s_k)", "mfrac(exp ( msub(s, j) ), munder(Σ, k) exp ( msub(s, k) ))"],
    ["rate = −log p", "rate _ = −log _ p".replace("−log", "− log")],
    ["√(x + 1) × 3.5", "msqrt(x + 1) × 3.5"],
    ["1,000 § </math>", "1,000 § < / math >".replace("< / math", "mfrac(<, math)")],
    ["(a", "( a"], ["a)", "a )"], ["/", "/"], ["x^", "msup(x, )"], ["", ""],
  ]) {
    equal([text, of(text)], [text, expected]);
  }
});

test("long, deep and hostile lines are text", () => {
  equal(drawFormula("(".repeat(501)).localName, "bdi");
  equal(drawFormula("√(".repeat(250)).localName, "math");
  equal(of("a\u202e\u0000<b>").includes("⟨U+202E⟩".slice(1, 2)), true);
});

test("queries, keys and values have their colours in formulas and texts", () => {
  const classes = (one) => [...one.querySelectorAll(".query, .key, .value")]
    .map((part) => `${part.className.baseVal ?? part.getAttribute("class")} ${part.textContent}`);
  equal(classes(drawFormula("softmax(Q Kᵀ) V_k", true)), ["query Q", "key K", "value V"]);
  equal(classes(drawFormula("QKᵀ", true)), ["query Q", "key K"]);
  equal(classes(drawFormula("q_k", false)), []);
  equal([["Q Kᵀ"], ["q_i"], ["W_k x", "seq Quantity"]].map(isAboutRoles), [true, true, false]);
  const text = drawn(coloured("Queries match keys; K is a monkey, Köpfe. Value", true));
  equal([classes(text), texts(text, "span")],
    [["query Queries", "key keys", "key K", "value Value"], ["Queries", "keys", "K", "Value"]]);
});

test("an index in a text is below the line", () => {
  for (const hasRoles of [false, true]) {
    const text = drawn(coloured("W_q and k_j, but training.token_masking", hasRoles));
    equal([text.textContent, texts(text, "sub")], ["Wq and kj, but training.token_masking", ["q", "j"]]);
  }
});
