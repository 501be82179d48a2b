"""Hand-written pairs, by phenomenon: the grammar must generate each of them from its derivation."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from grammar.realise import realise
from grammar.tests.derivations import derivation

PAIRS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("gold_pairs.toml").read_text(encoding="utf-8")
)
ROWS = [row for rows in PAIRS.values() for row in rows]
CASES = [pytest.param(row, id=f"{name}: {row['german']}") for name, rows in PAIRS.items() for row in rows]


@pytest.mark.parametrize("row", CASES)
def test_grammar_says_the_derivation_as_people_do(row: dict[str, Any]) -> None:
    pair = realise(derivation(row))
    assert (pair.source, pair.target) == (row["german"], row["english"])


@pytest.mark.parametrize(
    ("within", "german"),
    [
        (True, "Ich bleibe hier, weil ich müde bin und schlafen muss."),
        (False, "Ich bleibe hier, weil ich müde bin, und ich muss schlafen."),
    ],
)
def test_what_goes_on_with_a_subordinate_clause_has_its_order(within: bool, german: str) -> None:
    sentence = derivation(
        {"says": "ich; bleiben; hier", "joined": ["weil: ich; müde; sein", "und: ich; schlafen; müssen"]}
    )
    sentence.joined[1].within = within
    assert realise(sentence).source == german


def test_there_are_enough_reviewed_pairs() -> None:
    assert len({row["german"] for row in ROWS}) == len(ROWS) >= 170
    assert len(PAIRS) >= 20
