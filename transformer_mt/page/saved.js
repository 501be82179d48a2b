// In the page of one pair this stands in place of `server.js`: it gives saved answers, and switches off the rest.

import { element } from "./dom.js";

const SAVED = JSON.parse(document.getElementById("saved").textContent);
const NOTE = "Saved with tmt attend --html. Controls that need the model are off; use tmt serve for them.";
const NEEDS = "This needs the model: start tmt serve.";
const WITH_MODEL = "#source, #run, #beam, #explained-row, #explained-head, #tab-learning, .switch, .choice, .node, "
  + "[data-place=undo], [data-place='all on'], .several button";

/** Switch off whatever asks the model, also what is drawn later, and say so. */
export function prepare() {
  SAVED.filter(({ route }) => route === "attend").forEach(unpackWeights);
  SAVED.flatMap(({ answer }) => answer.stages ?? []).forEach(({ steps }) => steps.forEach(unpackStep));
  document.querySelector("main").prepend(element("p", { class: "quiet" }, NOTE));
  const switchOff = () => document.querySelectorAll(WITH_MODEL).forEach((one) => {
    one[one.matches("textarea") ? "readOnly" : "disabled"] = !one.matches("button"); // buttons stay in reach of keys
    one.setAttribute("aria-disabled", "true");
    one.title = NEEDS;
  });
  new MutationObserver(switchOff).observe(document.body, { childList: true, subtree: true });
  const stop = (event) => event.target.closest("[aria-disabled=true]") && event.stopImmediatePropagation();
  document.addEventListener("click", stop, true);
}

/** The answer to a question that agrees with what was asked for it. Throws an `Error` where there is none. */
export async function ask(route, question) {
  const agrees = ([key, value]) => JSON.stringify(question?.[key]) === JSON.stringify(value);
  const found = SAVED.find((saved) => saved.route === route && Object.entries(saved.asked).every(agrees));
  if (!found || found.answer.error) {
    throw new Error(found?.answer.error ?? NEEDS);
  }
  return found.answer;
}

/** A number of which `decimals` were kept, from the whole one that they make. Zero stays zero. */
function numberOf(whole, decimals, unit = 1) {
  return (Math.sign(whole) * (Math.abs(whole) + 0.5) * unit) / 10 ** decimals;
}

/** The weights of an answer of `attend`; those between words of one piece are in the one over pieces, before it. */
function unpackWeights({ asked, answer }, _, answers) {
  const ofPieces = answers.find((one) => one.asked.method === asked.method).answer.stacks;
  for (const [name, { rows, columns, weights, units, pieces }] of Object.entries(answer.stacks)) {
    answer.stacks[name].weights = weights.map((layer, i) => layer.map((matrix, j) => matrix && rows.map((_, row) => {
      const own = matrix[row].values();
      return columns.map((_, column) => {
        const same = pieces && ofPieces[name].weights[i][j][pieces[0][row]]?.[pieces[1][column]];
        const whole = same === undefined ? (own.next().value ?? null) : null;
        return whole === null ? (same ?? null) : numberOf(whole, 3, units[i][j]);
      });
    })));
  }
}

/** The numbers of a step of an answer of `explain`. */
function unpackStep(step) {
  const numbers = (values) => (Array.isArray(values) ? values.map(numbers) : numberOf(values, step.decimals));
  step.values = step.decimals === undefined ? step.values : numbers(step.values);
}
