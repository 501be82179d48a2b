from dataclasses import replace

import pytest
import torch

from transformer_mt.drawing.lens_text import lens_lines
from transformer_mt.inspection.lens import Guess, Lens
from transformer_mt.views.words import Tokens

LIKELIEST = (("▁of", "▁a", "ing", "?"), ("▁the", "▁dog", "s", "."), ("▁The", "▁dog", "gy", "</s>"))
PROBABILITIES = ((0.125, 0.5, 0.25, 1.0), (0.5, 0.25, 0.004, 0.5), (0.996, 0.75, 0.5, 0.25))


def lens(*decided: int | None) -> Lens:
    """Three layers over the pieces of *The doggy*, decided in these layers."""
    written = Tokens((5, 6, 7, 3), ("▁The", "▁dog", "gy", "</s>"), ("The", "doggy", "</s>"), (0, 1, 1, 2))
    guesses = tuple(
        tuple((Guess(piece, number), Guess("▁other", 0.0625)) for piece, number in zip(*layer, strict=True))
        for layer in zip(LIKELIEST, PROBABILITIES, strict=True)
    )
    nothing = torch.zeros(3, 4, 2)
    return Lens("Das Hündchen", "The doggy", written, guesses, nothing.long(), nothing, nothing[:, :, 0], decided)


def test_each_layer_says_what_is_likeliest_with_a_star_from_where_it_stays() -> None:
    assert [*lens_lines(lens(3, 2, None, 1), width=80)] == [
        "writes  layer 1   layer 2    layer 3",
        "▁The     .12 ▁of   .50 ▁the  *1.0 ▁The",
        "▁dog     .50 ▁a   *.25 ▁dog  *.75 ▁dog",
        "gy       .25 ing   .00 s      .50 gy",
        "</s>    *1.0 ?    *.50 .     *.25 </s>",
        "",
        "decided from layer 1 on: </s>",
        "decided from layer 3 on: The",
        "not what the model would write: doggy",
    ]


@pytest.mark.parametrize(("width", "blocks"), [(38, 1), (37, 2), (27, 2), (26, 3), (20, 3), (1, 3)])
def test_layers_that_do_not_fit_stand_in_blocks_below(width: int, blocks: int) -> None:
    lines = [*lens_lines(lens(3, 2, 2, 1), width=width)]
    tables = "\n".join(lines).split("\n\n")[:-1]
    assert len(tables) == blocks
    assert "".join(table.split("\n")[0] for table in tables).count("layer") == 3
    for table in tables:
        assert [line.split()[0] for line in table.split("\n")] == ["writes", "▁The", "▁dog", "gy", "</s>"]
        assert max(map(len, table.split("\n"))) <= max(width, 20)


def test_what_is_decided_where_goes_on_in_the_next_line() -> None:
    assert [*lens_lines(lens(2, 1, 2, None), width=26)][-4:] == [
        "decided from layer 2 on:",
        "The doggy",
        "not what the model would",
        "write: </s>",
    ]


def test_words_are_told_by_the_layer_that_decides_them_and_only_those() -> None:
    assert [*lens_lines(lens(2, 1, 2, None), width=80)][6:] == [
        "decided from layer 2 on: The doggy",
        "not what the model would write: </s>",
    ]


def test_pieces_and_words_cannot_command_a_terminal() -> None:
    found = lens(1, 1, 1, None)
    written = Tokens((5, 6, 7, 3), ("\x1b[2J", "▁dog", "gy", "</s>"), ("\u202eevil", "doggy", "</s>"), (0, 1, 1, 2))
    evil = (((Guess("\x9b1m", 0.5),),) * 4, *found.guesses[1:])
    text = "\n".join(lens_lines(replace(found, written=written, guesses=evil), width=80))
    assert not {"\x1b", "\u202e", "\x9b"} & set(text)
    assert {"␛[2J", "⟨U+202E⟩evil", "⟨U+009B⟩1m"} <= set(text.split())
