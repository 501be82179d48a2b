"""Right-to-left guesses stay in their columns (UAX #9, by python-bidi)."""

import torch
from support.right_to_left import moved

from transformer_mt.extensions.lens.lens import Lens, lens_lines

HEBREW = ("▁המורה", "▁קורא", "ספר(", "٣", "</s>")


def test_lens_guesses_stay_in_their_columns() -> None:
    pieces, numbers = HEBREW, torch.full((2, len(HEBREW), 1), 0.25)
    guesses = tuple(tuple((piece,) for piece in pieces) for _ in range(2))
    decided: tuple[int | None, ...] = (1, 2, None, 1, 1)
    owners = tuple((number,) for number in range(len(pieces)))
    lens = Lens("x", "y", pieces, pieces, owners, guesses, numbers, numbers[:, :, 0], decided)
    for width in (80, 30, 20):
        lines = [*lens_lines(lens, width=width)]
        assert not moved(lines, "0123456789*")
    assert any(line.plain.startswith("\u2068▁המורה\u2069 ") for line in lines)
