"""Several processes as one of them would see them, without any other."""

from transformer_mt.processes import Number, Processes


class OneOf(Processes):
    """The process `rank` of `count` that all have the same values."""

    def __init__(self, count: int, rank: int) -> None:
        self.count, self.rank = count, rank

    def sum(self, value: Number) -> Number:
        return self.count * value
