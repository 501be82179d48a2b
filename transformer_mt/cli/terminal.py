"""Where the commands write: results to stdout, everything else to stderr."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from transformer_mt.views.text import escape_controls

if TYPE_CHECKING:  # `tmt --help` does not wait for rich
    from rich.console import Console
    from rich.text import Text


def literal_console(*, stderr: bool = False) -> "Console":
    """A console that takes text literally: no markup, no emoji codes, no highlighting."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def note(*lines: str) -> None:
    """Remarks on stderr, each one line. Write errors are ignored."""
    with suppress(OSError):
        for line in lines:
            print(f"tmt: {escape_controls(line)}", file=sys.stderr)


def result(*lines: str) -> None:
    """Lines of results on stdout, with nothing in them that could command a terminal."""
    for line in lines:
        print(escape_controls(line))


def result_lines(lines: Iterable["str | Text"]) -> None:
    """Lines of results on stdout: plain ones as `result` prints them, styled ones in the terminal's colours."""
    from rich.text import Text

    console = literal_console()
    for line in lines:
        console.print(Text(escape_controls(line)) if isinstance(line, str) else line)
