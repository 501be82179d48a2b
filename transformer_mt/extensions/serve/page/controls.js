// Sliders, choices, switches and buttons above a drawing that follows them.

import { short } from "./chart.js";
import { button, element, replace, visible } from "./dom.js";

const kept = {}; // the values of controls by picture, so that they survive redrawing

/**
 * Controls above a drawing that follows them: sliders, choices (`options`), switches, and buttons to the `next` number.
 * `draw(values, change)` gets their values, and a function that changes some of them.
 */
export function interactive(picture, fields, draw) {
  const values = kept[picture] ??= {};
  for (const { name, value, options } of fields) {
    const isKept = name in values && (!options || options.includes(values[name]));
    values[name] = isKept ? values[name] : value;
  }
  const shown = element("div", { class: "drawn" });
  const change = (patch) => {
    Object.assign(values, patch);
    replace(shown, draw(values, change));
  };
  change({});
  const controls = fields.map((field) =>
    element("span", { class: "control" }, control(picture, field, values, change)));
  return [fields.length > 0 && element("p", { class: "controls" }, controls), shown];
}

/** A field of a picture with its label: it shows its value among `values`, and calls `change` with a new one. */
export function control(picture, field, values, change) {
  const { name, label, min, max, step = 1, options, next, shown = short } = field;
  const id = `${picture}-${name}`;
  const named = element("label", { for: id }, label);
  const attributes = { id, "data-place": id };
  if (next) {
    return button(id, () => change({ [name]: values[name] + 1 }), {}, label);
  }
  if (options) {
    const all = options.map((one) => element("option", { value: one, selected: one === values[name] }, visible(one)));
    return selection(id, label, (value) => change({ [name]: value }), all);
  }
  if (min === undefined) {
    const onchange = ({ target }) => change({ [name]: target.checked });
    return [element("input", { ...attributes, type: "checkbox", checked: values[name], onchange }), named];
  }
  const said = element("output", { for: id }, shown(values[name]));
  const oninput = ({ target }) => {
    change({ [name]: target.valueAsNumber });
    said.textContent = shown(values[name]);
    target.ariaValueText = said.textContent;
  };
  const range = { type: "range", min, max, step, value: values[name], "aria-valuetext": shown(values[name]), oninput };
  return [named, element("input", { ...attributes, ...range }), said];
}

/** A choice among options with its label; `choose` gets the value of the chosen one. */
export function selection(id, label, choose, options = [], kind = null) {
  const attributes = { id, class: kind, "data-place": id, onchange: ({ target }) => choose(target.value) };
  return [element("label", { for: id }, label), element("select", attributes, options)];
}
