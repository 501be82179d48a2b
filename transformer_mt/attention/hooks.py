"""Hooks: `show` passes a named tensor through, reports it to active watchers, and lets a `patch` replace it.

No flags pass through the layers, and the modules keep no state. A class lists its symbols in `formulas`, with a formula
each, so that a watcher can print the computation itself.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from torch import Tensor, nn

from transformer_mt.ground.context import setting


class Shown(NamedTuple):
    """An intermediate value of a forward pass: the very tensor that the model continues with.

    `axes` names its axes: B batch, H heads, Q queries, K keys, D model width, d head width.
    """

    module: nn.Module
    symbol: str
    value: Tensor
    axes: str


# A watcher that returns a tensor replaces the value.
Watcher = Callable[[Shown], Tensor | None]

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def show(module: nn.Module, symbol: str, value: Tensor, axes: str) -> Tensor:
    """Report a value to the watchers and return it, or its replacement by a patch. Continue only with the result."""
    for watcher in _watchers.get():
        changed = watcher(Shown(module, symbol, value, axes))
        value = value if changed is None else changed
    return value


def is_watched() -> bool:
    """True if a watcher or patch is active. Attention must then compute step by step."""
    return bool(_watchers.get())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with every value shown inside this context, after the existing watchers."""
    with setting(_watchers, (*_watchers.get(), watcher)):
        yield


@contextmanager
def record_values(model: nn.Module) -> Iterator[dict[tuple[str, str], list[Tensor]]]:
    """Collect every value that the model's modules show inside this context, by module name and symbol.

    Each entry has a tensor per report: one per pass, or in a recurrent decoder one per token. Padding has values too.
    The output of encoder layer n, from 0, is `("encoder.n.feed_forward_residual", "x′")`; likewise for `decoder`.
    """
    names = {module: name for name, module in model.named_modules()}
    values: dict[tuple[str, str], list[Tensor]] = defaultdict(list)

    def add(shown: Shown) -> None:
        if shown.module in names:
            values[names[shown.module], shown.symbol].append(shown.value)

    with watching(add):
        yield values


@contextmanager
def patch(module: nn.Module, symbol: str, function: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replace each value of `symbol` that `module` shows by `function(value)`, inside this context.

    Watchers see the new value, and attention computes step by step. An inner patch acts before an outer one. Raises
    `ValueError` if the new value differs in shape, type or device, and on exit if the module showed no such value.
    """
    patched = False

    def replace(shown: Shown) -> Tensor | None:
        nonlocal patched
        if shown.module is not module or shown.symbol != symbol:
            return None
        patched = True
        value = function(shown.value)
        if (given := _kind(value)) != (expected := _kind(shown.value)):
            raise ValueError(f"patch: {symbol} is {expected}, not {given}")
        return value

    with setting(_watchers, (replace, *_watchers.get())):
        yield
    if not patched:
        raise ValueError(f"patch: {type(module).__name__} showed no {symbol!r}")


def _kind(value: object) -> str:
    """What a patch must preserve: shape, type and device."""
    if not isinstance(value, Tensor):
        return f"of type {type(value).__name__}"
    return f"a tensor of shape {tuple(value.shape)}, {value.dtype}, on {value.device}"
