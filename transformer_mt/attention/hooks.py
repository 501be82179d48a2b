"""Hooks: `show` passes a named tensor through, reports it to active watchers, and lets a `patch` replace it.

No flag travels through the layers and nothing stays on the modules. A class names its symbols in `formulas`, a formula
for each symbol, so `tmt explain` prints the computation itself.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from torch import Tensor, nn

from transformer_mt.errors import checked


class Shown(NamedTuple):
    """A value in the middle of a forward pass: the very tensor that the model goes on with.

    `axes` names its axes by the usual letters: B batch, H heads, Q queries, K keys, D model width, d head width.
    """

    module: nn.Module
    symbol: str
    value: Tensor
    axes: str


# A watcher that returns a tensor replaces the value.
Watcher = Callable[[Shown], Tensor | None]

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def show(module: nn.Module, symbol: str, value: Tensor, axes: str) -> Tensor:
    """Hand a value to the watchers, and return it, or what a patch puts in its place: go on with the result only."""
    for watcher in _watchers.get():
        changed = watcher(Shown(module, symbol, value, axes))
        value = value if changed is None else changed
    return value


def is_watched() -> bool:
    """True if somebody watches or patches, so that attention has to compute the readable way."""
    return bool(_watchers.get())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """While this is open, `watcher` is called with every value shown, after the watchers before it."""
    with _watched_by(*_watchers.get(), watcher):
        yield


@checked
@contextmanager
def record_values(model: nn.Module) -> Iterator[dict[tuple[str, str], list[Tensor]]]:
    """While this is open, the values that modules of the model show, by the module's name in it and the symbol.

    Each has a tensor for every time it was shown: once a pass, in a recurrent decoder once a token. Padding has values
    too. The output of layer n is `("encoder.n.feed_forward_residual", "x′")`, with `decoder` likewise, n from 0.
    """
    names = {module: name for name, module in model.named_modules()}
    values: dict[tuple[str, str], list[Tensor]] = defaultdict(list)

    def add(shown: Shown) -> None:
        if shown.module in names:
            values[names[shown.module], shown.symbol].append(shown.value)

    with watching(add):
        yield values


@checked
@contextmanager
def patch(module: nn.Module, symbol: str, function: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """While this is open, `module` goes on with `function(value)` in place of each value of `symbol` that it shows.

    Watchers see the new value, and attention takes the readable way. An inner patch acts before an outer one. Raises
    `ValueError` for a value of another shape, type or device, and at the end where the module has shown no such value.
    """
    patched = False

    def replace(shown: Shown) -> Tensor | None:
        nonlocal patched
        if shown.module is not module or shown.symbol != symbol:
            return None
        patched, value = True, function(shown.value)
        if (given := _kind(value)) != (expected := _kind(shown.value)):
            raise ValueError(f"patch: {symbol} is {expected}, not {given}")
        return value

    with _watched_by(replace, *_watchers.get()):
        yield
    if not patched:
        raise ValueError(f"patch: {type(module).__name__} has shown no {symbol!r}")


def _kind(value: object) -> str:
    """What a patch has to leave as it is."""
    if not isinstance(value, Tensor):
        return f"of type {type(value).__name__}"
    return f"a tensor of shape {(*value.shape,)}, {value.dtype}, on {value.device}"


@contextmanager
def _watched_by(*watchers: Watcher) -> Iterator[None]:
    token = _watchers.set(watchers)
    try:
        yield
    finally:
        _watchers.reset(token)
