// One tab stop for many elements, and the arrow keys between them.

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Give the elements of a container that match the selector one tab stop together.
 *
 * Arrow keys go to the nearest element on that side; with `line`, those to the left and right go to the one before and
 * after it, also in another row, or in a line from right to left to the one after and before it. Home and End go to the
 * first and the last. `current` is where the tab key enters; `leave` is called by Escape.
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
    // What lies more to the side than ahead is in another direction, unless nothing else is there.
    const distance = ahead + 3 * aside;
    if (ahead > 2 && distance < least) {
      [best, least] = [one, distance];
    }
  }
  return best;
}

// Where it begins, not the middle: buttons of one column begin together and are of different widths.
function edge(one) {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [isFromRight(one) ? right : left, (top + bottom) / 2];
}

function isFromRight({ parentElement }) {
  return getComputedStyle(parentElement).direction === "rtl";
}
