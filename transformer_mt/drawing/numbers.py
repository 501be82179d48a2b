"""Numbers in few characters, and the scale that those of one view share."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transformer_mt.inspection.graph import is_convex
from transformer_mt.inspection.matrices import Weights

# Numbers within these print in three characters; others are printed in a unit of their own.
_READABLE = (0.05, 99.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of a view are shown: shaded by their share of `largest`, printed in multiples of `unit`."""

    largest: float = 1.0
    unit: float = 1.0

    @classmethod
    def of(cls, matrices: Iterable[Sequence[Weights]]) -> "Scale":
        """That of several matrices together, so that a shade means the same in each.

        Shares of 1, such as attention weights, are shaded by themselves, other numbers relative to the largest.
        """
        rows = [[x for x in row if x is not None and math.isfinite(x)] for matrix in matrices for row in matrix]
        if all(map(is_convex, filter(None, rows))):
            return cls()
        largest = max((abs(number) for row in rows for number in row), default=0.0) or 1.0
        readable = _READABLE[0] <= largest < _READABLE[1]
        return cls(largest, 1.0 if readable else 10.0 ** math.floor(math.log10(largest)))
