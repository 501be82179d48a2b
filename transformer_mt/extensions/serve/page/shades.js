// The five shades of a number, as in the terminal's matrices.

import { sum } from "./arithmetic.js";
import { decimal, say } from "./dom.js";

// Shades begin at these shares of the largest number; below the first, cells are blank.
const SHARES = [0.05, 0.25, 0.5, 0.75];

/** The scale for shares of 1. */
export const SHARES_OF_ONE = { largest: 1, unit: 1 };

/** Describe where the shades begin, in printed units. */
export function legend({ largest, unit } = SHARES_OF_ONE) {
  const [first, second, third, last] = SHARES.map((share) => decimal((share * largest) / unit));
  return say`shades from ${first}, ${second}, ${third} and ${last}`;
}

/** The shade of a number, from 0 (blank) to 4 (full). */
export const level = (number, largest = 1) => SHARES.filter((share) => Math.abs(number) >= share * largest).length;

/**
 * The common scale of matrices: 1 if all rows are shares of 1, otherwise the largest absolute number.
 *
 * Numbers too small or too large for two decimals are printed in a power of ten, `unit`.
 */
export function scaleOf(matrices) {
  const rows = matrices.flat().map((row) => row.filter((number) => number !== null));
  const isShares = (row) => row.every((number) => number >= 0) && Math.abs(sum(row) - 1) <= 1e-3;
  if (rows.every((row) => row.length === 0 || isShares(row))) {
    return SHARES_OF_ONE;
  }
  const largest = rows.flat().reduce((most, number) => Math.max(most, Math.abs(number)), 0) || 1;
  return { largest, unit: largest >= 0.05 && largest < 99 ? 1 : 10 ** Math.floor(Math.log10(largest)) };
}
