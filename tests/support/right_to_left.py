"""The display of lines on a terminal with bidirectional text."""

from collections.abc import Iterable

import pytest


def visual(line: str, base: str | None = None) -> str:
    """The characters of a line from left to right as a terminal shows them (UAX #9), without isolates.

    The line has the direction `base`, L or R, or that of its first letter.
    """
    return unmarked(pytest.importorskip("bidi").get_display(line, base_dir=base))


def unmarked(line: str) -> str:
    """The line without isolates: they take no cell."""
    return line.replace("\u2068", "").replace("\u2069", "")


def moved(lines: Iterable[object], signs: str = "0123456789.│░▒▓█") -> list[str]:
    """The lines in which a terminal shows a sign in another cell than printed, in either base direction."""

    def places(line: str) -> list[tuple[int, str]]:
        return [(place, sign) for place, sign in enumerate(line) if sign in signs]

    return [
        line for line in map(str, lines) for base in (None, "L") if places(visual(line, base)) != places(unmarked(line))
    ]
