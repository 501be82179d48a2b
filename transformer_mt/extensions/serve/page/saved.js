// Replaces `server.js` in a saved page: returns saved answers and disables controls that need the model.

import { byId, quiet, translated } from "./dom.js";
import { tabs } from "./tabs.js";

const NOTE = "Saved with tmt. Controls that need the model are off; use tmt serve for them.";
const NEEDS_MODEL = "This needs the model: start tmt serve.";
const WITH_MODEL = "#source, #run, #beam, .needs-model, "
  + "#copy-link, #show-code, #save-page, .example, .switch, .choice, .node, "
  + "[data-place=undo], [data-place='all on'], .several button";

export const isLive = false;
export const withKey = (address) => address;
let saved = [];

/** Unpack the answers; disable all controls that need the model, also those drawn later, and show a note. */
export async function prepare() {
  const bytes = Uint8Array.from(atob(byId("saved").textContent), (one) => one.charCodeAt(0));
  saved = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const [{ beginning }] = saved.find(({ route }) => route === "runs").answer.runs;
  tabs[beginning.view].needsModel = false; // it has its answers
  document.querySelector("main").prepend(quiet(NOTE));
  const switchOff = () => document.querySelectorAll(WITH_MODEL).forEach((one) => {
    one[one.matches("textarea") ? "readOnly" : "disabled"] = !one.matches("button"); // buttons stay focusable
    one.setAttribute("aria-disabled", "true");
    one.title = translated(NEEDS_MODEL);
  });
  new MutationObserver(switchOff).observe(document.body, { childList: true, subtree: true });
  const stop = (event) => event.target.closest("[aria-disabled=true]") && event.stopImmediatePropagation();
  document.addEventListener("click", stop, true);
}

/** The saved answer that matches a request. Throws an `Error` if there is none. */
export async function ask(route, question) {
  const agrees = ([key, value]) => JSON.stringify(question?.[key]) === JSON.stringify(value);
  const found = saved.find((one) => one.route === route && Object.entries(one.asked).every(agrees));
  if (!found || found.answer.error) {
    throw new Error(found?.answer.error ?? NEEDS_MODEL);
  }
  return route === "attend" ? separated(found.answer, Number(question.words)) : found.answer;
}

/** Split a combined answer of `attend`: the part over tokens (0) or over words (1). */
function separated({ both, weights }, which) {
  const stacks = Object.entries(both[which].stacks).map(([name, maps]) => [
    name,
    { ...maps, weights: weights[name].map((layer) => layer.map((matrices) => matrices[which])) },
  ]);
  return { ...both[which], stacks: Object.fromEntries(stacks) };
}
