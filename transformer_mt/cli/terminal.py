"""Output of commands: results on stdout, everything else on stderr."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING

from transformer_mt.ground.context import setting
from transformer_mt.ground.progress import Advance, shown_by
from transformer_mt.text.terminal import escape_controls, message_line

if TYPE_CHECKING:  # `tmt --help` does not load rich
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

# Faster work is not shown.
SECONDS_BEFORE_A_BAR = 1.0
# Columns of a terminal. Some containers report 0; nothing fits so few.
NARROWEST = 20
USUAL_WIDTH = 80


def literal_console(*, stderr: bool = False) -> "Console":
    """A console that prints text literally: no markup, emoji codes or highlighting."""
    from rich.console import Console

    class LiteralConsole(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would exit with code 1

    console = LiteralConsole(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)
    if console.width < NARROWEST:
        console.width = USUAL_WIDTH
    return console


# Whether `--quiet` was given.
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def telling(*, quiet: bool) -> Iterator[None]:
    """Show the progress of long work and print notes while open, unless `quiet`."""
    with setting(_quiet, quiet), nullcontext() if quiet else shown_by(show_work):
        yield


def note(*lines: str) -> None:
    """Print notes to stderr, one line each, unless `--quiet` was given, from the first of torchrun's processes."""
    if not _quiet.get() and os.environ.get("RANK", "0") == "0":
        warn(*lines)


def warn(*lines: str) -> None:
    """Print errors and warnings to stderr, one line each. Write errors are ignored."""
    with suppress(OSError):
        for line in lines:
            print(f"tmt: {message_line(line)}", file=sys.stderr)


def result(*lines: "str | Text") -> None:
    """Print results to stdout: styled text in the terminal's colours, plain text with control characters escaped."""
    for line in lines:
        if isinstance(line, str):
            print(escape_controls(line))
        else:
            literal_console().print(line)


def progress_bar(console: "Console", *, shown: bool, known: bool = True, transient: bool = False) -> "Progress":
    """A progress bar with the elapsed time; if the total is `known`, also the percentage and the time left."""
    from rich import progress as rich

    text = rich.TextColumn("{task.description}", markup=False)
    share = [rich.TaskProgressColumn("{task.percentage:.0f} %", markup=False)] if known else []
    left = [rich.TextColumn("left", markup=False), rich.TimeRemainingColumn()] if known else []
    columns = (text, rich.BarColumn(bar_width=None), *share, rich.TimeElapsedColumn(), *left)
    return rich.Progress(*columns, console=console, disable=not shown, transient=transient, redirect_stdout=False)


@contextmanager
def show_work(name: str, total: int | None) -> Iterator[Advance]:
    """Name work that takes over a second, unless its name is empty; on a terminal, also show a bar."""
    console = literal_console(stderr=True)
    shown = console.is_interactive and console.file.isatty()
    bar = progress_bar(console, shown=shown, known=total is not None, transient=True)
    task = bar.add_task("", total=total)

    def begin() -> None:
        if name:
            note(name)
        bar.start()

    timer = Timer(SECONDS_BEFORE_A_BAR, begin)
    timer.start()
    try:
        yield lambda count: bar.advance(task, count)
    finally:
        timer.cancel()
        timer.join()
        with suppress(OSError):  # the terminal may be closed
            bar.stop()
