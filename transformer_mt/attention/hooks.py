"""Looking at intermediate values: a module shows a named value and goes on with it; whoever watches gets it too.

No flag travels through the layers and nothing stays on the modules. A class names its symbols in `formulas`, a formula
for each symbol, so what `tmt explain` prints comes out of the computation itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from torch import Tensor, nn


class Shown(NamedTuple):
    """A value in the middle of a forward pass: the very tensor that the model goes on with.

    `axes` names its axes by the usual letters: B batch, H heads, Q queries, K keys, D model width, d head width.
    """

    module: nn.Module
    symbol: str
    value: Tensor
    axes: str


Watcher = Callable[[Shown], None]

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def show(module: nn.Module, symbol: str, value: Tensor, axes: str) -> Tensor:
    """Hand a value to whoever watches, and return it."""
    for watcher in _watchers.get():
        watcher(Shown(module, symbol, value, axes))
    return value


def is_watched() -> bool:
    """True if somebody watches, so that attention has to compute the readable way."""
    return bool(_watchers.get())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """While this is open, `watcher` is called with every value shown, beside those who watched before."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)
