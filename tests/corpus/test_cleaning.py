from collections.abc import Sequence
from typing import Any

import pytest

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.clean_corpus import clean_splits
from transformer_mt.corpus.cleaning import SplitReport
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.text.normalize import normalize


def cleaned(
    pairs: Sequence[tuple[str, str]], *remove: str, max_words: int = 100, split: str = "train", **others: Any
) -> tuple[list[tuple[str, str]], SplitReport]:
    """Clean a split along with others. Returns its kept pairs and its report."""
    config = DataConfig(remove=remove or DataConfig().remove, max_words=max_words, max_ratio=3.0)
    splits = {name: [SentencePair(*pair) for pair in given] for name, given in {split: pairs, **others}.items()}
    done = clean_splits(splits, config, name="x")[split]
    return [(pair.source, pair.target) for pair in done.pairs], done.report


PROBLEMATIC: dict[str, tuple[list[tuple[str, str]], list[int]]] = {
    "empty": ([("a", "b"), ("", "b"), ("a", "\x00")], [1, 2]),
    "long": ([("a", "b"), ("a " * 101, "b " * 101), ("a " * 100, "b " * 100)], [1]),
    "ratio": ([("a", "b c d"), ("a", "b c d e"), ("a b c d", "e")], [1, 2]),
    "copy": ([("a", "b"), ("Das  ist", "Das ist")], [1]),
    "control": ([("a\tb\r\n", "b"), ("a\x07", "b"), ("a", "b\rc"), ("a", "b\u2028c")], [1, 2, 3]),
    "script": (
        [("ein Hund", "dog"), ("Собака", "dog"), ("7", "–"), ("ein β", "dog"), ("a", "犬です。"), ("ö’", "x")],
        [1, 4],
    ),
    "duplicate": ([("a", "b"), ("a", "c"), (" a", "b "), ("b", "a"), ("a", "b")], [2, 4]),
    "overlap": ([("v", "w"), ("t", "u"), ("v", "u"), ("t ", "u")], [0, 1, 3]),
    "ambiguous": ([("a", "b"), (" a", "c"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")], [1, 3, 4]),
}
ELSEWHERE = {"validation": [("v", "w")], "test": [("t", "u"), ("t", "u")]}


@pytest.mark.parametrize("problem", PROBLEMATIC)
def test_counts_every_problem_and_removes_only_configured_ones(problem: str) -> None:
    pairs, hit = PROBLEMATIC[problem]
    texts = [(normalize(source), normalize(target)) for source, target in pairs]
    kept, report = cleaned(pairs, "copy" if problem != "copy" else "control", **ELSEWHERE)
    assert kept == texts
    assert report.found[problem] == len(hit)
    kept, report = cleaned(pairs, problem, **ELSEWHERE)
    assert kept == [pair for index, pair in enumerate(texts) if index not in hit]
    assert (report.read, report.kept, report.left_out) == (len(pairs), len(kept), {problem: len(hit)})
    examples = report.examples[problem]
    assert [example.number - 1 for example in examples] == hit[:3]
    assert [(example.source, example.target) for example in examples] == [
        tuple(text[:200] for text in texts[index]) for index in hit[:3]
    ]


def test_keeps_the_first_clean_pair_of_a_source() -> None:
    pairs = [("a", "犬"), ("v", "w"), ("a", "b"), ("a", "c"), ("v", "x"), ("v", "y"), ("v", "x")]
    kept, report = cleaned(pairs, "script", "duplicate", "overlap", "ambiguous", **ELSEWHERE)
    assert kept == [("a", "b"), ("v", "x")]
    assert report.left_out == {"script": 1, "duplicate": 1, "overlap": 1, "ambiguous": 2}


@pytest.mark.parametrize(("split", "count"), [("validation", 3), ("test", 4)])
def test_validation_loses_empty_and_long_pairs_and_a_test_set_only_empty_ones(split: str, count: int) -> None:
    pairs = [("a", "b"), ("a", "b"), ("same", "same"), ("a " * 101, "b"), ("", "b")]
    problems = ("empty", "long", "copy", "duplicate", "overlap")
    kept, report = cleaned(pairs, *problems, split=split, train=[("a", "b"), ("c", "d")])
    assert len(kept) == count
    assert (report.found["duplicate"], report.found["copy"], report.found["overlap"]) == (1, 1, 0)


def test_sentences_without_letters_have_no_script() -> None:
    pairs = [("7", "1"), ("8", "2"), ("9", "3"), ("a", "b")]
    assert cleaned(pairs, "script")[0] == pairs


def test_a_corpus_sums_the_removed_pairs_of_all_splits() -> None:
    long = "b " * 101
    corpus = Corpus.from_pairs({"train": [("", "b"), ("a", "a"), ("a", long)], "test": [(long, "a"), ("a", "b")]})
    assert corpus.left_out == {"empty": 1, "long": 1}  # a test set keeps its long pairs


@pytest.mark.parametrize("side", [0, 1])
def test_a_long_text_without_spaces_counts_as_words(side: int) -> None:
    def pair(length: int) -> tuple[str, str]:
        return ("a" * length, "b") if side == 0 else ("b", "a" * length)

    kept, report = cleaned([pair(300), pair(301)], max_words=3)
    assert kept == [pair(300)]
    assert report.left_out == {"empty": 0, "long": 1}
