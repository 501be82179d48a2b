"""Bootstrap intervals of figures over sentences."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

RESAMPLES = 1_000
_SEED = 1


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval over sentences."""

    value: float
    low: float
    high: float

    def text(self, digits: int, *, factor: float = 1.0) -> str:
        """Format the figure and its larger margin: `1.25 ±0.50`."""
        margin = max(self.high - self.value, self.value - self.low)
        return f"{factor * self.value:.{digits}f} ±{factor * margin:.{digits}f}"


@lru_cache(maxsize=1)
def draw_counts(sentences: int) -> Float[np.ndarray, "R N"]:
    """Resample `sentences` items `RESAMPLES` times: how often each draw has each item. Always the same draws."""
    even = np.full(sentences, 1.0 / sentences)
    return np.random.default_rng(_SEED).multinomial(sentences, even, size=RESAMPLES).astype(np.float64)


def estimates(sums: Float[np.ndarray, "N M K"], totals: Float[np.ndarray, "N M K"]) -> list[list[Estimate | None]]:
    """Return Σ sums / Σ totals over N sentences for M × K figures, or None for a figure whose total is 0.

    Intervals are bootstrap percentiles (Efron and Tibshirani 1993, §13.3). A draw with a total of 0 takes the overall
    value.
    """
    draws = draw_counts(len(sums))
    with np.errstate(invalid="ignore"):
        value = sums.sum(axis=0, dtype=np.float64) / totals.sum(axis=0, dtype=np.float64)
        ratios = np.tensordot(draws, sums, 1) / np.tensordot(draws, totals, 1)
    low, high = np.quantile(np.where(np.isnan(ratios), value, ratios), [0.025, 0.975], axis=0)
    figures = np.stack((value, low, high), axis=-1).tolist()
    return [[None if np.isnan(figure[0]) else Estimate(*figure) for figure in row] for row in figures]


def estimate(sums: Float[np.ndarray, " N"], totals: Float[np.ndarray, " N"]) -> Estimate:
    """Like `estimates` for a single figure, whose total must not be 0."""
    [[found]] = estimates(sums[:, None, None], totals[:, None, None])
    assert found
    return found
