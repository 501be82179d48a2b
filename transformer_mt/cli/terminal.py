"""Where the commands write: results to stdout, everything else to stderr."""

import sys
from collections.abc import Iterable
from contextlib import suppress

from rich.console import Console
from rich.text import Text

from transformer_mt.inspection.escape import escape_controls


def notes_console() -> Console:
    """A console on stderr that takes text literally: no markup, no emoji codes, no guessing at numbers."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)


def results_console() -> Console:
    """The same on stdout."""
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """A remark for the person who watches, one line on stderr. Where that cannot be written, nobody watches."""
    with suppress(OSError):
        print(f"tmt: {escape_controls(text)}", file=sys.stderr)


def result(text: str) -> None:
    """A line of results on stdout, with nothing in it that could command a terminal."""
    print(escape_controls(text))


def result_lines(lines: Iterable[Text]) -> None:
    """Styled lines of results on stdout, in colour where the terminal has any."""
    console = results_console()
    for line in lines:
        console.print(line)
