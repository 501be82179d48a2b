// The five shades of a number, which the terminal's matrices have, too.

import { decimal } from "./dom.js";

// Shades begin at these shares of the largest number: blank, and four more.
const SHARES = [0.05, 0.25, 0.5, 0.75];

/** The scale of numbers that are shares of 1. */
export const SHARES_OF_ONE = { largest: 1, unit: 1 };

/** Where the shades begin, as numbers are printed. */
export function legend({ largest, unit } = SHARES_OF_ONE) {
  const [first, second, third, last] = SHARES.map((share) => decimal((share * largest) / unit));
  return `shades from ${first}, ${second}, ${third} and ${last}`;
}

/** From 0, blank, to 4, full. */
export function level(number, largest = 1) {
  return SHARES.filter((share) => Math.abs(number) >= share * largest).length;
}

/**
 * What numbers are shaded by and printed in: shares of 1 by themselves, others by the largest of them.
 *
 * Numbers too small or too large for two digits after the point are printed in a power of ten, `unit`.
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

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
