// The state in the address, after the #, so that a link shows what you see. Without the key, except in a copied link.

import { isLive } from "./server.js";

const CHOICE = "tmt run";
// Milliseconds from a change to a new address: browsers allow few.
const APART = 400;
// Keys in the address, and how a value of the state is written; null leaves it out.
const WRITTEN = {
  run: ({ run }) => run?.run.toWellFormed(),
  source: ({ source, run }) => source && source !== run?.example && source.toWellFormed(),
  view: ({ view }) => view !== "choices" && view,
  head: ({ head }) => head,
  method: ({ method }) => method !== "weights" && method,
  unit: ({ words }) => !words && "tokens",
  without: ({ without }) => without.join(),
  stop: ({ stop }) => stop,
  class: ({ isClass }) => isClass && "1",
};

let waiting = null;
let known = null; // the address that was read or written last

/** The address of the page with a state, without the key. */
export function addressOf(state) {
  const found = Object.entries(WRITTEN).map(([key, of]) => [key, of(state)]).filter(([, value]) => value);
  return `${location.origin}${location.pathname}#${new URLSearchParams(found)}`;
}

/** Put the state into the address once it has not changed for a moment, unless the user has just done so. */
export function keepAddress(state) {
  clearTimeout(waiting);
  waiting = isLive && setTimeout(() => {
    if (location.href === known) {
      history.replaceState(null, "", addressOf(state));
      known = location.href;
    }
  }, APART);
}

/** The choices in the address, as parts of the state; whether they make sense is for the page to check. */
export function readAddress() {
  known = location.href;
  const choices = location.hash.includes("=") ? location.hash.slice(1) : ""; // else the id of an element
  const found = Object.fromEntries(new URLSearchParams(choices));
  const stop = /^[1-9]\d{0,3}$/.test(found.stop) ? Number(found.stop) : null;
  return {
    ...found,
    stop,
    entered: found.source || found.head ? stop : null, // the address chooses, not the stop
    words: found.unit !== "tokens",
    without: found.without ? found.without.split(",") : [],
    isClass: found.class === "1",
  };
}

/** The run chosen last in this browser, from now on `chosen`; null if the browser keeps nothing. */
export function lastRun(chosen = null) {
  try {
    if (chosen !== null) {
      localStorage.setItem(CHOICE, chosen);
    }
    return localStorage.getItem(CHOICE);
  } catch {
    return null;
  }
}
