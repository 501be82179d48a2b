// The whole machine: encoder and decoder, with the tokens of the sentence, or as a small map with one part lit.

import { element, foreign, literal, plural, say, shape, translated, visible } from "./dom.js";

// Sizes in units of the drawing: the columns, a box, all boxes, a row of tokens, and a letter.
const [WHOLE, COLUMN, GUTTER, BOX, BOXES, LINE, LETTER] = [344, 160, 24, 18, 141, 19, 7.8];
const LEFT = [0, COLUMN + GUTTER];
const LAYERS = { kind: "layers", inset: 0, height: 3 * (BOX + 5) + 16, down: 9 };
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
  const sources = rowsOf(pieces.stacks.encoder?.columns ?? pieces.stacks.cross.columns);
  const targets = [translation.tokens, ["<s>", ...translation.tokens.slice(0, -1)]].map(rowsOf);
  const boxes = targets[0].length * LINE + 8;
  const below = boxes + BOXES;
  const height = below + 16 + Math.max(sources.length, targets[1].length) * LINE;
  const stacks = Object.entries({ encoder, decoder }).map(([stack, layers]) =>
    `${translated(stack)}: ${plural(layers.length, "layer")}`);
  const name = "Encoder and decoder of the model, with their tokens";
  return element("figure", { class: "machine" },
    shape("svg", { class: "panel", viewBox: `0 0 ${WHOLE} ${height}`, role: "img", "aria-label": name },
      label(0, 4 + LINE / 2, "writes →"), tokens(targets[0], 1, 4), drawBoxes(boxes, stacks, part),
      label(0, below + 8, "reads"), label(1, below + 8, "has read"),
      tokens(sources, 0, below + 16), tokens(targets[1], 1, below + 16)),
    element("figcaption", {}, say`From bottom to top. ▁ marks the start of a word: a token is a word or a part of one.
      The decoder writes one token at a time and reads it in the next step. Each attention has
      ${plural(Math.max(...cross.map((heads) => heads.length)), "head")}.`));
}

/** The small map; `part` is in the names of the boxes to light up. */
export function drawMap(part) {
  return element("figure", { class: "machine map" },
    shape("svg", { viewBox: `0 0 ${WHOLE} ${BOXES}`, "aria-hidden": true }, drawBoxes(1, STACKED, part)),
    element("figcaption", {}, foreign(translated(part))));
}

/** From the softmax at `y` down through the layers, with texts for their `stacks`, to the embeddings. */
function drawBoxes(y, stacks, part) {
  const draw = (name, side, at, text = name, more = {}) =>
    box(text, side, at, { ...more, isLit: part && name.includes(part) });
  const layers = y + BOX + 8;
  const place = (number) => layers + 18 + number * (BOX + 5);
  const arrow = `M${COLUMN / 2} ${layers}v-8H${COLUMN + GUTTER / 2}V${place(1) + BOX / 2}h${GUTTER / 2 + 6}`;
  return [
    draw("softmax", 1, y),
    stacks.map((text, side) => draw(STACKED[side], side, layers, text, LAYERS)),
    INSIDE.map((names, side) => names.map((text, number) => text && draw(text, side, place(number)))),
    LEFT.map((_, side) => draw("embedding + position", side, place(3) + 6)),
    shape("path", { class: "branch", d: `${arrow}m-6 -4l6 4l-6 4` }),
    shape("text", { x: COLUMN / 2, y: layers - 16 }, "keys, values"),
  ];
}

function label(side, y, text) {
  return shape("text", { x: LEFT[side] + COLUMN / 2, y }, text);
}

/** A box with its text in the middle, or `down` from its upper edge. */
function box(text, side, y, { kind = "part", inset = 6, height = BOX, down = BOX / 2, isLit }) {
  const size = { x: LEFT[side] + inset, y, width: COLUMN - 2 * inset, height, rx: 4 };
  return [shape("rect", { class: isLit ? `${kind} lit` : kind, ...size }), label(side, y + down, text)];
}

/** Tokens in as many rows as they need. */
function rowsOf(texts) {
  const rows = [[]];
  let filled = 0;
  for (const text of texts.map(visible)) {
    const width = Math.min(COLUMN, LETTER * [...text].length + 6);
    if (filled + width > COLUMN) {
      rows.push([]);
      filled = 0;
    }
    rows.at(-1).push({ text, x: filled, width });
    filled += width + 3;
  }
  return rows;
}

function tokens(rows, side, y) {
  return rows.flatMap((row, down) => {
    const shift = LEFT[side] + (COLUMN - (row.at(-1)?.x ?? 0) - (row.at(-1)?.width ?? 0)) / 2;
    return row.map(({ text, x, width }) => [
      shape("rect", { class: "token", x: shift + x, y: y + down * LINE, width, height: LINE - 3, rx: 3 }),
      shape("text", { x: shift + x + width / 2, y: y + down * LINE + (LINE - 3) / 2 }, literal(text)),
    ]);
  });
}
