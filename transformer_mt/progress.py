"""Work that takes long: its name and how far it has come, for whoever shows it; the command line does."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

# Opened with the name of a work and its number of items, None where that is unknown; gives what is told of items done.
Display = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


def _nobody(count: int) -> None:
    """Tell nobody."""


_display: ContextVar[Display | None] = ContextVar("display", default=None)
_done: ContextVar[Callable[[int], None]] = ContextVar("done", default=_nobody)


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """While this is open, work is shown so."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def working(name: str, total: int | None = None) -> Iterator[None]:
    """Work on this many items, that may take longer than a second. Work inside it is not shown beside it."""
    display = _display.get()
    with display(name, total) if display else nullcontext(_nobody) as done:
        tokens = _display.set(None), _done.set(done)
        try:
            yield
        finally:
            _display.reset(tokens[0])
            _done.reset(tokens[1])


def advance(count: int = 1) -> None:
    """Tell that this many items of the work are done. Whoever is told may raise, to end the work here."""
    _done.get()(count)
