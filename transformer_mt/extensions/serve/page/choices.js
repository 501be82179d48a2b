// View 2: the alternatives at each token, and the tree of the beam.

import {
  button, compact, direction, element, fixed, foreign, probability, quiet, retold, say, scroller, shape, visible,
} from "./dom.js";
import { roving } from "./keyboard.js";
import { tabs } from "./tabs.js";
import { layCurves } from "./words.js";

/**
 * The tokens of a translation with their probabilities, and the likeliest others at the open `place`.
 *
 * `open(place)` opens and closes alternatives, `go(prefix)` continues a translation from tokens, `undo` reverts the
 * last of these. `prefix` are the chosen tokens. An extension may draw something beside each alternative.
 */
export function drawChoices(answer, run, place, { prefix, open, go, undo, ...asked }) {
  const dir = direction(answer.translation);
  const line = (answer.alternatives ?? []).map(({ token, probability: likely }, number) =>
    button(`piece ${number}`, () => open(number === place ? null : number), {
      class: number < prefix.length ? "piece chosen" : "piece", "aria-expanded": number === place,
    }, foreign(token, null, dir), element("span", { class: "below-word" }, probability(likely))));
  const language = run.target_language;
  const pieces = element("div", { class: "pieces", role: "group", "aria-label": "Tokens", lang: language, dir }, line);
  const position = place === null ? null : answer.alternatives?.[place];
  return [
    roving(pieces, ".piece", { line: true, current: line[place], leave: position && (() => open(null, place)) }),
    position && others(position, answer, place, { open, go, ...asked }, { run, language, dir }),
    element("p", { class: "actions" }, [
      button("undo", undo, { "aria-disabled": !prefix.length }, "Undo"),
      prefix.length > 0 && say` continued from ${foreign(prefix.join(" "), language)}`,
      !prefix.length && " Press a token to see alternatives; choose one to continue from there.",
    ]),
  ];
}

function others(position, answer, place, { open, go, ...asked }, { run, language, dir }) {
  const choices = [[position.token, position.probability], ...position.others];
  const before = answer.tokens.slice(0, place);
  const items = choices.map(([token, likely], number) => {
    const shown = compact(fixed(likely, likely < 0.01 ? 4 : 2));
    const choice = button(`choice ${number}`, () => go([...before, token], place), {
      class: "choice", "aria-current": number === 0 ? "true" : null,
    }, foreign(token, language, dir), " ", bar(likely), " ", element("span", { class: "number" }, shown));
    return element("li", {}, choice, " ", number > 0 && tabs.choices.besideOther?.(token, number, run, asked));
  });
  const list = element("ol", { class: "others", dir, "aria-label": say`Instead of ${visible(position.token)}` }, items);
  return roving(list, ".choice, .why", { line: true, leave: () => open(null, place) });
}

/** A bar that fills a share of its place. */
export function bar(share, kind = "") {
  const drawn = shape("rect", { class: `bar ${kind}`, width: Math.max(0.5, 100 * share), height: 10 });
  const size = { viewBox: "0 0 100 10", preserveAspectRatio: "none" };
  return shape("svg", { ...size, class: "bars", "aria-hidden": true }, drawn);
}

/** A bar per number, the longest for the largest; those below zero have another colour. */
export function bars(numbers) {
  const most = Math.max(...numbers.map(Math.abs)) || 1;
  return numbers.map((number) => bar(Math.abs(number) / most, number < 0 ? "against" : ""));
}

/** The tree of a beam search: a column per step; every node is a button that continues from there. */
export function drawBeam({ trace, translation }, run, { go }) {
  if (!trace) {
    return element("p", {}, "No search was run here, so there is no beam to show.");
  }
  const dir = direction(translation);
  const likeliest = [...trace.nodes.keys()].sort((one, other) =>
    trace.nodes[other].log_probability - trace.nodes[one].log_probability);
  const children = Map.groupBy(likeliest, (number) => trace.nodes[number].parent);
  const best = new Set(pathTo(trace, trace.best));
  const start = element("span", { class: "start" }, foreign(trace.prefix.join(" ") || "<s>", run.target_language));
  const ends = [];
  const visit = (parent, from, depth) => children.get(parent)?.forEach((number, place, { length }) => {
    const button = nodeButton(trace, number, { place, of: length, depth, isBest: best.has(number), dir }, go);
    button.style.gridColumn = depth;
    ends.push([from, button]);
    visit(number, button, depth + 1);
  });
  visit(null, start, 1);
  const buttons = ends.map(([, button]) => button);
  const isBest = (button) => button.ariaSelected === "true";
  const curves = buttons.map((to) => shape("path", { class: isBest(to) ? "branch best" : "branch" }));
  const drawing = shape("svg", { class: "branches", "aria-hidden": true }, curves);
  const name = "The beam, step by step";
  const tree = element("div", { class: "tree", role: "tree", "aria-label": name, lang: run.target_language }, buttons);
  const inner = element("div", { class: "grown" }, start, drawing, tree);
  roving(tree, ".node", { current: buttons.findLast(isBest) });
  new ResizeObserver(() => layCurves(inner, ends, curves, true)).observe(inner);
  return [
    quiet("The beam at each step, likeliest first, with ln p so far. The marked path is the "
      + "translation. Dashed ends were dropped from the beam, or beaten: they could no longer win."),
    scroller(name, dir, inner),
  ];
}

function nodeButton(trace, number, { place, of, depth, isBest, dir }, go) {
  const { token, log_probability: total, end, score } = trace.nodes[number];
  const said = end === "ended" ? say`, ended with score ${fixed(score, 2)}` : end ? `, ${retold(end)}` : "";
  const attributes = {
    role: "treeitem", class: ["node", end, isBest && "best"].filter(Boolean).join(" "), "aria-selected": isBest,
    "aria-level": depth, "aria-posinset": place + 1, "aria-setsize": of, title: `ln p ${fixed(total, 2)}${said}`,
  };
  const choose = () => go([...trace.prefix, ...pathTo(trace, number).map((one) => trace.nodes[one].token)]);
  const sum = element("span", { class: "number" }, fixed(total, 2),
    end === "ended" && say` (score ${fixed(score, 2)})`);
  return button(`node ${number}`, choose, attributes, foreign(token, null, dir), " ", sum);
}

/** The numbers of the nodes from the root to a node, itself included. */
const pathTo = (trace, number) => number === null ? [] : [...pathTo(trace, trace.nodes[number].parent), number];
