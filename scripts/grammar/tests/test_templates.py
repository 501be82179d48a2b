"""Pairs of the templates, and pairs without umlauts."""

import re
from random import Random

import pytest

from grammar.__main__ import MORE, TEST_COPY
from grammar.templates import COPIES, TOPICS, WORDS, filled, marked, without_umlauts
from grammar.trees import ParsedPair
from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.corpus.pairs import SentencePair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[SentencePair]]:
    return builtin_corpus(train=80_000 + sum(MORE.values()), validation=500, test=1_000)


def test_no_sentence_of_test_copy_is_in_training(corpus: dict[str, list[SentencePair]]) -> None:
    trained = {text for pair in corpus["train"] for text in (pair.source, pair.target)}
    assert len(corpus["test_copy"]) == TEST_COPY
    assert not trained & {text for pair in corpus["test_copy"] for text in (pair.source, pair.target)}


def test_marked_strings_are_in_the_source_letter_by_letter_or_with_german_marks(
    corpus: dict[str, list[SentencePair]],
) -> None:
    strings = [(one, pair.source) for pair in corpus["test_copy"] for one in marked(pair.target)]
    assert len(strings) > TEST_COPY
    for one, source in strings:
        german = one.translate(str.maketrans(",.", ".,"))
        inner = re.sub(r'^["$£€]|["%]$', "", one), re.sub(r"^[$£€]|%$", "", german)
        assert any(form in source for form in inner) or one.replace(":", ".") in source, (one, source)


@pytest.mark.parametrize(
    ("target", "strings"),
    [
        ("It costs €1,299.00.", ["€1,299.00"]),
        ("Write to me at anna@example.org!", ["anna@example.org"]),
        ('What does "carpe diem" mean?', ['"carpe diem"']),
        ("Please open notes.txt, at 14:30.", ["notes.txt", "14:30"]),
        ("He is here. It's fine – really. 👍🎉", ["👍🎉"]),
        ("The bakery's door is open.", []),
    ],
)
def test_marks_what_a_translation_must_keep(target: str, strings: list[str]) -> None:
    assert marked(target) == strings


def test_without_umlauts_only_spells_the_source_another_way() -> None:
    pairs = [SentencePair("Schöne Grüße!", "Best wishes!"), SentencePair("Guten Tag!", "Hello!")]
    assert without_umlauts(1, pairs, Random(7)) == [ParsedPair("Schoene Gruesse!", "Best wishes!", None)]


def test_templates_fill_every_slot_on_both_sides(corpus: dict[str, list[SentencePair]]) -> None:
    for template in COPIES + TOPICS:
        [pair] = filled([template], 1, corpus["train"][:2_000], Random(7), set())
        assert not set("{}") & set(pair.source + pair.target), pair


def test_a_slot_with_a_capital_has_the_content_of_the_other_side(corpus: dict[str, list[SentencePair]]) -> None:
    [pair] = filled([["Gegen {power}.", "{Power} in the way."]], 1, corpus["train"][:2_000], Random(7), set())
    german = pair.source.removeprefix("Gegen ").removesuffix(".")
    english = pair.target.removesuffix(" in the way.")
    assert f"{german}:{english[0].lower()}{english[1:]}" in WORDS["power"]


def test_the_same_seed_gives_the_same_pairs(corpus: dict[str, list[SentencePair]]) -> None:
    training = corpus["train"][:2_000]
    assert filled(COPIES, 50, training, Random(7), set()) == filled(COPIES, 50, training, Random(7), set())
    assert without_umlauts(50, training, Random(7)) == without_umlauts(50, training, Random(7))
    assert len(dict.fromkeys(filled(COPIES, 50, training, Random(7), set()))) == 50
