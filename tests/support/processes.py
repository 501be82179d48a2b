"""Several processes as one of them would see them, without any other."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar, cast

from transformer_mt.distributed import Distributed, Number

T = TypeVar("T")


class OneOf(Distributed):
    """The process `rank` of `world_size` that all have the same values."""

    def __init__(self, world_size: int, rank: int) -> None:
        self.world_size, self.rank, self.local_rank = world_size, rank, rank

    def all_reduce(self, value: Number) -> Number:
        return self.world_size * value

    def all_gather(self, make: Callable[[], T]) -> list[T]:
        value = make()
        return [value, *(deepcopy(value) for _ in range(1, self.world_size))]

    def broadcast_from_main(self, make: Callable[[], T]) -> T:
        """Of other processes than the main one, nothing is made and nothing received."""
        return make() if self.is_main else cast(T, None)
