// Roving tabindex: one tab stop for many elements, with arrow keys between them.

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Make the elements of a container that match the selector a single tab stop.
 *
 * Arrow keys move to the nearest element in that direction. With `line`, left and right move to the previous and next
 * element, also across rows, and the other way round in right-to-left text. Home and End move to the first and last.
 * Tab enters at `current`; Escape calls `leave`.
 */
export function roving(container, selector, { line = false, current = null, leave = () => {} } = {}) {
  const all = [...container.querySelectorAll(selector)];
  const enter = (one) => all.forEach((other) => (other.tabIndex = other === one ? 0 : -1));
  enter(current ?? all[0]);
  container.addEventListener("focusin", ({ target }) => all.includes(target) && enter(target));
  container.addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, altKey, metaKey } = event;
    if (ctrlKey || altKey || metaKey || !all.includes(target)) {
      return;
    }
    const ends = { Home: all[0], End: all.at(-1) };
    if (key in ends || key in DIRECTIONS) {
      event.preventDefault();
      (ends[key] ?? neighbour(all, target, DIRECTIONS[key], line) ?? target).focus();
    } else if (key === "Escape") {
      leave();
    }
  });
  return container;
}

function neighbour(all, from, [across, down], line) {
  if (line && across) {
    return all[all.indexOf(from) + (isFromRight(from) ? -across : across)];
  }
  const [x, y] = edge(from);
  const placed = all.map((one) => {
    const [dx, dy] = [edge(one)[0] - x, edge(one)[1] - y];
    return { one, ahead: dx * across + dy * down, aside: Math.abs(dx * down) + Math.abs(dy * across) };
  });
  // Elements more to the side than ahead count as another direction, unless there are no others.
  const distance = ({ ahead, aside }) => ahead + 3 * aside;
  return placed.filter(({ ahead }) => ahead > 2).sort((one, other) => distance(one) - distance(other))[0]?.one;
}

// The start of an element, not its middle: buttons of a column start together but differ in width.
function edge(one) {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [isFromRight(one) ? right : left, (top + bottom) / 2];
}

const isFromRight = ({ parentElement }) => getComputedStyle(parentElement).direction === "rtl";
