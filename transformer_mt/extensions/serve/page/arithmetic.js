// The computations behind the pictures of the course, as pure functions of plain numbers and arrays.

/** What `of` returns for each number from 0 to `count` − 1. */
export const times = (count, of) => Array.from({ length: count }, (_, place) => of(place));

export const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);

/** exp(s_j / T) / Σ_k exp(s_k / T); a score of −Infinity has no weight, and a row of them has none at all. */
export function softmax(scores, temperature = 1) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => (score === -Infinity ? 0 : Math.exp((score - most) / temperature)));
  const total = sum(powers) || 1;
  return powers.map((power) => power / total);
}

/** Σ_j α_j v_j. */
function weighedSum(weights, vectors) {
  return vectors[0].map((_, d) => vectors.reduce((all, one, j) => all + weights[j] * one[d], 0));
}

export const dotProduct = (one, other) => one.reduce((all, number, d) => all + number * other[d], 0);

/** The product of a matrix of rows and a matrix. */
export const multiplied = (rows, matrix) => rows.map((row) => weighedSum(row, matrix));

/** The three steps of attention, row by row; `scale` multiplies the scores. */
export function attended(queries, keys, values, scale = 1) {
  const scores = queries.map((query) => keys.map((key) => scale * dotProduct(query, key)));
  const weights = scores.map((row) => softmax(row));
  return { scores, weights, contexts: weights.map((row) => weighedSum(row, values)) };
}

/** Repeatable random numbers from 0 to 1 (mulberry32). */
export function uniforms(count, seed) {
  let state = seed >>> 0;
  return times(count, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  });
}

/** Repeatable normal random numbers, from pairs of uniform ones (Box and Muller 1958). */
export function normals(count, seed) {
  const drawn = uniforms(2 * count, seed);
  return times(count, (place) =>
    Math.sqrt(-2 * Math.log(1 - drawn[2 * place])) * Math.cos(2 * Math.PI * drawn[2 * place + 1]));
}

/** The dot products of pairs of normal random vectors with d numbers. */
export function randomScores(d, count, seed) {
  const vectors = inRows(normals(2 * d * count, seed), d);
  return times(count, (pair) => dotProduct(vectors[2 * pair], vectors[2 * pair + 1]));
}

/** Numbers in rows. */
export function inRows(numbers, size) {
  return times(numbers.length / size, (row) => numbers.slice(size * row, size * (row + 1)));
}

/** How many values are in each of equal bins from −reach to reach; values outside are in the first or last. */
export function histogram(values, reach, bins) {
  const found = Map.groupBy(values, (value) =>
    Math.min(bins - 1, Math.max(0, Math.floor(((value + reach) / (2 * reach)) * bins))));
  return times(bins, (bin) => found.get(bin)?.length ?? 0);
}

/** The weights of a matrix of scores; with `causal`, row i sees columns j ≤ i only, and null is hidden. */
export function maskedWeights(scores, causal) {
  return scores.map((row, i) => {
    const weights = softmax(causal ? row.slice(0, i + 1) : row);
    return row.map((_, j) => weights[j] ?? null);
  });
}

/** Dropout: each weight is zero with probability p, and the others are divided by 1 − p. */
export function dropped(weights, p, seed) {
  const drawn = uniforms(weights.length, seed);
  return weights.map((weight, place) => (drawn[place] < p ? 0 : weight / (1 - p)));
}

/** The learning rate of Noam's schedule (Vaswani et al. 2017, §5.3). */
export function noamRate(step, { width, factor, warmup }) {
  return factor * width ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);
}

/** −Σ_k q_k ln p_k if the right token has probability p and the others share the rest; q is smoothed by ε. */
export function smoothedLoss(p, smoothing, vocabulary) {
  const other = smoothing / vocabulary;
  const wrong = (vocabulary - 1) * other;
  return -(1 - smoothing + other) * Math.log(p) - (wrong && wrong * Math.log((1 - p) / (vocabulary - 1)));
}

/** True if position i may look at position j in a graph, as in `tmt`'s model.attention.graph. */
export function isNeighbour(graph, i, j, { k, l, c }) {
  const near = {
    complete: true,
    causal: j <= i,
    band: Math.abs(i - j) <= k,
    strided: Math.abs(i - j) < l || (i - j) % l === 0,
    fixed: Math.floor(i / l) === Math.floor(j / l) || j % l >= l - Math.min(c, l),
  };
  return near[graph];
}

/** Where there is a path of so many edges: from i to j, 1, otherwise 0. */
export function reached(edges, layers) {
  return layers > 1 ? multiplied(edges, reached(edges, layers - 1)).map((row) => row.map(Math.sign)) : edges;
}

/** The weights that a 3 × 3 kernel centred on a cell gives to all cells of a grid; those outside the grid are lost. */
export function kernelWeights(kernel, size, row, column) {
  return times(size, (i) => times(size, (j) => kernel[i - row + 1]?.[j - column + 1] ?? 0));
}
