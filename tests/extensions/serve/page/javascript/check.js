// Tests that run in the page: `test` collects them, `failures` runs them.

import { tabs } from "/page/tabs.js";

const tests = [];

/** Add a test; it fails by throwing. */
export function test(name, body) {
  tests.push([name, body]);
}

/** Run the tests that were added; the names and errors of those that fail. */
export async function failures() {
  const found = tests.length ? [] : ["there are no tests"];
  for (const [name, body] of tests.splice(0)) {
    try {
      await body();
    } catch (error) {
      found.push(`${name}: ${error.stack}`);
    }
  }
  return found;
}

/** Fail unless two values are the same as JSON. */
export function equal(found, expected) {
  const [one, other] = [found, expected].map((value) => JSON.stringify(value));
  if (one !== other) {
    throw new Error(`${one}\n  should be\n${other}`);
  }
}

/** Fail unless numbers are as expected, with this error at most. */
export function close(found, expected, error = 1e-9) {
  if (found.length !== expected.length || found.some((one, at) => !(Math.abs(one - expected[at]) <= error))) {
    throw new Error(`${found}\n  should be about\n${expected}`);
  }
}

/** An element with what a function of the page has drawn. */
export function drawn(...children) {
  const all = document.createElement("div");
  all.append(...children.flat(Infinity).filter((one) => one));
  return all;
}

/** What a tab draws in its picture of that id. */
export function picture(id, ...parts) {
  const every = Object.values(tabs).flatMap(({ pictures }) => pictures);
  return drawn(every.find(([own]) => own === id)[2](...parts));
}

export function all(within, selector) {
  return [...within.querySelectorAll(selector)];
}

export function texts(within, selector) {
  return all(within, selector).map((one) => one.textContent);
}

/** The attributes of each element: a list of values for each name, or the values of the only name. */
export function attributes(within, selector, ...names) {
  const found = all(within, selector).map((one) => names.map((name) => one.getAttribute(name)));
  return names.length > 1 ? found : found.flat();
}

/** Click each element, and return what the clicks added to `noted`. */
export function pressed(within, selector, noted) {
  all(within, selector).forEach((one) => one.click());
  return noted.splice(0);
}

/** Show children in a box of this many pixels until `check` has looked at them, drawn and laid out. */
export async function laidOut(width, children, check) {
  const box = drawn(children);
  box.style.width = `${width}px`;
  document.querySelector("main").prepend(box);
  await new Promise((done) => new ResizeObserver(() => requestAnimationFrame(done)).observe(box));
  try {
    await check(box);
  } finally {
    box.remove();
  }
}

/** Press a key at an element; the element with the focus then, and whether the browser ignores the key. */
export function press(one, key, more = {}) {
  one.focus();
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  document.activeElement.dispatchEvent(event);
  return [document.activeElement, event.defaultPrevented];
}
