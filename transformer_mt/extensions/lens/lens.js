// The tab "When it knows": the model's guesses layer by layer, and the layer that decides each word.

import { times } from "./arithmetic.js";
import { decimal, direction, element, foreign, probability, replace, say, scroller } from "./dom.js";
import { drawAllOn } from "./heads.js";
import { roving } from "./keyboard.js";
import { legend, level } from "./shades.js";
import { addTab, ofPair } from "./tabs.js";

addTab({
  id: "lens",
  title: "When it knows",
  place: 40,
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
    const row = position.layers.map((guessed, layer) => {
      const cell = guess(position, guessed, layer + 1, { language, dir }, `cell ${place} ${layer}`);
      cells.set(cell, () => guesses(position, guessed, layer + 1, language));
      return cell;
    });
    const begun = position.words.filter((word) => !positions[place - 1]?.words.includes(word));
    const names = begun.map((word, place) => [place > 0 && " ", foreign(words[word].word, language, dir)]);
    return element("tr", {}, element("td", { class: "quiet" }, names),
      element("th", { scope: "row" }, foreign(position.token, language, dir)), row);
  });
  const heads = ["word", "writes", ...numbers.map((layer) => say`layer ${layer}`)];
  const caption = say`The model's guess if it ended after that layer, with its probability. ✓: the written token, here
    and after all later layers; the deciding layer has a frame; ${legend()}.`;
  const table = element("table", { class: "matrix lens" }, element("caption", { dir: "ltr" }, caption),
    element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, rows));
  for (const kind of ["focusin", "mouseover"]) {
    table.addEventListener(kind, ({ target }) => replace(more, cells.get(target.closest("td"))?.()));
  }
  const scrolled = scroller(caption, dir, roving(table, ".guess"));
  return [drawAllOn(without), scrolled, more, decided(words, numbers, { language, dir })];
}

function guess({ decided }, { guesses: [[token, likely]] }, layer, { language, dir }, place) {
  const mark = decided !== null && layer >= decided && "✓ ";
  const shown = [mark, foreign(token, language, dir), ` ${decimal(likely)}`];
  const kind = `guess shade-${level(likely)}${layer === decided ? " decided" : ""}`;
  return element("td", { class: kind, "data-place": place }, shown);
}

function guesses({ token }, { guesses: likeliest, probability: own }, layer, language) {
  const said = likeliest.map(([other, likely]) => [foreign(other, language), ` ${probability(likely)}, `]);
  return say`After layer ${layer}: ${said}…; the written token, ${foreign(token, language)}, has ${probability(own)}.`;
}

/** The words that each layer decides, and the words that are not the model's own choice. */
function decided(words, numbers, { language, dir }) {
  const items = [...numbers, null].map((layer) => {
    const found = words.filter((word) => word.decided === layer);
    const line = found.map(({ word }, place) => [place > 0 && " ", foreign(word, null, dir)]);
    const where = layer === null ? "Not the model's own choice" : say`Decided from layer ${layer} on`;
    return found.length > 0 && element("li", {}, where, ": ", element("bdi", { lang: language, dir }, line));
  });
  return element("ul", {}, items);
}
