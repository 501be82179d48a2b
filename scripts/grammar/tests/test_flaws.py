"""No known language flaw in 20,000 pairs."""

import re
from collections import defaultdict

import pytest

from grammar import generate_corpus
from grammar.phrasebook import phrases
from grammar.splits import plain
from grammar.tests.flaws import PAIRS, PATTERNS, flaws

_THIS = re.compile(r"\b[Dd]ies(?:e[rsnm]?)\b(?! (?:Woche|Jahr|Monat|Wochenende))")


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_notices_its_flaw(name: str) -> None:
    _, pattern, flawed = PATTERNS[name]
    assert re.search(pattern, flawed)


@pytest.mark.parametrize("name", PAIRS)
def test_comparison_notices_its_flaw(name: str) -> None:
    has_flaw, flawed = PAIRS[name]
    assert has_flaw(flawed)


def test_no_flaw_in_twenty_thousand_pairs() -> None:
    fixed = {plain(pair.source) for pair in phrases()}
    splits = [
        split
        for seed in (5, 6, 7)
        for name, split in generate_corpus(train=7_903, validation=71, test=103, seed=seed).items()
        if name != "test_everyday"
    ]
    pairs = [pair for split in splits for pair in split if plain(pair.source) not in fixed]
    assert len(pairs) >= 20_000
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        for name in flaws(pair):
            found[name].append(f"{pair.source} | {pair.target}")
    assert not found, "\n".join(f"{name} ({len(said)}): {said[0]}" for name, said in found.items())
    assert sum(bool(_THIS.search(pair.source)) for pair in pairs) < 0.12 * len(pairs)
