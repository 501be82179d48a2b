"""Which of how many processes this one is, and sums over all of them."""

from abc import ABC, abstractmethod
from typing import TypeVar

from typing_extensions import override

Number = TypeVar("Number", int, float)


class Processes(ABC):
    """The processes that train one model together, seen from one of them: number `rank` of `count`, counted from 0."""

    rank: int
    count: int

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes for all."""
        return self.rank == 0

    @abstractmethod
    def sum(self, value: Number) -> Number:
        """The sum of every process's value, the same in all of them; each has to call this."""


class SingleProcess(Processes):
    """There is no other: its own value is the sum."""

    rank, count = 0, 1

    @override
    def sum(self, value: Number) -> Number:
        return value
