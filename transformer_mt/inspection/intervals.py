"""Figures of a set of sentences, and how much they would be others had the sentences been others."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

RESAMPLES = 1_000
_SEED = 1
_AT_A_TIME = 50


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and its 95 % interval over sentences."""

    value: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """How far the interval reaches to its farther side."""
        return max(self.high - self.value, self.value - self.low)

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Value, low and high."""
        return self.value, self.low, self.high

    def to_json(self) -> dict[str, float]:
        """Keys: value, low and high."""
        return {"value": self.value, "low": self.low, "high": self.high}


class Resampling:
    """Percentile intervals of the bootstrap: sentences are drawn with replacement, `RESAMPLES` times, always alike.

    Efron and Tibshirani 1993, §13.3. Koehn 2004 brought it to machine translation.
    """

    def __init__(self, sentences: int) -> None:
        shares = np.full(sentences, 1.0 / sentences)
        # How often each draw has each sentence.
        self.counts: Float[np.ndarray, "R N"] = (
            np.random.default_rng(_SEED).multinomial(sentences, shares, size=RESAMPLES).astype(np.float32)
        )

    def ratios(
        self, sums: Float[np.ndarray, "N *M"], counts: Float[np.ndarray, "N *M"]
    ) -> Float[np.ndarray, "three *M"]:
        """Value, low and high end of Σ sums / Σ counts over sentences; NaN where nothing was counted.

        A draw that counts nothing, where there is something, has the value of all.
        """
        shape = sums.shape[1:]
        sums, counts = (np.asarray(x, np.float64).reshape(len(x), -1) for x in (sums, counts))
        value = _divided(sums.sum(axis=0), counts.sum(axis=0), otherwise=np.nan)
        drawn = np.concatenate(
            [
                _divided(draws @ sums, draws @ counts, otherwise=value)
                for draws in np.split(self.counts, RESAMPLES // _AT_A_TIME)
            ]
        )
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        return np.stack((value, low, high)).reshape(3, *shape)


def estimate(three: Float[np.ndarray, " three"]) -> Estimate | None:
    """Of one figure of `Resampling.ratios`; None where nothing was counted."""
    value, low, high = map(float, three)
    return None if np.isnan(value) else Estimate(value, low, high)


def sure(three: Float[np.ndarray, " three"]) -> Estimate:
    """The same of a figure for which something was counted."""
    found = estimate(three)
    assert found is not None
    return found


def _divided(
    sums: Float[np.ndarray, "*M"], counts: Float[np.ndarray, "*M"], *, otherwise: float | Float[np.ndarray, "*N"]
) -> Float[np.ndarray, "*M"]:
    found = np.broadcast_to(np.asarray(otherwise, np.float64), sums.shape).copy()
    return np.divide(sums, counts, out=found, where=counts != 0)
