"""Progress reporting for slow work. The command line subscribes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from transformer_mt.ground.context import setting

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
    with setting(_display, display):
        yield


@contextmanager
def working(name: str, total: int | None = None) -> Iterator[None]:
    """Report work on this many items that may take over a second. Nested work is not reported."""
    display = _display.get()
    opened = display(name, total) if display else nullcontext(_nobody)
    with opened as done, setting(_display, None), setting(_done, done):
        yield


def advance(count: int = 1) -> None:
    """Report that this many more items are done. The display may raise to cancel the work."""
    _done.get()(count)
