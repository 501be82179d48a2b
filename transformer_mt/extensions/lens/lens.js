// The tab "When it knows": the model's guesses layer by layer, and the layer that decides each word.

import { times } from "./arithmetic.js";
import { decimal, direction, element, foreign, joined, probability, replace, say, scroller } from "./dom.js";
import { drawAllOn } from "./heads.js";
import { roving } from "./keyboard.js";
import { tableOf } from "./matrix.js";
import { legend, level } from "./shades.js";
import { addTab, ofPair } from "./tabs.js";

addTab({
  id: "lens", title: "When it knows", place: 40,
  questions: { lens: (now) => ofPair(now, "lens") },
  pictures: [["layers", ({ lens, run, without }) => [lens, run, without], drawLens]],
});

/** A row per token, a column per layer with its guess, from an answer of `lens`; then the words each layer decides. */
function drawLens({ layers, positions, words, target }, run, without) {
  const [language, dir] = [run.target_language, direction(target)];
  const numbers = times(layers, (layer) => layer + 1);
  const more = element("p", { class: "guesses" }, "Point at a guess to see the next likeliest ones.");
  const cells = new Map();
  const rows = positions.map((position, place) => {
    const guessed = numbers.map((layer) => guess(position, layer, { language, dir }, `cell ${place} ${layer - 1}`));
    guessed.forEach((cell, layer) => cells.set(cell, () => guesses(position, layer + 1, language)));
    const begun = position.words.filter((word) => !positions[place - 1]?.words.includes(word));
    return [element("td", { class: "quiet" }, inLine(begun.map((number) => words[number]), language, dir)),
      element("th", { scope: "row" }, foreign(position.token, language, dir)), guessed];
  });
  const heads = ["word", "writes", ...numbers.map((layer) => say`layer ${layer}`)];
  const caption = say`The model's guess if it ended after that layer, with its probability. ✓: the written token, here
    and after all later layers; the deciding layer has a frame; ${legend()}.`;
  const table = tableOf({ class: "matrix lens" }, element("caption", { dir: "ltr" }, caption), rows,
    heads.map((head) => element("th", { scope: "col" }, head)));
  for (const kind of ["focusin", "mouseover"]) {
    table.addEventListener(kind, ({ target }) => replace(more, cells.get(target.closest("td"))?.()));
  }
  const decided = [...numbers, null].map((layer) => {
    const found = words.filter((word) => word.decided === layer);
    const where = layer === null ? "Not the model's own choice" : say`Decided from layer ${layer} on`;
    return found.length > 0 &&
      element("li", {}, where, ": ", element("bdi", { lang: language, dir }, inLine(found, null, dir)));
  });
  const scrolled = scroller(caption, dir, roving(table, ".guess"));
  return [drawAllOn(without), scrolled, more, element("ul", {}, decided)];
}

const inLine = (words, language, dir) => joined(words.map(({ word }) => foreign(word, language, dir)), " ");

function guess({ decided, layers }, layer, { language, dir }, place) {
  const { guesses: [[token, likely]] } = layers[layer - 1];
  const mark = decided !== null && layer >= decided && "✓ ";
  const kind = `guess shade-${level(likely)}${layer === decided ? " decided" : ""}`;
  const shown = [mark, foreign(token, language, dir), ` ${decimal(likely)}`];
  return element("td", { class: kind, "data-place": place }, shown);
}

function guesses({ token, layers }, layer, language) {
  const { guesses: likeliest, probability: own } = layers[layer - 1];
  const said = likeliest.map(([other, likely]) => [foreign(other, language), ` ${probability(likely)}, `]);
  return say`After layer ${layer}: ${said}…; the written token, ${foreign(token, language)}, has ${probability(own)}.`;
}
