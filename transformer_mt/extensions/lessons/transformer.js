// The whole machine for the sentence of the page: encoder and decoder with the tokens that they read and write.

import { element, literal, plural, say, shape, translated, visible } from "./dom.js";

// Sizes in units of the drawing: the columns, a box, a row of tokens, and a letter.
const [WHOLE, COLUMN, GUTTER, BOX, LINE, LETTER] = [344, 160, 24, 18, 19, 7.8];
const LEFT = [0, COLUMN + GUTTER];
const LAYERS = { kind: "layers", inset: 0, height: 3 * (BOX + 5) + 16, down: 9 };

/** The drawing for a sentence and its translation, from answers of `attend` over tokens and of `translate`. */
export function drawTransformer(pieces, translation, run) {
  const { encoder, decoder, cross } = run.stacks;
  if (!encoder || !decoder || !cross) {
    return element("p", {}, "This model is not a Transformer with an encoder and a decoder. Choose another run above.");
  }
  const sources = rowsOf(pieces.stacks.encoder?.columns ?? pieces.stacks.cross.columns);
  const targets = [translation.tokens, ["<s>", ...translation.tokens.slice(0, -1)]].map(rowsOf);
  const drawn = [];
  // From the top: what is written, softmax, the layers, embeddings, what is read.
  let y = 4;
  const put = (height, draw) => {
    drawn.push(draw(y));
    y += height;
  };
  put(targets[0].length * LINE + 4, (at) => [label(0, at + LINE / 2, "writes →"), tokens(targets[0], 1, at)]);
  put(BOX + 8, (at) => box("softmax", 1, at));
  const layers = y;
  const boxes = [
    ["feed-forward", null, "self-attention"], ["feed-forward", "cross-attention", "masked self-attention"],
  ];
  put(3 * (BOX + 5) + 24, (at) => [encoder, decoder].map((stack, side) => [
    box(`${translated(["encoder", "decoder"][side])}: ${plural(stack.length, "layer")}`, side, at, LAYERS),
    boxes[side].map((text, place) => text && box(text, side, at + 18 + place * (BOX + 5))),
  ]));
  put(BOX + 4, (at) => LEFT.map((_, side) => box("embedding + position", side, at)));
  put(16, (at) => [label(0, at + 8, "reads"), label(1, at + 8, "has read")]);
  const rows = Math.max(sources.length, targets[1].length);
  put(rows * LINE, (at) => [tokens(sources, 0, at), tokens(targets[1], 1, at)]);
  const middle = layers + 18 + BOX + 5 + BOX / 2;
  const arrow = `M${COLUMN / 2} ${layers}v-8H${COLUMN + GUTTER / 2}V${middle}h${GUTTER / 2 + 6}m-6 -4l6 4l-6 4`;
  const name = "Encoder and decoder of the model, with their tokens";
  return element("figure", { class: "machine" },
    shape("svg", { class: "panel", viewBox: `0 0 ${WHOLE} ${y}`, role: "img", "aria-label": name },
      shape("path", { class: "branch", d: arrow }), shape("text", { x: COLUMN / 2, y: layers - 16 }, "keys, values"),
      drawn),
    element("figcaption", {}, say`From bottom to top. ▁ marks the start of a word: a token is a word or a part of one.
      The decoder writes one token at a time and reads it in the next step. Each attention has
      ${plural(Math.max(...cross.map((heads) => heads.length)), "head")}.`));
}

function label(side, y, text) {
  return shape("text", { x: LEFT[side] + COLUMN / 2, y }, text);
}

/** A box with its text in the middle, or `down` from its upper edge. */
function box(text, side, y, { kind = "part", inset = 6, height = BOX, down = BOX / 2 } = {}) {
  const size = { x: LEFT[side] + inset, y, width: COLUMN - 2 * inset, height, rx: 4 };
  return [shape("rect", { class: kind, ...size }), label(side, y + down, text)];
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
