"""Columns of text, measured in terminal cells."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

GAP = "  "


def padded(cells: Sequence[str]) -> list[str]:
    """The cells of a column, all as wide as the widest."""
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def joined(columns: Iterable[Sequence[str]]) -> list[str]:
    """The lines of columns that stand beside each other."""
    return [GAP.join(line).rstrip() for line in zip(*columns, strict=True)]
