"""Values that modules show in a forward pass."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from transformer_mt.attention.hooks import Shown, watching
from transformer_mt.attention.multihead import Attention, KeyValues


@contextmanager
def values_of(symbol: str) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """Collect every value shown under this symbol, with its module."""
    found: list[tuple[nn.Module, Tensor]] = []

    def watch(shown: Shown) -> None:
        if shown.symbol == symbol:
            found.append((shown.module, shown.value))

    with watching(watch):
        yield found


def weights_of(attention: Attention, states: Tensor, key_values: KeyValues) -> Tensor:
    """The attention weights of one call."""
    with values_of("α_j") as shown:
        attention(states, key_values)
    ((_, weights),) = shown
    return weights
