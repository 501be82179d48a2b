// Arrow keys between elements that are one tab stop.

import { roving } from "/page/keyboard.js";
import { equal, press, test } from "./check.js";

// Positions of buttons, left and top, by name.
const PLACES = { a: [0, 0], b: [100, 4], c: [10, 40], d: [160, 60], e: [0, 200] };

/** Press keys at buttons; where the focus goes, and whether the key is left to the browser. */
function moves(keys, options = {}, more = {}) {
  const box = document.createElement("div");
  box.style.position = "relative";
  for (const [name, [left, top]] of Object.entries(PLACES)) {
    const button = Object.assign(document.createElement("button"), { id: name });
    Object.assign(button.style, { position: "absolute", left: `${left}px`, top: `${top}px` });
    Object.assign(button.style, { width: "20px", height: "20px" });
    box.append(button);
  }
  document.body.append(box);
  roving(box, "button", { current: box.querySelector("#b"), ...options });
  const entered = [...box.children].filter((one) => one.tabIndex === 0).map((one) => one.id);
  equal(entered, ["b"]);
  const found = keys.map(([from, key]) => {
    const [{ id }, isTaken] = press(box.querySelector(`#${from}`), key, more);
    return id + (isTaken ? "" : " left alone");
  });
  const stops = [...box.children].filter((one) => one.tabIndex === 0);
  equal(stops.map((one) => one.id), [document.activeElement.id]);
  box.remove();
  return found.join(" ");
}

const [LEFT, RIGHT, UP, DOWN] = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

test("arrow keys go to the nearest element", () => {
  equal(moves([["a", RIGHT], ["a", DOWN], ["c", RIGHT], ["d", UP], ["b", LEFT], ["c", UP]]), "b c b b a a");
  equal(moves([["a", UP], ["c", DOWN], ["e", DOWN], ["d", RIGHT]]), "a e e d");
});

test("in a line, left and right go to the previous and next element", () => {
  equal(moves([["a", RIGHT], ["b", RIGHT], ["e", LEFT], ["d", LEFT]], { line: true }), "b c d c");
  equal(moves([["a", DOWN], ["c", UP], ["a", LEFT], ["e", RIGHT]], { line: true }), "c a a e");
});

test("Home, End and Escape work, and other keys are left alone", () => {
  let left = 0;
  const leave = () => (left += 1);
  equal(moves([["c", "Home"], ["a", "End"], ["a", "x"]], { leave }), "a e a left alone");
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) {
    equal(moves([["a", RIGHT], ["a", "Escape"]], { leave }, { [modifier]: true }), "a left alone a left alone");
  }
  equal(left, 0);
  moves([["a", "Escape"]], { leave });
  equal(left, 1);
});
