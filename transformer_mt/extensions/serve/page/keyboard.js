// Roving tabindex: one tab stop for many elements, with arrow keys between them.

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Make the elements of a container that match the selector a single tab stop.
 *
 * Arrow keys move to the nearest element in that direction. With `line`, left and right move to the previous and next
 * element, also across rows, and the other way round in right-to-left text. Home and End move to the first and last.
 * Tab enters at `current`; Escape calls `leave`.
 */
export function roving(container, selector, { line = false, current = null, leave = null } = {}) {
  const all = [...container.querySelectorAll(selector)];
  const enter = (one) => all.forEach((other) => (other.tabIndex = other === one ? 0 : -1));
  enter(current ?? all[0]);
  container.addEventListener("focusin", ({ target }) => all.includes(target) && enter(target));
  container.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (event.key === "Escape" && leave) {
      leave();
      return;
    }
    const next = neighbour(all, event.target, event.key, line);
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
  return container;
}

function neighbour(all, from, key, line) {
  const place = all.indexOf(from);
  if (place < 0) {
    return null;
  }
  if (key === "Home" || key === "End") {
    return all.at(key === "Home" ? 0 : -1);
  }
  if (!(key in DIRECTIONS)) {
    return null;
  }
  const [across, down] = DIRECTIONS[key];
  const next = line && across ? all[place + (isFromRight(from) ? -across : across)] : nearest(all, from, across, down);
  return next ?? from;
}

function nearest(all, from, across, down) {
  const [x, y] = edge(from);
  let best = null;
  let least = Infinity;
  for (const one of all) {
    const [dx, dy] = [edge(one)[0] - x, edge(one)[1] - y];
    const ahead = dx * across + dy * down;
    const aside = Math.abs(dx * down) + Math.abs(dy * across);
    // Elements more to the side than ahead count as another direction, unless there are no others.
    const distance = ahead + 3 * aside;
    if (ahead > 2 && distance < least) {
      [best, least] = [one, distance];
    }
  }
  return best;
}

// The start of an element, not its middle: buttons of a column start together but differ in width.
function edge(one) {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [isFromRight(one) ? right : left, (top + bottom) / 2];
}

function isFromRight({ parentElement }) {
  return getComputedStyle(parentElement).direction === "rtl";
}
