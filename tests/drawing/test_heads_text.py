from dataclasses import replace

import pytest

from transformer_mt.drawing.heads_text import CASES, head_lines
from transformer_mt.inspection.head_table import LOOKS, HeadFigures, HeadTable, RelationFigures
from transformer_mt.inspection.intervals import Estimate
from transformer_mt.inspection.relations import Kind
from transformer_mt.registry import HeadName


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.25, value + 0.125)


def head(stack: str, number: int, *, loss: float, gradient: float) -> HeadFigures:
    looks = {look: estimate(0.5 + place) for place, look in enumerate(LOOKS) if look != "aligned" or stack == "cross"}
    return HeadFigures(HeadName(stack, 1, number), {"aligned": None} | looks, estimate(loss), gradient)


HEADS = (
    *(head("decoder", number, loss=number / 8, gradient=1.0 - number / 4) for number in (1, 2)),
    *(head("cross", number, loss=number / 2, gradient=number / 4) for number in (1, 3)),
)


def relation(name: str, looked_for: str, *shares: float, baseline: float, count: int = CASES) -> RelationFigures:
    """A relation that the cross-attention heads find so often."""
    found = {one.name: estimate(share) for one, share in zip(HEADS[2:], shares, strict=True)}
    return RelationFigures("cross", Kind(name, looked_for), count, -1, estimate(baseline), found)


TABLE = HeadTable(
    sentences=7,
    loss=estimate(1.5),
    bleu=None,
    heads=HEADS,
    relations=(
        relation("nsubj", "head", 0.25, 0.5, baseline=0.375),
        relation("nsubj", "dependent", 0.75, 0.5, baseline=0.25),
        relation("det", "head", 0.25, 0.25, baseline=0.5, count=CASES - 1),
    ),
)


def test_what_heads_do_as_text() -> None:
    assert [*head_lines(TABLE)] == [
        "7 sentences, loss 1.500 ±0.250 nats a token",
        "± is the 95 % interval over sentences, wherever it stands",
        "",
        "decoder self-attention: where each head looks",
        "head       entropy    distance  before    same   after  punct.     <s>",
        "1.1     0.50 ±0.25  1.50 ±0.25 250 ±25 350 ±25 450 ±25 650 ±25 750 ±25",
        "1.2     0.50 ±0.25  1.50 ±0.25 250 ±25 350 ±25 450 ±25 650 ±25 750 ±25",
        "",
        "cross-attention: where each head looks",
        "head       entropy    distance  before    same   after  linked  punct.    </s>",
        "1.1     0.50 ±0.25  1.50 ±0.25 250 ±25 350 ±25 450 ±25 550 ±25 650 ±25 750 ±25",
        "1.3     0.50 ±0.25  1.50 ±0.25 250 ±25 350 ±25 450 ±25 550 ±25 650 ±25 750 ±25",
        "",
        "what is lost without each head, the most important first",
        "head           loss rises by  gradient  beats the baseline at",
        "cross.1.3     1.5000 ±0.2500      0.75  nsubj → its dependent: 50 %, 25 %",
        "cross.1.1     0.5000 ±0.2500      0.25  nsubj → its dependent: 75 %, 25 %",
        "decoder.1.2   0.2500 ±0.2500      0.50",
        "decoder.1.1   0.1250 ±0.2500      0.75",
        "",
        "cross-attention: which head finds a relation best",
        "relation                      cases  head          found   at a fixed offset",
        "nsubj → its dependent            20  1.1       75 ±25 %    25 ±25 %  at -1",
        "",
        "rank correlation with what the loss rises by   gradient  best relation",
        "all heads                                         -0.11           0.74",
        "decoder self-attention                            -1.00           0.00",
        "cross-attention                                    1.00          -1.00",
    ]


def test_with_bleu_it_stands_in_place_of_the_relation() -> None:
    heads = tuple(replace(one, bleu=estimate(-0.5)) for one in TABLE.heads)
    lines = [*head_lines(replace(TABLE, heads=heads, bleu=estimate(44.0)))]
    assert lines[0] == "7 sentences, loss 1.500 ±0.250 nats a token, BLEU 44.00 ±0.25"
    first = lines.index("head           loss rises by  gradient     BLEU changes by")
    assert lines[first + 1] == "cross.1.3     1.5000 ±0.2500      0.75         -0.50 ±0.25"


def test_a_head_that_beats_no_baseline_is_not_said_to_find_anything() -> None:
    table = replace(TABLE, relations=(relation("det", "head", 0.25, 0.75, baseline=0.5),))
    lines = {line.split()[0]: line for line in head_lines(table) if line.startswith("cross.")}
    assert lines["cross.1.3"].endswith("det → its head: 75 %, 50 %")
    assert lines["cross.1.1"].endswith("0.25")


@pytest.mark.parametrize("relations", [(), TABLE.relations[2:]])
def test_without_relations_of_enough_cases_none_are_spoken_of(relations: tuple[RelationFigures, ...]) -> None:
    text = "\n".join(head_lines(replace(TABLE, relations=relations)))
    assert "relation" not in text.replace("rank correlation", "")
    assert "baseline" not in text


def test_large_numbers_and_long_names_stay_within_80_columns() -> None:
    doubtful = Estimate(-100.0, -100.0, 0.0)
    heads = tuple(replace(one, name=one.name._replace(layer=12, head=16), bleu=doubtful) for one in TABLE.heads)
    assert max(map(len, head_lines(replace(TABLE, bleu=doubtful, heads=heads, relations=())))) <= 80
