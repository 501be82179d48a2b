// The whole machine: encoder and decoder, with the tokens of the sentence, or as a small map with one part lit.

import { element, foreign, plural, say, translated } from "./dom.js";

const STACKED = ["encoder layers", "decoder layers"];
const INSIDE = [
  ["feed-forward", null, "self-attention"], ["feed-forward", "cross-attention", "masked self-attention"],
];

/** The drawing for a sentence and its translation, from answers of `attend` over tokens and of `translate`. */
export function drawTransformer({ pieces, translation, run, part }) {
  const { encoder, decoder, cross } = run.stacks;
  if (!encoder || !decoder || !cross) {
    return element("p", {}, "This model is not a Transformer with an encoder and a decoder. Choose another run above.");
  }
  const { columns } = pieces.stacks.encoder ?? pieces.stacks.cross;
  const stacks = Object.entries({ encoder, decoder }).map(([stack, layers]) =>
    `${translated(stack)}: ${plural(layers.length, "layer")}`);
  const name = "Encoder and decoder of the model, with their tokens";
  return element("figure", { class: "machine" },
    element("div", { class: "boxes", role: "img", "aria-label": name },
      element("span", {}, "writes →"), tokens(translation.tokens), drawBoxes(stacks, part),
      element("span", {}, "reads"), element("span", {}, "has read"),
      tokens(columns), tokens(["<s>", ...translation.tokens.slice(0, -1)])),
    element("figcaption", {}, say`From bottom to top. ▁ marks the start of a word: a token is a word or a part of one.
      The decoder writes one token at a time and reads it in the next step. Each attention has
      ${plural(Math.max(...cross.map((heads) => heads.length)), "head")}.`));
}

/** The small map; `part` is in the names of the boxes to light up. */
export function drawMap(part) {
  return element("figure", { class: "machine map" },
    element("div", { class: "boxes", "aria-hidden": true }, drawBoxes(STACKED, part)),
    element("figcaption", {}, foreign(translated(part))));
}

/** From the softmax down through the layers, with texts for their `stacks`, to the embeddings. */
function drawBoxes(stacks, part) {
  const box = (kind, name, text = name, ...inner) => {
    const isLit = part && name.includes(part);
    return element("div", { class: isLit ? `${kind} lit` : kind }, element("span", {}, text), inner);
  };
  return [
    element("div", { class: "wire" }, element("span", {}, "keys, values")), box("part", "softmax"),
    INSIDE.map((names, side) =>
      box("layers", STACKED[side], stacks[side], names.map((name) => name ? box("part", name) : element("div")))),
    INSIDE.map(() => box("part", "embedding + position")),
  ];
}

function tokens(texts) {
  return element("div", { class: "tokens" }, texts.map((text) => element("span", { class: "token" }, foreign(text))));
}
