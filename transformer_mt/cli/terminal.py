"""The output of commands: results on stdout, everything else on stderr."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from transformer_mt.views.text import escape_controls, message_line

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
            print(f"tmt: {message_line(line)}", file=sys.stderr)


def result(*lines: "str | Text") -> None:
    """Lines of results on stdout: styled ones in the terminal's colours, plain ones with nothing to command it."""
    for line in lines:
        if isinstance(line, str):
            print(escape_controls(line))
        else:
            literal_console().print(line)
