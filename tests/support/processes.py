"""Several processes as one of them would see them, without any other."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

from transformer_mt.distributed import Number, Processes

T = TypeVar("T")


class OneOf(Processes):
    """The process `rank` of `count` that all have the same values."""

    def __init__(self, count: int, rank: int) -> None:
        self.count, self.rank, self.local_rank = count, rank, rank

    def sum(self, value: Number) -> Number:
        return self.count * value

    def gather(self, make: Callable[[], T]) -> list[T]:
        made = make()
        return [made, *(deepcopy(made) for _ in range(1, self.count))]

    def from_first(self, make: Callable[[], T]) -> T:
        return make()

    def first_before_others(self, make: Callable[[], T]) -> T:
        return make()
