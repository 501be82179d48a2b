"""Hand-written pairs, by phenomenon: the grammar must make each of them from its derivation."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.derivations import derivation

from transformer_mt.corpus.builtin.realise import realise

PAIRS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("gold_pairs.toml").read_text(encoding="utf-8")
)
ROWS = [row for rows in PAIRS.values() for row in rows]
CASES = [pytest.param(row, id=f"{name}: {row['german']}") for name, rows in PAIRS.items() for row in rows]


@pytest.mark.parametrize("row", CASES)
def test_grammar_says_the_derivation_as_people_do(row: dict[str, Any]) -> None:
    pair = realise(derivation(row))
    assert (pair.source, pair.target) == (row["german"], row["english"])


def test_there_are_enough_reviewed_pairs() -> None:
    assert len({row["german"] for row in ROWS}) == len(ROWS) >= 170
    assert len(PAIRS) >= 20
