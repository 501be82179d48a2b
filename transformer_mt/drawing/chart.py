"""Charts as data: panels of curves that share one axis, and the round numbers along their sides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Steps are whole numbers.
Number = int | float
Points = tuple[tuple[Number, Number], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A curve. Those of one `group` (a run) share a colour; a `dashed` one is the lesser of its group."""

    name: str
    points: Points
    group: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over one horizontal axis; the title says what is measured, and in which unit."""

    title: str
    across: str
    series: tuple[Series, ...]

    @property
    def horizontal(self) -> tuple[float, float]:
        """The ends of the horizontal axis."""
        return extent([x for one in self.series for x, _ in one.points])

    @property
    def vertical(self) -> tuple[float, float]:
        """The ends of the vertical axis."""
        return extent([y for one in self.series for _, y in one.points])


def extent(values: Sequence[Number]) -> tuple[float, float]:
    """The least and the largest value; apart where there is only one, and from 0 to 1 where there is none."""
    low, high = float(min(values, default=0.0)), float(max(values, default=1.0))
    if high > low:
        return low, high
    return (low - abs(low) / 2, high + abs(high) / 2) if low else (0.0, 1.0)


def ticks(low: Number, high: Number, *, most: int) -> list[float]:
    """At most so many round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [number * step for number in range(first, last + 1)]
    return []


def place(value: Number, low: Number, high: Number) -> float:
    """Where a value lies between two ends, from 0 to 1."""
    return (value - low) / (high - low)


def tick_label(value: Number) -> str:
    """A number in few characters: `0.002`, `1,300`, `2e-09`."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.4g}" if abs(value) < 1e3 else f"{value:,.0f}"
    return f"{value:.3g}"
