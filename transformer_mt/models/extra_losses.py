"""A term that a module adds to the loss, such as the load balance of a mixture of experts (Shazeer et al. 2017, §4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from jaxtyping import Float
from torch import Tensor

_terms: ContextVar[list[Tensor] | None] = ContextVar("extra_losses", default=None)


def add_loss(term: Float[Tensor, ""]) -> None:
    """Add a term to the training loss, from within a module's forward pass; nothing happens where nobody collects.

    The term counts like a mean loss of a target token, with whatever weight the module gives it.
    """
    if (terms := _terms.get()) is not None:
        terms.append(term)


@contextmanager
def collecting_losses() -> Iterator[list[Tensor]]:
    """While this is open, the terms that modules add are gathered."""
    terms: list[Tensor] = []
    token = _terms.set(terms)
    try:
        yield terms
    finally:
        _terms.reset(token)
