// View 1: the sentence, its translation and their word links, unseen words, and doubtful words.

import { button, direction, element, fixed, folded, foreign, joined, probability, say, translated } from "./dom.js";
import { linkedWords, linksAsText } from "./words.js";

// A word with a lower probability is doubtful.
const DOUBTFUL = 0.5;
// What the numbers below the translation mean.
const MEANINGS = {
  "ln p": "the natural logarithm of the translation's probability. 0 is certain, −0.69 is one half.",
  score: "ln p divided by a penalty for length. The search takes the translation with the highest.",
  step: "how many updates of training this model has had.",
};

/**
 * The translation with its links and remarks, from an answer of `translate`.
 *
 * `place` is the token with open alternatives. Pressing a word of the translation calls `open` with its first token;
 * one of several sentences calls `take` with its text.
 */
export function drawTranslation(answer, run, place, { open, take, change }) {
  const languages = [run.source_language, run.target_language];
  return [
    answer.lines.length > 1 && severalSentences(answer.lines, languages[0], take),
    answer.alignment ? withLinks(answer, languages, place, open) : [answer.read, answer.translation].map((text, side) =>
      element("p", { class: "words", dir: direction(text) }, foreign(text, languages[side]))),
    folded("meanings", "What do ln p, score and step mean?", { class: "meanings" },
      Object.entries(MEANINGS).map(([name, meaning]) => element("p", {}, element("strong", {}, name), ": ", meaning))),
    element("ul", { class: "remarks" }, remarks(answer, languages, change)),
  ];
}

function severalSentences(lines, language, take) {
  const buttons = lines.map((line, number) =>
    element("li", {}, button(`line ${number}`, () => take(line), { lang: language }, foreign(line))));
  const said = say`The first of ${lines.length} sentences is shown. Choose one:`;
  return element("div", { class: "several" }, element("p", {}, said), element("ol", {}, buttons));
}

function withLinks(answer, languages, place, open) {
  const { source_words: sources, target_words: targets, shares, links } = answer.alignment;
  const positions = (answer.alternatives ?? []).slice(0, answer.tokens.length);
  const words = answer.token_words;
  const unseen = new Set((answer.never_seen ?? []).map((word) => word.toLowerCase()));
  const above = sources.map((word) =>
    unseen.has(word.toLowerCase()) ? { mark: "unseen", note: translated("never seen in training") } : null);
  const below = targets.map((_, place) => {
    const likely = positions.filter((_, token) => words[token].includes(place));
    const product = likely.reduce((all, one) => all * one.probability, 1);
    const number = probability(product);
    return product < DOUBTFUL
      ? { mark: "doubtful", note: say`doubtful: probability ${number}`, below: `${number}?` } : null;
  });
  const lines = [
    { words: sources, marks: above, language: languages[0], dir: direction(answer.read), name: "Sentence" },
    { words: targets, marks: below, language: languages[1], dir: direction(answer.translation), name: "Translation" },
  ];
  const weighed = links.map(([from, to]) => ({ from, to, weight: shares[to][from] }));
  const choose = (side, number) => {
    const token = words.findIndex((of) => side === 1 && of.includes(number));
    return token >= 0 && open(token);
  };
  const chosen = words[place] ?? [];
  return [
    linkedWords({ lines, links: weighed, name: "Word links", choose, chosen }),
    linksAsText(lines, weighed),
  ];
}

function remarks(answer, [source, target], change) {
  const [unseen, lost] = [answer.never_seen ?? [], answer.remarks?.read_as_unknown ?? []];
  const { usual, translation } = answer;
  const both = () => usual === translation ? "the same as with all heads." : [
    comparison(translation, usual, target), " With all heads: ", comparison(usual, translation, target),
  ];
  const totals = { "ln p": fixed(answer.log_probability, 2), score: fixed(answer.score, 2), step: `${answer.step}` };
  const total = Object.entries(totals).map(([name, number]) =>
    element("span", { title: MEANINGS[name] }, `${translated(name)} ${number}`));
  // Sentences and spaces may be separated in another way than they were typed.
  const letters = (text) => text.normalize().replaceAll(/\P{L}/gu, "");
  const warning = (...parts) => element("li", { class: "warning" }, parts);
  return [
    usual !== undefined &&
      element("li", {}, say`Without ${answer.without.join(", ")}: `, both(), " ", allOnButton(change)),
    answer.doubtful && warning("The model gives this translation a low probability."),
    unseen.length > 0 &&
      warning("Never seen in training, so copied or guessed: ", foreign(unseen.join(", "), source)),
    lost.length > 0 && warning("Characters without a token, lost: ", foreign(lost.join(", "), source)),
    !letters(answer.source).includes(letters(answer.read)) &&
      element("li", {}, "Read with capitals: ", foreign(answer.read, source)),
    element("li", { class: "quiet" }, joined(total)),
  ];
}

/** A button that turns all heads on. */
export const allOnButton = (change) => button("all on", () => change({ without: [] }), {}, "Turn all on");

/** A translation, with the words marked that differ from another one. */
export function comparison(own, other, language) {
  const words = own.split(" ");
  const kept = commonWords(words, other.split(" "));
  const marked = words.map((word, number) => kept.has(number) ? foreign(word) : element("mark", {}, foreign(word)));
  return element("bdi", { class: "compared", lang: language, dir: direction(own) }, joined(marked, " "));
}

/** The numbers of the words of `one` in a longest common subsequence with `other`. */
function commonWords(one, other) {
  let last = new Array(other.length + 1).fill([]); // for each start of `other`
  one.forEach((word, i) => {
    const next = [[]];
    other.forEach((same, j) => {
      const [without, before] = [last[j + 1], next[j]];
      next.push(word === same ? [...last[j], i] : without.length > before.length ? without : before);
    });
    last = next;
  });
  return new Set(last.at(-1));
}
