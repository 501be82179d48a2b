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


def prints(text: str) -> bool:
    """Whether stdout can encode all these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def result(*lines: str) -> None:
    """Lines of results on stdout, with nothing in them that could command a terminal."""
    for line in lines:
        print(escape_controls(line))


def result_lines(lines: Iterable["Text"]) -> None:
    """Styled lines of results on stdout, in colour where the terminal has any."""
    console = literal_console()
    for line in lines:
        console.print(line)
