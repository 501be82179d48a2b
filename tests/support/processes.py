"""One of several processes, simulated in this one."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar, cast

from torch import Tensor

from transformer_mt.ground.distributed import Distributed

T = TypeVar("T")


class OneOf(Distributed):
    """Process `rank` of `world_size` processes that all have the same values."""

    def __init__(self, world_size: int, rank: int) -> None:
        self.world_size, self.rank, self.local_rank = world_size, rank, rank

    def all_reduce(self, value: Tensor) -> Tensor:
        return self.world_size * value

    def all_gather(self, make: Callable[[], T]) -> list[T]:
        value = make()
        return [value, *(deepcopy(value) for _ in range(1, self.world_size))]

    def broadcast_from_main(self, make: Callable[[], T]) -> T:
        """Processes other than the main one make and receive nothing."""
        return make() if self.is_main else cast(T, None)
