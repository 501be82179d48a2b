"""A way to look at attention as it is computed, without passing a flag through the layers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from torch import nn

from transformer_mt.attention.shapes import Heads, Keys, Queries, Scores, Values


@dataclass(frozen=True, slots=True)
class Attended:
    """What an attention layer computed for its queries, from their scores to the heads.

    Queries and keys are those that met in the scores: projected, and rotated or mapped where the variant does so.
    `scores` are those before mask and softmax, terms of positions included; `weights` those before dropout; `heads` are
    the weighted sums of the values, before the output projection. All are the very tensors that the model goes on with.
    """

    queries: Queries
    keys: Keys
    values: Values
    scores: Scores
    weights: Scores
    heads: Heads


# Called with the attention module and what it computed.
Observer = Callable[[nn.Module, Attended], None]

_observer: ContextVar[Observer | None] = ContextVar("attention_observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """While this is open, every attention module computes the readable way and shows its work to `observer`."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def current_observer() -> Observer | None:
    """Whoever watches now, or None."""
    return _observer.get()
