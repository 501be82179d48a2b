"""Intervals of figures over sentences, by the bootstrap."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

RESAMPLES = 1_000
_SEED = 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and its 95 % interval over sentences."""

    value: float
    low: float
    high: float

    def text(self, digits: int, *, factor: float = 1.0) -> str:
        """The figure and the distance to the farther end of its interval: `1.25 ±0.50`."""
        margin = max(self.high - self.value, self.value - self.low)
        return f"{factor * self.value:.{digits}f} ±{factor * margin:.{digits}f}"


class Resampling:
    """Percentile intervals of the bootstrap (Efron and Tibshirani 1993, §13.3; Koehn 2004): sentences are drawn with
    replacement, `RESAMPLES` times, always alike."""

    def __init__(self, sentences: int) -> None:
        draws = np.random.default_rng(_SEED).multinomial(sentences, np.full(sentences, 1.0 / sentences), size=RESAMPLES)
        # The number of times that each draw has each sentence.
        self.counts: Float[np.ndarray, "R N"] = draws.astype(np.float64)

    def estimates(
        self, sums: Float[np.ndarray, "N M K"], totals: Float[np.ndarray, "N M K"]
    ) -> list[list[Estimate | None]]:
        """Σ sums / Σ totals over sentences, for each of M × K figures; None where nothing was counted.

        A draw that counts nothing, where there is something, has the value of all.
        """
        with np.errstate(invalid="ignore"):
            value = sums.sum(axis=0, dtype=np.float64) / totals.sum(axis=0, dtype=np.float64)
            ratios = np.tensordot(self.counts, sums, 1) / np.tensordot(self.counts, totals, 1)
        low, high = np.quantile(np.where(np.isnan(ratios), value, ratios), [0.025, 0.975], axis=0)
        figures = np.stack((value, low, high), axis=-1).tolist()
        return [[None if np.isnan(figure[0]) else Estimate(*figure) for figure in row] for row in figures]

    def estimate(self, sums: Float[np.ndarray, " N"], totals: Float[np.ndarray, " N"]) -> Estimate:
        [[estimate]] = self.estimates(sums[:, None, None], totals[:, None, None])
        assert estimate is not None
        return estimate
