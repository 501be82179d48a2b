// Sliders, choices and switches above a drawing that follows them.

import { short } from "./chart.js";
import { element, replace, visible } from "./dom.js";

const kept = {}; // the values of controls by picture, so that they survive redrawing

/**
 * Controls above a drawing that follows them: sliders, choices (`options`) and switches.
 * `draw(values, change)` gets their values, and a function that changes some of them.
 */
export function interactive(picture, fields, draw) {
  const values = kept[picture] ??= Object.fromEntries(fields.map(({ name, value }) => [name, value]));
  const shown = element("div", { class: "drawn" });
  const change = (patch) => replace(shown, draw(Object.assign(values, patch), change));
  change({});
  const controls = fields.map(({ name, ...field }) => element("span", { class: "control" },
    control(`${picture}-${name}`, { ...field, value: values[name] }, (value) => change({ [name]: value }))));
  return [fields.length > 0 && element("p", { class: "controls" }, controls), shown];
}

/** A choice, a switch or a slider with its label: it shows its value, and calls `change` with a new one. */
export function control(id, { label, value, min, max, step = 1, options, shown = short }, change) {
  if (options) {
    const all = options.map((one) => element("option", { value: one, selected: one === value }, visible(one)));
    return selection(id, label, change, all);
  }
  const named = element("label", { for: id }, label);
  const attributes = { id, "data-place": id };
  if (min === undefined) {
    const onchange = ({ target }) => change(target.checked);
    return [element("input", { ...attributes, type: "checkbox", checked: value, onchange }), named];
  }
  const said = element("output", { for: id });
  const slider = element("input", { ...attributes, type: "range", min, max, step, value });
  const say = () => (slider.ariaValueText = said.textContent = shown(slider.valueAsNumber));
  say();
  slider.addEventListener("input", () => {
    say();
    change(slider.valueAsNumber);
  });
  return [named, slider, said];
}

/** A choice among options with its label; `choose` gets the value of the chosen one. */
export function selection(id, label, choose, options = [], kind = null) {
  const attributes = { id, class: kind, "data-place": id, onchange: ({ target }) => choose(target.value) };
  return [element("label", { for: id }, label), element("select", attributes, options)];
}
