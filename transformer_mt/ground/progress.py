"""Progress reporting for slow work. The command line subscribes."""

import html
import sys
import time
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


@contextmanager
def bar(name: str, total: int | None) -> Iterator[Advance]:
    """A `Display`: a bar on the terminal or, in a notebook, in the output of its cell. Elsewhere, nothing is shown."""
    if "ipykernel" in sys.modules:
        yield _in_notebook(name, total or 1)
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, redirect_stdout=False) as shown:
        task = shown.add_task(name, total=total)
        yield lambda count: shown.advance(task, count)


def _in_notebook(name: str, total: int) -> Advance:
    """Draw a bar with IPython: rich needs ipywidgets there. Draws at most five times a second."""
    from IPython.display import HTML, display

    done = 0
    drawn = 0.0
    handle = display(HTML(""), display_id=True)

    def add(count: int) -> None:
        nonlocal done, drawn
        done += count
        if time.monotonic() - drawn > 0.2 or done >= total:
            drawn = time.monotonic()
            share = f'<progress value="{done}" max="{total}"></progress>'
            handle.update(HTML(f"{html.escape(name)} {share} {done} of {total}"))

    return add


def advance(count: int = 1) -> None:
    """Report that this many more items are done. The display may raise to cancel the work."""
    _done.get()(count)
