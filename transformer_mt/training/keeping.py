"""Which checkpoints of a run stay, besides those that training itself may need again.

To add a rule, write a function that gives one and enter it in `KEEPING`; its numbers are those of its spelling.
"""

from collections.abc import Callable, Sequence

from transformer_mt.attention.spelling import spelled

# From the steps that have a checkpoint, in order, to those that stay.
Keep = Callable[[Sequence[int]], set[int]]


def needed() -> Keep:
    """None but those that training may need again: the newest two, the best, and those of an average."""
    return lambda steps: set()


def everything() -> Keep:
    """All that are written."""
    return set


def last(count: int) -> Keep:
    """The newest so many."""
    if count < 1:
        raise ValueError("the count must be at least 1")
    return lambda steps: set(steps[-count:])


def every(steps: int) -> Keep:
    """Those at multiples of a number of steps."""
    if steps < 1:
        raise ValueError("the number of steps must be at least 1")
    return lambda saved: {step for step in saved if step % steps == 0}


KEEPING: dict[str, Callable[..., Keep]] = {"needed": needed, "all": everything, "last": last, "every": every}


def build_keep(text: str) -> Keep:
    """The rule that a configuration spells. Raises `InputError` for one that there is not."""
    return spelled(text, KEEPING, key="training.keep")
