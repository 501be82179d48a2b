// Where things are on the screen: narrow lines, areas that scroll, and sentences from right to left.

import { drawBeam, drawChoices } from "/page/choices.js";
import { element, scroller } from "/page/dom.js";
import { matrixTable, smallMatrix } from "/page/matrix.js";
import { pictureOfTable } from "/page/save.js";
import { linkedWords } from "/page/words.js";
import { all, attributes, close, equal, laidOut, picture, press, test, texts } from "./check.js";

const boxes = (within, selector) => all(within, selector).map((one) => one.getBoundingClientRect());
const lefts = (within, selector) => boxes(within, selector).map(({ left }) => left);
const line = (dir, ...words) => ({ words, language: "de", dir, name: "Line" });

/** Fail unless the elements are in this direction. */
function follow(within, selector, dir) {
  const found = lefts(within, selector);
  equal(found.length > 1, true);
  equal(found, found.toSorted((one, other) => (dir === "rtl" ? other - one : one - other)));
}

/** The x of the two ends of each curve. */
function ends(within, selector) {
  return all(within, selector).map((curve) => {
    const { left } = curve.ownerSVGElement.getBoundingClientRect();
    return [0, curve.getTotalLength()].map((length) => left + curve.getPointAtLength(length).x);
  });
}

const WORDS = "Der Hund wartet der Mann schläft der Vogel fällt der Baum wartet der Tisch schläft".split(" ");

test("wrapped lines are linked row by row", async () => {
  const lines = [line("ltr", ...WORDS), line("ltr", ...WORDS)];
  const links = WORDS.map((_, at) => ({ from: at, to: at, weight: 0.9 }));
  const drawing = linkedWords({ lines, links, name: "Links" });
  await laidOut(340, drawing, async (box) => {
    equal(attributes(box, ".linked", "class"), ["linked tight wrapped"]);
    const rowsOf = (side) => all(box, `${side} .word`).map(({ dataset }) => Number(dataset.row));
    const rows = [".above", ".below"].map(rowsOf);
    equal(rows[0], rows[0].toSorted());
    equal(rows[0], rows[1]);
    const count = rows[0].at(-1) + 1;
    equal([new Set(rows[0]).size, count > 1], [count, true]);
    const { right } = box.getBoundingClientRect();
    equal(boxes(box, ".word").filter((word) => word.right > right), []);
    // An upper row, the lower row under it, the next upper row, and so on.
    const tops = rows[0].map((_, at) => [".above", ".below"].map((side) => boxes(box, `${side} .word`)[at].top));
    const order = [...new Set(rows[0])].flatMap((row) => tops[rows[0].indexOf(row)]);
    equal(order, order.toSorted((one, other) => one - other));
    equal(all(box, ".link.far").length, 0);
    equal(boxes(box, ".link").filter(({ height }) => height >= 140), []);
    const [last] = press(box.querySelector(".below .word"), "End");
    equal(last === all(box, ".below .word").at(-1), true);
    box.style.width = "1200px";
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    equal(all(box, ".wrapped, .row-end").length, 0);
  });
});

test("links between different rows are far", async () => {
  const drawing = linkedWords({
    lines: [line("ltr", ...WORDS), line("ltr", ...WORDS)], links: [{ from: 0, to: 13, weight: 1 }], name: "Links",
  });
  await laidOut(340, drawing, (box) => equal(all(box, ".link.far").length, 1));
});

test("an area that scrolls shows where there is more, and is reachable", async () => {
  const area = (width) => scroller("a name", null, element("div", {}, element("p", {}, "x".repeat(width))));
  await laidOut(300, area(100), async (box) => {
    const [scrolls] = all(box, ".scrolls");
    const at = async (x) => {
      scrolls.scrollTo(x, 0);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return scrolls.className;
    };
    equal(await at(0), "scrolls more-after");
    equal(getComputedStyle(scrolls).boxShadow === "none", false);
    equal((await at(30)).split(" ").toSorted(), ["more-after", "more-before", "scrolls"]);
    equal(await at(9999), "scrolls more-before");
    equal([scrolls.tabIndex, scrolls.getAttribute("aria-label")], [0, "a name"]);
  });
  await laidOut(300, area(3), (box) => equal([box.firstChild.tabIndex, box.firstChild.className], [-1, "scrolls"]));
});

test("a table is saved as a picture with its texts and colours", async () => {
  const rows = { words: ["<b>&", "x"], language: "de", dir: "ltr" };
  const table = matrixTable({
    numbers: [[0.04, 0.96], [null, -0.5]], rows, columns: rows, scale: { largest: 1, unit: 1 }, caption: "A caption",
  });
  await laidOut(600, table, (box) => {
    const saved = new DOMParser().parseFromString(pictureOfTable(box.querySelector("table")), "image/svg+xml");
    equal(texts(saved, "text").toSorted(), [".04", ".96", "<b>&", "<b>&", "A caption", "x", "x", "·", "−.50"]);
    const caption = all(saved, "text").find((one) => one.textContent === "A caption");
    equal([caption.getAttribute("x"), caption.getAttribute("text-anchor")], ["0", null]);
    const fills = new Set(attributes(saved, "rect, text", "fill"));
    equal([fills.size >= 3, [...fills].every((fill) => fill.startsWith("rgb"))], [true, true]);
    const [text, cell] = [all(saved, "text").find((one) => one.textContent === ".96"), boxes(box, "tbody td")[1]];
    const { left } = box.querySelector("table").getBoundingClientRect();
    close([text.getAttribute("x")], [(cell.left + cell.right) / 2 - left], 0.01);
    equal(attributes(saved, "text[transform^='rotate(-90 ']", "fill").length, 2); // the turned heads
  });
});

// From right to left

const RUN = { source_language: "de", target_language: "ar", stacks: {}, methods: {} };
const TOKENS = ["▁كلب", "▁ينام", "▁هنا"];
const TRANSLATION = {
  translation: "كلب ينام هنا", tokens: TOKENS,
  alternatives: TOKENS.map((token) => ({ token, probability: 0.9, others: [["▁x", 0.1]] })),
  trace: { prefix: [], best: 2, nodes: TOKENS.map((token, at) =>
    ({ parent: at ? at - 1 : null, token, log_probability: -at, end: null, score: null })) },
};

test("words and their links follow the direction of their line", async () => {
  const lines = [line("rtl", ...TOKENS), line("ltr", "The", "dog", "sleeps")];
  const links = [{ from: 0, to: 0, weight: 1 }, { from: 2, to: 1, weight: 1 }];
  await laidOut(600, linkedWords({ lines, links, name: "Links" }), (box) => {
    follow(box, ".above .word", "rtl");
    follow(box, ".below .word", "ltr");
    const middlesOf = (side) => boxes(box, `${side} .word`).map(({ left, right }) => (left + right) / 2);
    const middles = [".above", ".below"].map(middlesOf);
    close(ends(box, ".link").flat(), links.flatMap(({ from, to }) => [middles[0][from], middles[1][to]]), 1);
  });
});

test("the columns of a matrix follow the direction of their sentence", async () => {
  const numbers = [[1, 0, 0], [0, 1, 0]];
  for (const dir of ["rtl", "ltr"]) {
    const [rows, columns] = [{ words: ["a", "b"], dir: "ltr" }, { words: TOKENS, dir }];
    const table = matrixTable({ numbers, rows, columns, scale: { largest: 1, unit: 1 }, caption: "A caption" });
    await laidOut(600, [table, smallMatrix(numbers, { largest: 1 }, dir)], (box) => {
      follow(box, "thead th", dir);
      follow(box, "tbody tr:first-child > *", dir); // the row begins with its label
      equal(lefts(box, "tbody tr:first-child td"), lefts(box, "thead th")); // a number is in the column of its word
      const mirrored = getComputedStyle(box.querySelector("svg.small")).transform;
      equal(mirrored, dir === "ltr" ? "none" : "matrix(-1, 0, 0, 1, 0, 0)");
    });
  }
});

test("tokens, the tree and the lens follow the direction of the translation", async () => {
  const choices = drawChoices(TRANSLATION, RUN, 0, { prefix: [], open() {}, go() {} });
  const layers = [1, 2].map(() => ({ probability: 1, guesses: [["x", 1]] }));
  const positions = TOKENS.map((token, at) => ({ token, words: [at], decided: 1, layers }));
  const lens = picture("layers", {
    layers: 2, positions, words: TOKENS.map((word) => ({ word, decided: 1 })), target: TRANSLATION.translation,
  }, RUN, []);
  await laidOut(900, [choices, drawBeam(TRANSLATION, RUN, {}), lens], (box) => {
    for (const selector of [".piece", ".start, .node.best", ".lens thead th"]) {
      follow(box, selector, "rtl");
    }
    equal(attributes(box, ".others", "dir"), ["rtl"]);
    const nodes = boxes(box, ".start, .node.best");
    close(ends(box, ".branch.best").flat(), nodes.slice(1).flatMap((node, at) => [nodes[at].left, node.right]), 1);
  });
});

test("the right arrow goes right", async () => {
  const numbers = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const side = { words: TOKENS, dir: "rtl" };
  const matrix = matrixTable({ numbers, rows: side, columns: side, scale: { largest: 1, unit: 1 }, caption: "" });
  const words = linkedWords({ lines: [line("rtl", ...TOKENS), line("ltr", "a", "b", "c")], links: [], name: "" });
  await laidOut(900, [matrix, words, drawBeam(TRANSLATION, RUN, {})], (box) => {
    for (const selector of ["tbody tr:nth-child(2) td", ".above .word", ".below .word", ".node.best"]) {
      const middle = all(box, selector)[1];
      for (const [key, sign] of [["ArrowRight", 1], ["ArrowLeft", -1]]) {
        const [next] = press(middle, key);
        equal(Math.sign(next.getBoundingClientRect().left - middle.getBoundingClientRect().left), sign);
      }
    }
  });
});

test("numbers keep their place in lines from right to left", async () => {
  const cell = element("table", { class: "matrix" }, element("tbody", {}, element("tr", {}, element("td"))));
  const parts = [element("span", { class: "number" }), element("span", { class: "below-word" }), cell];
  await laidOut(300, element("div", { dir: "rtl" }, parts), (box) => {
    for (const one of all(box, ".number, .below-word, td")) {
      const { direction, unicodeBidi } = getComputedStyle(one);
      equal([direction, unicodeBidi], ["ltr", "isolate"]);
    }
  });
});
