"""Near-duplicates between training pairs and others, against a comparison of all pairs."""

import random
import time

import pytest

from transformer_mt.corpus import near_duplicates as module
from transformer_mt.corpus.near_duplicates import SIMILAR, near_duplicates

COLOURS = [("schwarzer", "black"), ("brauner", "brown")]
WORDS = [
    "der",
    "die",
    "das",
    "Hund",
    "Katze",
    "Vogel",
    "Baum",
    "Haus",
    "schläft",
    "singt",
    "sieht",
    "kauft",
    "heute",
    "morgen",
    "immer",
    "nie",
    "gern",
    "bald",
]


def ngrams(pair: tuple[str, str]) -> set[str]:
    """The character 4-grams of a pair, and the shorter ones at its ends."""
    text = f"{pair[0]} {pair[1]}".lower().strip()
    return {text[max(0, start) : start + 4] + "!" * (start < 0) for start in range(-3, len(text))}


def similarity(pair: tuple[str, str], other: tuple[str, str]) -> float:
    one, two = ngrams(pair), ngrams(other)
    return len(one & two) / len(one | two)


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [(" ".join(draw.choices(WORDS, k=7)), " ".join(draw.choices(WORDS, k=7))) for _ in range(count)]


def changed(pair: tuple[str, str], words: int, draw: random.Random) -> tuple[str, str]:
    parts = [*pair[0].split(), "|", *pair[1].split()]
    for place in draw.sample([*range(7), *range(8, 15)], words):
        parts[place] = draw.choice(WORDS)
    source, target = " ".join(parts).split(" | ")
    return source, target


def test_finds_what_a_comparison_of_all_pairs_finds() -> None:
    train, draw = sentences(83, 1), random.Random(2)
    others = list(dict.fromkeys(changed(pair, number % 7, draw) for number, pair in enumerate(train)))
    exact = {other for other in others if any(similarity(other, pair) >= SIMILAR for pair in train)}
    found = near_duplicates(train, others)
    assert found.keys() <= exact
    assert len(found) >= 0.97 * len(exact)
    assert 20 < len(exact) < len(others) - 20  # both kinds
    assert all(similarity(other, pair) >= SIMILAR for other, pair in found.items())
    assert near_duplicates(train, others) == found
    assert near_duplicates(train, sentences(83, 3)) == {}


def test_the_examples_of_the_documentation_are_on_both_sides_of_the_limit() -> None:
    girl = ("Ein blondes Mädchen schläft auf einer braunen Couch.", "A blond girl sleeps on a brown couch.")
    couch = ("Ein blondes Mädchen schläft auf einer Couch.", "A blond girl sleeps on a couch.")
    dogs = [(f"Ein {de} Hund springt über eine Hürde.", f"A {en} dog jumping over a hurdle.") for de, en in COLOURS]
    assert near_duplicates([couch, dogs[0]], [girl, dogs[1]]) == {girl: couch}
    assert 0.6 < similarity(*dogs) < SIMILAR < similarity(girl, couch)


def test_case_and_punctuation_do_not_matter() -> None:
    pair = ("Drei Hunde, die spielen.", "Three dogs: playing!")
    other = ("drei Hunde die spielen", "\u201cTHREE dogs playing\u201d")
    assert near_duplicates([pair], [other]) == {other: pair}
    assert near_duplicates([pair], [(pair[0], "Something else entirely, and longer")]) == {}


@pytest.mark.parametrize("pair", [("", ""), ("a", "b"), ("!", "?"), ("你好", "नमस्ते"), ("\ud800", "x" * 5_000)])
def test_any_text_is_like_itself(pair: tuple[str, str]) -> None:
    assert near_duplicates([("zzzz", "yyyy"), pair], [pair]) == {pair: pair}
    assert near_duplicates([(f"{pair[0]}!", pair[1]), pair], [pair]) == {pair: pair}


def test_vowel_signs_are_part_of_words() -> None:
    assert near_duplicates([("किताब", "पानी")], [("कतब", "पन")]) == {}


def test_finds_all_of_many_near_duplicates_of_one_pair() -> None:
    rooms = [(f"Das dritte Zimmer {number} ist frei", f"the third room {number} is free") for number in range(10, 99)]
    assert near_duplicates(rooms[:1], rooms).keys() == {*rooms}
    assert near_duplicates(rooms[:1], rooms[:1] * 99 + rooms[1:2]).keys() == {*rooms[:2]}


def test_a_corpus_of_one_pattern_takes_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    train = [(f"Zimmer {number} ist frei", f"room {number} is free") for number in range(1_000, 1_500)]
    compared = 0

    class Counted(set[int]):
        def __and__(self, other: object) -> "set[int]":
            nonlocal compared
            compared += 1
            return set()

    real = module._ngrams
    monkeypatch.setattr(module, "_ngrams", lambda *pair: (Counted(real(*pair)[0]), real(*pair)[1]))
    others = [(f"Zimmer {number} ist frei", f"room {number} is free") for number in range(5_000, 5_500)]
    assert near_duplicates(train, others) == {}
    assert 0 < compared <= len(train) * 16 * module._FROM_BUCKET < len(train) * len(others) * 16


def test_is_quick() -> None:
    train, others = sentences(3_000, 4), sentences(300, 5)
    begun = time.process_time()
    near_duplicates(train, others)
    assert time.process_time() - begun < 2
