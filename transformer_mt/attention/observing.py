"""A way to look at attention weights as they arise, without passing a flag through the layers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

# Called with the attention module and its weights, B H Q K.
Observer = Callable[[nn.Module, Tensor], None]

_observer: ContextVar[Observer | None] = ContextVar("attention_observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """While this is open, every attention module computes its weights the readable way and shows them to `observer`."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def current_observer() -> Observer | None:
    """Whoever watches now, or None."""
    return _observer.get()
