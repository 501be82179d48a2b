"""Near-duplicates between training pairs and others, against a comparison of all pairs."""

import random
from pathlib import Path

import pytest
from near_duplicates import SIMILAR, main, near_duplicates
from support.command_line import PAIRS

WORDS = "der die das Hund Katze Vogel Baum Haus schläft singt sieht kauft heute morgen immer nie gern bald"
COUCH = ("Ein blondes Mädchen schläft auf einer Couch.", "A blond girl sleeps on a couch.")
BROWN_COUCH = ("Ein blondes Mädchen schläft auf einer braunen Couch.", "A blond girl sleeps on a brown couch.")
DOGS = [(f"Ein {de}er Hund springt über eine Hürde.", f"A {en} dog jumping over a hurdle.")
        for de, en in (("schwarz", "black"), ("braun", "brown"))]  # fmt: skip


def similarity(pair: tuple[str, str], other: tuple[str, str]) -> float:
    """By the character 4-grams of each pair, and the shorter ones at its ends."""
    one, two = (
        {text[max(0, start) : start + 4] + "!" * (start < 0) for start in range(-3, len(text))}
        for text in (" ".join(texts).lower().strip() for texts in (pair, other))
    )
    return len(one & two) / len(one | two)


def test_finds_what_a_comparison_of_all_pairs_finds() -> None:
    draw = random.Random(2)
    train = [
        (" ".join(draw.choices(WORDS.split(), k=7)), " ".join(draw.choices(WORDS.split(), k=7))) for _ in range(83)
    ]
    others = {}
    for number, (source, target) in enumerate(train):
        parts = source.split()
        for place in draw.sample(range(7), number % 7):
            parts[place] = draw.choice(WORDS.split())
        others[" ".join(parts), target] = None
    exact = {other for other in others if any(similarity(other, pair) >= SIMILAR for pair in train)}
    found = near_duplicates(train, others)
    assert found.keys() <= exact
    assert len(found) >= 0.97 * len(exact) > 20
    assert near_duplicates(train[:1], [("zzzz", "yyyy")]) == {}


def test_the_examples_of_the_documentation_are_on_both_sides_of_the_limit() -> None:
    assert near_duplicates([COUCH, DOGS[0]], [BROWN_COUCH, DOGS[1]]) == {BROWN_COUCH: COUCH}
    loud = (COUCH[0].upper().replace("ß", "ss"), COUCH[1].replace(".", "!"))
    assert near_duplicates([COUCH], [loud]) == {loud: COUCH}


def test_prints_counts_and_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, pairs in {"train": [*PAIRS, COUCH], "validation": PAIRS[:1], "test": [BROWN_COUCH, DOGS[0]]}.items():
        (tmp_path / f"{name}.de-en.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs), "utf-8")
    main(str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("test: 1 of 2 pairs (50.0%)")
    assert lines[start + 1 :] == [f"  {' | '.join(BROWN_COUCH)}", f"    train: {' | '.join(COUCH)}"]
