// The tabs below the sentence: the page's own, and those that extensions add.

/** The tabs by id, each as in `addTab`. */
export const tabs = {};

/**
 * Add a tab, or add to the tab of that `id`: `{ id, title, place, questions, pictures, controls }`.
 *
 * `questions` are sent while the tab is open: for each answer in the state, a function from it to a route and its body,
 * or to nothing. `pictures` are elements of the tab: an id, a function from the state to the parts that it depends on,
 * and one from these and the page's actions to what it shows; it is empty while the first part is. `controls(actions)`
 * are above the pictures. `follow(state, actions)` is called at each change while the tab is open; what it returns is
 * changed as well. `place` orders the tabs. A tab that `needsModel` is off in a saved page.
 */
export function addTab({ id, questions = {}, pictures = [], ...more }) {
  const tab = tabs[id] ??= { id, questions: {}, pictures: [] };
  Object.assign(tab, more, { questions: { ...tab.questions, ...questions }, pictures: [...tab.pictures, ...pictures] });
}

/** A request about the sentence and its translation, if there is one. */
export function ofPair({ run, translation }, route, more = {}) {
  const is = translation?.translation;
  return is ? [route, { run: run.run, source: translation.read, target: translation.translation, ...more }] : null;
}
