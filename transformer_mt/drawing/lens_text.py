"""The lens as text: a row for every piece, a column for every decoder layer."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from transformer_mt.drawing.layout import GAP, joined, padded, words_of, wrap_words
from transformer_mt.inspection.lens import Guess, Lens
from transformer_mt.views.text import escape_controls, format_weight


def lens_lines(lens: Lens, *, width: int) -> Iterator[str]:
    """The likeliest piece of every layer with its probability, `*` from the layer on that decides, then the words.

    Lines are at most `width` cells wide as far as a single layer fits; layers that do not make another block below.
    """
    rows = [escape_controls(piece) for piece in lens.written.pieces]
    columns = [_column(lens, layer) for layer in range(len(lens.guesses))]
    first, *blocks = _blocks(columns, rows, width=width)
    yield from first
    for block in blocks:
        yield ""
        yield from block
    yield ""
    for line in _decisions(lens):
        yield from (text.plain for text in wrap_words(words_of(line), width=width))


def _column(lens: Lens, layer: int) -> list[str]:
    """The heading and the cells of a layer."""
    cells = [f"layer {layer + 1}"]
    for decided, (best, *_) in zip(lens.decided, lens.guesses[layer], strict=True):
        cells.append(_cell(best, is_decided=decided is not None and layer + 1 >= decided))
    return cells


def _cell(guess: Guess, *, is_decided: bool) -> str:
    return f"{'*' if is_decided else ' '}{format_weight(guess.probability)} {escape_controls(guess.piece)}"


def _blocks(columns: Sequence[list[str]], rows: list[str], *, width: int) -> Iterator[list[str]]:
    """As many columns beside the rows' labels as fit, at least one; the others in blocks that follow."""
    labels = ["writes", *rows]
    block, left = [padded(labels)], width - max(map(cell_len, labels))
    for column in columns:
        needed = len(GAP) + max(map(cell_len, column))
        if needed > left and len(block) > 1:
            yield joined(block)
            block, left = [padded(labels)], width - max(map(cell_len, labels))
        block.append(padded(column))
        left -= needed
    yield joined(block)


def _decisions(lens: Lens) -> Iterator[str]:
    """Which words are decided in which layer; words that never are stand last."""
    layers = lens.words_decided
    for layer in (*range(1, len(lens.guesses) + 1), None):
        words = [word for word, decided in zip(lens.written.words, layers, strict=True) if decided == layer]
        if words:
            where = "not what the model would write" if layer is None else f"decided from layer {layer} on"
            yield f"{where}: {' '.join(map(escape_controls, words))}"
