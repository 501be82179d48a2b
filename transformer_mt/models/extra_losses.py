"""A term that a module adds to the loss, such as the load balance of a mixture of experts (Shazeer et al. 2017, §4)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxtyping import Float
from torch import Tensor

Collector = Callable[[str, Tensor], None]

_collector: ContextVar[Collector | None] = ContextVar("extra_losses", default=None)


def add_loss(name: str, term: Float[Tensor, ""]) -> None:
    """Add a term to the training loss, from within a module's forward pass; nothing happens where nobody collects.

    The term counts like a mean loss of a target token, with whatever weight the module gives it. Terms of one name, as
    of several layers, are summed up.
    """
    if collector := _collector.get():
        collector(name, term)


@contextmanager
def collecting_losses() -> Iterator[dict[str, Tensor]]:
    """While this is open, the terms that modules add are summed up by their names."""
    terms: dict[str, Tensor] = {}

    def collect(name: str, term: Tensor) -> None:
        terms[name] = terms[name] + term if name in terms else term

    token = _collector.set(collect)
    try:
        yield terms
    finally:
        _collector.reset(token)
