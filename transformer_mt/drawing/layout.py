"""Text measured in terminal cells: columns, blocks beside each other, folded and wrapped lines."""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, chop_cells
from rich.text import Text

# Lines never get narrower than this.
NARROWEST = 20
# Between the columns of a table, and between blocks that stand beside each other.
GAP, BLOCK_GAP = "  ", "   "


def padded(cells: Sequence[str]) -> list[str]:
    """The cells of a column, all as wide as the widest."""
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def joined(columns: Iterable[Sequence[str]]) -> list[str]:
    """The lines of columns that stand beside each other."""
    return [GAP.join(line).rstrip() for line in zip(*columns, strict=True)]


def right_aligned(text: str, width: int) -> str:
    """The text at the right end of that many cells."""
    return " " * (width - cell_len(text)) + text


def folded(label: str, *, width: int) -> list[str]:
    """The text in pieces of at most that many cells, which words do not matter to."""
    return chop_cells(label, width) if label else [""]


def words_of(text: str) -> list[Text]:
    """What stands between spaces, for `wrap_words`."""
    return [Text(word) for word in text.split(" ")]


def wrap_words(words: Sequence[Text], *, width: int) -> list[Text]:
    """As many words on a line as fit, one space between; none of them is wider than a line."""
    lines = [words[0].copy()]
    for word in words[1:]:
        if lines[-1].cell_len + 1 + word.cell_len <= width:
            lines[-1].append(" ").append_text(word)
        else:
            lines.append(word.copy())
    return lines


def beside(blocks: Sequence[list[Text]], *, width: int) -> list[Text]:
    """Blocks of lines beside each other, as many as fit into `width`, the others below after an empty line."""
    lines: list[Text] = []
    for group in _packed(blocks, width=width):
        widths = [max((line.cell_len for line in block), default=0) for block in group]
        lines += [Text()] if lines else []
        for number in range(max(map(len, group))):
            parts = [block[number] if number < len(block) else Text() for block in group]
            lines.append(stripped(side_by_side(parts, widths)))
    return lines


def _packed(blocks: Sequence[list[Text]], *, width: int) -> Iterator[list[list[Text]]]:
    """The blocks in groups that fit beside each other; one that is too wide stands alone."""
    group: list[list[Text]] = []
    used = 0
    for block in blocks:
        size = max((line.cell_len for line in block), default=0)
        if group and used + len(BLOCK_GAP) + size > width:
            yield group
            group = []
        used = used + len(BLOCK_GAP) + size if group else size
        group.append(block)
    if group:
        yield group


def side_by_side(parts: Sequence[Text], widths: Sequence[int], *, between: str = BLOCK_GAP) -> Text:
    """Texts beside each other, each but the last filled up to its width."""
    line = Text()
    for part, width in zip(parts[:-1], widths, strict=False):
        line.append_text(part).append(" " * (width - part.cell_len) + between)
    return line.append_text(parts[-1])


def stripped(line: Text) -> Text:
    """Without spaces at the end, unless they carry a background."""
    if not line.spans:
        line.rstrip()
    return line
