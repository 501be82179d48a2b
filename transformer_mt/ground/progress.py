"""Progress reporting for slow work. The command line subscribes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

# Takes the number of items done.
Advance = Callable[[int], None]
# Opened with a name and the number of items (None if unknown); yields its callback.
Display = Callable[[str, int | None], AbstractContextManager[Advance]]


def _nobody(count: int) -> None:
    """Report nothing."""


_display: ContextVar[Display | None] = ContextVar("display", default=None)
_done: ContextVar[Advance] = ContextVar("done", default=_nobody)


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Send progress to `display` inside this context."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def working(name: str, total: int | None = None) -> Iterator[None]:
    """Report work on this many items that may take over a second. Nested work is not reported."""
    display = _display.get()
    with display(name, total) if display else nullcontext(_nobody) as done:
        tokens = _display.set(None), _done.set(done)
        try:
            yield
        finally:
            _display.reset(tokens[0])
            _done.reset(tokens[1])


def advance(count: int = 1) -> None:
    """Report that this many more items are done. The display may raise to cancel the work."""
    _done.get()(count)
