// Drawings of small answers: their texts, numbers, attributes, and what pressing does.

import { drawBeam, drawChoices } from "/page/choices.js";
import { drawHead, drawHeads } from "/page/heads.js";
import { comparison, drawTranslation } from "/page/translation.js";
import { linkedWords, linksAsText } from "/page/words.js";
import { all, attributes, drawn, equal, picture, pressed, test, texts } from "./check.js";

const RUN = {
  source_language: "de", target_language: "en", stacks: { encoder: [[1, 2]], cross: [[1, 2]] },
  methods: { weights: { whole: false, meaning: "a weight" }, erasure: { whole: true, meaning: "a loss" } },
};
const noted = []; // what pressed buttons call
const note = (...of) => noted.push(of);

// Choices

const ANSWER = {
  alternatives: [
    { token: "▁The", probability: 0.8, others: [["▁A", 0.15], ["▁An", 0.0034]] },
    { token: "▁dog", probability: 0.003, others: [["▁cat", 0.5]] },
    { token: "</s>", probability: 1, others: [] },
  ],
  tokens: ["▁The", "▁dog"], translation: "The dog",
};
const choices = (place, more = {}, answer = ANSWER) =>
  drawn(drawChoices(answer, RUN, place, { prefix: [], open: note, go: note, ...more }));

test("alternatives have enough digits and bars", () => {
  const shown = choices(0, { prefix: ["▁The"] });
  equal(texts(shown, ".choice .number"), [".80", ".15", ".0034"]);
  equal(texts(shown, ".piece .below-word"), [".80", "< .01", "1.00"]);
  equal(attributes(shown, ".bar", "width"), ["80", "15", "0.5"]);
  equal(attributes(shown, ".piece", "class", "aria-expanded"),
    [["piece chosen", "true"], ["piece", "false"], ["piece", "false"]]);
  equal(attributes(shown, ".choice", "aria-current"), ["true", null, null]);
  equal(texts(shown, ".actions"), ["Undo continued from ▁The"]);
  equal(attributes(shown, ".actions button", "aria-disabled"), ["false"]);
  equal(texts(choices(null), ".actions"),
    ["Undo Press a token to see alternatives; choose one to continue from there."]);
  equal(attributes(choices(null), ".actions button", "aria-disabled"), ["true"]);
  equal(texts(choices(null), ".choice"), []);
  equal(texts(choices(null, {}, { tokens: [], translation: "" }), "li, .piece"), []);
});

test("pressed tokens open their alternatives, pressed alternatives continue from there", () => {
  equal(pressed(choices(1), ".piece, .choice", noted),
    [[0], [null], [2], [["▁The", "▁dog"], 1], [["▁The", "▁cat"], 1]]);
});

const CONTRAST = {
  from_source: { words: ["Der", "Hund"], gradient: [1, -4], erasure: [0.5, 2] },
  from_prefix: { words: ["The"], gradient: [2], erasure: [-1] },
  in_words: "After The, dog.",
};

test("a contrast has a signed bar per word and method", () => {
  const shown = choices(1, { against: "▁cat", contrast: CONTRAST });
  equal(texts(shown, ".contrast th:nth-child(2)"), ["gradient", "erasure"]);
  equal(texts(shown, ".contrast td:nth-child(2)"), ["1.00", "−4.00", "2.00", "0.50", "2.00", "−1.00"]);
  equal(attributes(shown, ".contrast .bar", "class", "width"), [
    ["bar ", "25"], ["bar against", "100"], ["bar ", "50"], ["bar ", "25"], ["bar ", "100"], ["bar against", "50"],
  ]);
  equal(texts(shown, ".contrast th bdi").slice(0, 3), ["Der", "Hund", "The"]);
  equal(attributes(shown, ".contrast th bdi", "lang").slice(0, 3), ["de", "de", "en"]);
  equal(texts(shown, ".contrast > p")[0], "After The, dog.");
  const { gradient: _, ...erasure } = CONTRAST.from_source;
  equal(texts(choices(1, { against: "▁cat", contrast: { ...CONTRAST, from_source: erasure } }), ".contrast th:nth-child(2)"),
    ["erasure"]);
});

test("every alternative can be asked about", () => {
  const shown = choices(0, { against: "▁An", problem: "a: wrong", change: ({ against }) => note(against) });
  equal(attributes(shown, ".why", "data-place", "aria-expanded", "aria-label"),
    [["why 1", "false", "why not? ▁A"], ["why 2", "true", "why not? ▁An"]]);
  equal(texts(shown, ".contrast"), ["a: wrong"]);
  equal(pressed(shown, ".why", noted), [["▁A"], [null]]);
});

test("a tree has the likeliest first in each step, and its nodes continue from there", () => {
  const nodes = [
    { parent: null, token: "▁A", log_probability: -2, end: "dropped", score: null },
    { parent: null, token: "▁The", log_probability: -0.5, end: null, score: null },
    { parent: 1, token: "▁cat", log_probability: -3.25, end: "beaten", score: null },
    { parent: 1, token: "</s>", log_probability: -1, end: "ended", score: -0.75 },
  ];
  const trace = { nodes, best: 3, prefix: ["▁Oh"] };
  const shown = drawn(drawBeam({ translation: "Oh The", trace }, RUN, { go: (prefix) => note(prefix.join(" ")) }));
  const names = ["data-place", "class", "aria-level", "aria-posinset", "aria-setsize", "aria-selected", "title"];
  equal(attributes(shown, ".node", ...names, "tabindex"), [
    ["node 1", "node best", "1", "1", "2", "true", "ln p −0.50", "-1"],
    ["node 3", "node ended best", "2", "1", "2", "true", "ln p −1.00, ended with score −0.75", "0"],
    ["node 2", "node beaten", "2", "2", "2", "false", "ln p −3.25, beaten", "-1"],
    ["node 0", "node dropped", "1", "2", "2", "false", "ln p −2.00, dropped", "-1"],
  ]);
  equal(all(shown, ".node").map(({ style }) => style.gridColumnStart), ["1", "2", "2", "1"]);
  equal(texts(shown, ".start"), ["▁Oh"]);
  equal(texts(shown, ".node .number"), ["−0.50", "−1.00 (score −0.75)", "−3.25", "−2.00"]);
  equal(attributes(shown, ".branch", "class"), ["branch best", "branch best", "branch", "branch"]);
  equal(pressed(shown, ".node", noted).flat(), ["▁Oh ▁The", "▁Oh ▁The </s>", "▁Oh ▁The ▁cat", "▁Oh ▁A"]);
  equal(drawn(drawBeam({ trace: null }, RUN, {})).textContent, "No search was run here, so there is no beam to show.");
});

// Heads

const LOSSES = { log_probability: -1, without: { "cross.1.1": -1.5, "cross.1.2": -0.75, "encoder.1.1": -1.001 } };
const CROSS = { weights: [[[[0.04, 0.96]], [[0.3, 0.7]]]], rows: ["x"], columns: ["a", "b"] };
const ENCODER = { weights: [[[[1, 0], [0.5, 0.5]], null]], rows: ["a", "b"], columns: ["a", "b"] };
const ATTENTION = { source: "a b", target: "x", method: "weights", stacks: { encoder: ENCODER, cross: CROSS } };
const ERASURE = { ...ATTENTION, method: "erasure", stacks: { cross: { ...CROSS, weights: [[[[0.1, 2.5]]]] } } };
const heads = (attention, { chosen = null, off = [], losses = null, run = RUN } = {}) =>
  drawn(drawHeads(attention, run, chosen, off, losses, { pick: note, flip: note }));
const head = (chosen, { attention = ATTENTION, off = [], losses = null, run = RUN } = {}) =>
  drawn(drawHead(attention, run, chosen, off, losses));

test("heads have names, switches and losses", () => {
  const shown = heads(ATTENTION, { chosen: "cross.1.2", off: ["encoder.1.2"], losses: LOSSES });
  const picks = [".pick", "data-place", "aria-pressed", "tabindex"];
  equal(attributes(shown, ...picks), [
    ["pick encoder.1.1", "false", "-1"], ["pick encoder.1.2", "false", "-1"], ["pick encoder.1.mean", "false", "-1"],
    ["pick cross.1.1", "false", "-1"], ["pick cross.1.2", "true", "0"], ["pick cross.1.mean", "false", "-1"],
  ]);
  equal(texts(shown, ".switch"), ["1.1 on", "1.2 off", "1.1 on", "1.2 on"]);
  equal(attributes(shown, ".switch", "aria-pressed"), ["true", "false", "true", "true"]);
  equal(texts(shown, ".loss"), ["ln p ±.00", "mean", "ln p −.50", "ln p +.25", "mean"]);
  equal(attributes(shown, ".layer", "aria-label"), ["Encoder self-attention, layer 1", "Cross-attention, layer 1"]);
  equal(texts(shown, ".empty"), ["off"]);
  equal(pressed(shown, ".cross button", noted).flat(),
    ["cross.1.1", "cross.1.1", "cross.1.2", "cross.1.2", "cross.1.mean"]);
  const whole = heads(ERASURE, { chosen: "cross.1.2", off: ["encoder.1.2"] });
  equal(texts(whole, ".stack .quiet"), ["whole model"]);
  equal(attributes(whole, ...picks), [["pick cross", "true", "0"]]);
  equal(texts(whole, ".switch"), []);
});

test("heads that are off are not drawn", () => {
  const off = ["cross.1.1", "cross.1.2"]; // the server still sends the matrices of a stack without any head
  equal(texts(heads(ATTENTION, { off }), ".cross .empty"), ["off", "off", "off"]);
  equal(texts(heads(ATTENTION, { off }), ".cross .pick svg"), []);
  for (const chosen of [...off, "cross.1.mean"]) {
    equal(head(chosen, { off }).textContent, `${chosen} is off.`);
  }
  equal(head("encoder.1.2", { off: ["encoder.1.2"] }).textContent, "encoder.1.2 is off.");
  const run = { ...RUN, stacks: { ...RUN.stacks, decoder: [[1, 2]] } };
  equal(head("decoder.1.2", { run }).textContent, "Choose a head above to see its numbers.");
});

test("the mean of a layer is over the heads that are on", () => {
  const mean = (off, attention = ATTENTION) => {
    const shown = head("cross.1.mean", { off, attention });
    return [texts(shown, ".matrix td[data-place]"), texts(shown, "caption")[0].split(". ").at(-1)];
  };
  equal(mean([]), [[".17", ".83"], "This is the mean of 2 heads."]);
  equal(mean(["cross.1.1"]), [[".30", ".70"], "This is the mean of 1 head."]);
  const masked = { ...ATTENTION, stacks: { cross: { ...CROSS, weights: [[[[null, 1]], [[null, 1]]]] } } };
  equal(mean([], masked)[0], ["·", "1.00"]);
});

test("matrices are titled by their method", () => {
  for (const [method, stack, title] of [
    ["weights", "cross", "Cross-attention"],
    ["erasure", "cross", "Erasure: translation against sentence"],
    ["gradient", "decoder", "Gradient: translation against itself"],
  ]) {
    const whole = method !== "weights";
    const run = { ...RUN, stacks: { [stack]: [[1]] }, methods: { [method]: { whole, meaning: "a number" } } };
    const attention = { ...ERASURE, method, stacks: { [stack]: ERASURE.stacks.cross } };
    equal(texts(heads(attention, { run }), ".stack h3"), [title]);
    const name = whole ? stack : `${stack}.1.1`;
    equal(texts(head(name, { attention, run }), "h3"), [whole ? title : name]);
    const named = whole ? title : `${title}, ${name}`;
    equal(texts(head(name, { attention, run }), "caption")[0].split(". ")[0], named);
  }
});

test("the importance of a head is described", () => {
  for (const [name, change] of [
    ["cross.1.1", "falls from .37 to .22; ln p from −1.00 to −1.50."],
    ["cross.1.2", "rises from .37 to .47; ln p from −1.00 to −0.75."],
    ["encoder.1.1", "stays at .37; ln p from −1.00 to −1.00."],
  ]) {
    const said = `Without ${name}, p of this translation ${change}`;
    equal(texts(head(name, { losses: LOSSES }), "p")[0], said);
    const other = texts(head(name, { losses: LOSSES, off: ["encoder.1.2"] }), "p")[0];
    equal(other, `${said} All other heads are on here.`);
  }
});

test("a head is drawn in its languages, with its shades and links", () => {
  const shown = head("cross.1.1");
  equal(attributes(shown, ".words", "lang"), ["de", "en"]);
  equal(attributes(head("encoder.1.1"), ".words", "lang"), ["de", "de"]);
  equal(texts(shown, "caption"),
    ["Cross-attention, cross.1.1. A number is a weight; shades from .05, .25, .50 and .75."]);
  equal(attributes(shown, ".matrix td[data-place]", "class", "data-place"),
    [["shade-0", "cell 0 0"], ["shade-4", "cell 0 1"]]);
  equal(attributes(shown, "path.link", "class"), ["link shade-4"]);
  equal(attributes(shown, "th", "scope", "lang"), [["col", "de"], ["col", "de"], ["row", "en"]]);
});

// Steps, lens, history

test("the effect of a head is a probability", () => {
  const said = (before, after) => {
    const choice = { of: "x", log_probability: before, without: { "cross.1.1": after, "cross.1.2": 0 } };
    const place = { stack: "cross", layer: 1, head: 1, row: 0, read: "y", token: "x" };
    const answer = { ...place, choice, in_words: [], stages: [] };
    return texts(picture("all-steps", answer, RUN, []), "p")[0].replace("Without cross.1.1, p of x ", "");
  };
  equal(said(-0.1, -0.5), "Of 2 heads this one matters most. falls from .90 to .61.");
  equal(said(-0.07, -0.1), "Of 2 heads none matters much alone. falls from .93 to .90.");
  equal(said(-0.1, -0.1), "Of 2 heads none matters much alone. stays at .90.");
  equal(said(-0.5, -0.1), "Of 2 heads none matters much alone. rises from .61 to .90.");
});

test("a long vector is abbreviated", () => {
  const over = { row: (values) => values, keys: (values) => [values, values] };
  for (const [values, entries] of [
    [[1, 2, 3, 4, 5, 6], "[1.000 2.000 3.000 4.000 5.000 6.000]"],
    [[1, 2, 3, 4, 5, 6, 7], "[1.000 2.000 3.000 4.000 … 7.000]"],
  ]) {
    for (const [kind, of] of Object.entries(over)) {
      const steps = [{ name: "a", words: "a vector", symbol: "v", formula: "", over: kind, values: of(values) }];
      const place = { stack: "cross", layer: 1, head: 1, row: 0, read: "y", token: "x", columns: ["x", "y"] };
      const answer = { ...place, in_words: [], stages: [{ title: "A: b", steps }] };
      const shown = texts(picture("all-steps", answer, RUN, []), ".entries");
      equal(shown, of(entries) === entries ? [entries] : [entries, entries]);
    }
  }
});

test("rows of zeros are only named, and a stage has the words of its main step", () => {
  const step = (name, symbol, values) => ({ name, symbol, values, words: `the ${name}: more`, formula: "", over: "keys" });
  const steps = [
    step("mask", "N", [true, false, true]), step("weights", "α", [0.9996, 0, 0.00001]),
    step("column_outputs", "o", [[1, 2], [0, 0], [0, 0.3]]), step("distances", "c", [0, 1, 0]),
  ];
  const place = { stack: "cross", layer: 1, head: 1, row: 0, read: "y", token: "x", columns: ["p", "q", "r"] };
  const shown = picture("all-steps", { ...place, in_words: [], stages: [{ title: "Name: what", steps }] }, RUN, []);
  equal(texts(shown, "summary"), ["1. The weights Name what"]);
  equal(texts(shown, ".stage tbody tr").map((text) => text.slice(0, 2)), ["0p", "2r", "0p", "2r", "0p", "1q", "2r"]);
  equal(texts(shown, ".stage > .quiet"), ["Zero in all digits shown: q", "Zero in all digits shown: q"]);
});

test("the lens has guesses, marks and the words that each layer decides", () => {
  const layers = [
    { probability: 0.003, guesses: [["▁A", 0.6], ["▁The", 0.003]] }, { probability: 0.8, guesses: [["▁The", 0.8]] },
  ];
  const positions = [
    { token: "▁The", words: [0], decided: 2, layers }, { token: "x", words: [0, 1], decided: null, layers },
    { token: "y", words: [1], decided: 1, layers },
  ];
  const words = [{ word: "The", decided: 2 }, { word: "dog", decided: null }];
  const shown = picture("layers", { layers: 2, positions, words, target: "The dog" }, RUN, ["cross.1.1"]);
  equal(texts(shown, ".guess"), ["▁A .60", "✓ ▁The .80", "▁A .60", "▁The .80", "✓ ▁A .60", "✓ ▁The .80"]);
  equal(attributes(shown, ".guess", "class").map((kind) => kind.replace("guess ", "")),
    ["shade-3", "shade-4 decided", "shade-3", "shade-4", "shade-3 decided", "shade-4"]);
  equal(texts(shown, "td.quiet"), ["The", "dog", ""]);
  equal(texts(shown, "li"), ["Decided from layer 2 on: The", "Not the model's own choice: dog"]);
  equal(texts(shown, "p")[0], "These numbers are with all heads on.");
  for (const kind of ["mouseover", "focusin"]) {
    all(shown, ".guess")[kind === "focusin" ? 1 : 0].dispatchEvent(new Event(kind, { bubbles: true }));
    equal(texts(shown, ".guesses")[0], kind === "focusin"
      ? "After layer 2: ▁The .80, …; the written token, ▁The, has .80."
      : "After layer 1: ▁A .60, ▁The < .01, …; the written token, ▁The, has < .01.");
  }
});

test("a checkpoint has its translation and loss", () => {
  const history = (translation, loss) => picture("history", { ...ATTENTION, step: 1500, loss, translation: "A dog." },
    { read: "Ein Hund.", translation }, RUN, null, { pick: note });
  equal(texts(history("A dog.", null), "h3")[0], "After step 1,500");
  equal(texts(history("A dog.", 1.23456), "h3")[0], "After step 1,500, loss on validation 1.235");
  equal(texts(history("A dog.", null), ".then"), ["It translated, as now: A dog."]);
  equal(texts(history("A cat.", null), ".then"), ["It translated: A dog."]);
  equal(texts(history("A cat.", null), ".then mark"), ["dog."]);
  equal(texts(history("A cat.", null), ".switch"), []);
  const without = picture("history", { step: 50, loss: null, translation: "A dog.", stacks: {} },
    { read: "Ein Hund.", translation: "A dog." }, { ...RUN, methods: {} }, null, { pick: note });
  equal(without.lastChild.textContent.startsWith("This model has no attention"), true);
  equal(texts(picture("checkpoints", { checkpoints: [150] }, { state: {} }), "code"),
    ["tmt train --set training.keep_checkpoints=weights"]);
  equal(picture("checkpoints", { checkpoints: [100, 150] }, { state: { checkpoint: null } }).textContent,
    "Checkpointstep 150");
});

// Words and links

const LINES = [
  { words: ["Kannst", "du"], language: "de", dir: "ltr", name: "Sentence" },
  { words: ["Can", "you"], marks: [{ mark: "doubtful", note: "doubtful", below: ".30?" }],
    language: "en", dir: "ltr", name: "Translation" },
];
const LINKS = [{ from: 0, to: 0, weight: 0.9 }, { from: 1, to: 0, weight: 0.1 }, { from: 1, to: 1, weight: 0.3 }];

test("linked words describe their links and notes", () => {
  const linked = { lines: LINES, links: LINKS, name: "Which", chosen: [1] };
  const shown = drawn(linkedWords(linked));
  equal(texts(shown, ".words span[hidden]"), ["Can .90", "Can .10, you .30", "doubtful; Kannst .90, du .10", "du .30"]);
  equal(attributes(shown, ".word", "class", "title", "aria-current", "tabindex"), [
    ["word", null, null, "0"], ["word", null, null, "-1"],
    ["word doubtful", "doubtful", null, "-1"], ["word", null, "true", "0"],
  ]);
  const notes = attributes(shown, ".words span[hidden]", "id");
  equal(attributes(shown, ".word", "aria-describedby"), notes);
  equal(new Set(notes).size, 4);
  equal(attributes(shown, ".link", "class"), ["link shade-4", "link shade-1", "link shade-2"]);
  equal(texts(shown, ".link-number"), [".90", ".10", ".30"]);
  equal(texts(shown, ".below-word"), [".30?"]);
  const scaled = drawn(linkedWords({ ...linked, scale: { largest: 2, unit: 0.1 } }));
  equal(texts(scaled, ".link-number"), ["9.00", "1.00", "3.00"]);
  equal(texts(scaled, ".words span[hidden]")[0], "Can 9.00");
  equal(texts(drawn(linksAsText(LINES, LINKS)), "li"), ["Can: Kannst .90, du .10", "you: du .30"]);
  equal(texts(drawn(linksAsText(LINES, LINKS.slice(0, 1))), "li"), ["Can: Kannst .90"]);
  equal(attributes(drawn(linksAsText(LINES, LINKS.slice(0, 1))), "li bdi", "lang"), ["en", "de"]);
});

test("punctuation takes the direction of its line", () => {
  const line = { words: ["كلب", "(", "3"], dir: "rtl", name: "" };
  const shown = drawn(linkedWords({ lines: [line, line], links: [], name: "" }));
  equal(attributes(shown, ".above bdi", "dir"), ["rtl", "rtl", "rtl"]);
});

// Translation

const TRANSLATED = {
  source: "kannst du", read: "Kannst du", lines: ["kannst du"],
  translation: "Can you", tokens: ["▁Can", "▁you"], token_words: [[0], [1]],
  log_probability: -1.25, score: -0.5, step: 700, doubtful: false, never_seen: ["DU"],
  alternatives: [
    { token: "▁Can", probability: 0.5 }, { token: "▁you", probability: 0.49 }, { token: "</s>", probability: 0.1 },
  ],
  alignment: {
    source_words: ["Kannst", "du"], target_words: ["Can", "you"],
    links: [[0, 0], [1, 1]], shares: [[0.9, 0.1], [0.2, 0.8]],
  },
};
const translation = (more, place = null) =>
  drawn(drawTranslation({ ...TRANSLATED, ...more }, RUN, place, { open: note, take: note, change: note }));

test("words may share a token or have several", () => {
  // 老师好 in four tokens: one shared by two words, and two for the last word.
  const shared = {
    translation: "老师好", tokens: ["▁", "老师", "<0xE5>", "<0xA5><0xBD>"], token_words: [[0], [0, 1], [2], [2]],
    alternatives: [1, 0.4, 0.6, 0.5].map((probability) => ({ token: "x", probability })),
    alignment: { source_words: ["hallo"], target_words: ["老", "师", "好"], links: [], shares: [] },
  };
  for (const [place, marked] of ["x..", "xx.", "..x", "..x", "..."].entries()) {
    const shown = translation(shared, place);
    equal(texts(shown, ".below-word"), [".40?", ".40?", ".30?"]);
    equal(attributes(shown, ".below .word", "aria-current"), [...marked].map((mark) => (mark === "x" ? "true" : null)));
  }
  equal(pressed(translation(shared), ".below .word", noted).flat(), [0, 1, 2]);
});

test("a translation has remarks and marks", () => {
  const shown = translation({}, 1);
  equal(texts(shown, ".remarks li"), [
    "Never seen in training, so copied or guessed: DU", "Read with capitals: Kannst du",
    "ln p −1.25, score −0.50, step 700",
  ]);
  const source = "kannst du? Ja.";
  equal(["Kannst du?", "kannst du ?", "Ja."].map((read) =>
    texts(translation({ read, source }), ".remarks").join().includes("Read with")), [true, false, false]);
  equal(attributes(shown, ".word", "class", "title", "aria-current"), [
    ["word", null, null], ["word unseen", "never seen in training", null],
    ["word", null, null], ["word doubtful", "doubtful: probability .49", "true"],
  ]);
  equal(texts(shown, ".below-word"), [".49?"]);
  equal(texts(shown, ".link-number"), [".90", ".80"]);
  equal(attributes(shown, ".remarks .warning bdi, .remarks li > bdi", "lang"), ["de", "de"]);
  equal([texts(shown, ".meanings strong"), attributes(shown, ".remarks span[title]", "title").length],
    [["ln p", "score", "step"], 3]);
  const plain = translation({ alignment: null, never_seen: null, read: "kannst du", doubtful: true });
  equal(texts(plain, ".words"), ["kannst du", "Can you"]);
  equal(attributes(plain, ".words bdi", "lang"), ["de", "en"]);
  equal(texts(plain, ".remarks li")[0], "The model gives this translation a low probability.");
  const lost = translation({ never_seen: [], remarks: { read_as_unknown: ["½", "北"] } });
  equal(texts(lost, ".remarks li")[0], "Characters without a token, lost: ½, 北");
});

test("a translation without heads is compared with the usual one", () => {
  const without = (usual) => translation({ usual, without: ["cross.1.1"], lines: ["kannst du", "ja"] });
  equal(texts(without("Can you"), ".remarks li")[0], "Without cross.1.1: the same as with all heads. Turn all on");
  equal(texts(without("May you"), ".remarks li")[0],
    "Without cross.1.1: Can you With all heads: May you Turn all on");
  equal(texts(without("May you"), ".compared mark"), ["Can", "May"]);
  equal(texts(without("May you"), ".several p"), ["The first of 2 sentences is shown. Choose one:"]);
  equal(pressed(without("May you"), ".several button, [data-place='all on']", noted).length, 3);
});

test("unmarked words are a longest common subsequence", () => {
  const subsequences = (text) =>
    [...text].reduce((found, one) => [...found, ...found.map((start) => start + one)], [""]);
  const words = ["", "a", "b", "c"].flatMap((one) => ["ab", "ca", "bba"].map((other) => other + one + other[0]));
  for (const own of words) {
    for (const other of words) {
      const shown = drawn(comparison([...own].join(" "), [...other].join(" "), "de"));
      const common = texts(shown, ".compared > bdi").join("");
      const shared = subsequences(own).filter((one) => subsequences(other).includes(one));
      equal([shared.includes(common), common.length], [true, Math.max(...shared.map(({ length }) => length))]);
    }
  }
});
