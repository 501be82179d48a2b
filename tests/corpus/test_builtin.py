"""The built-in corpus."""

import pytest

from transformer_mt.corpus.builtin import SHOWCASE, SPLITS, builtin_corpus
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.text.words import words

WHOLE = {"train": 222_922, "validation": 500, "test": 1_000}


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[SentencePair]]:
    return builtin_corpus(**WHOLE)


def test_splits_have_their_sizes(corpus: dict[str, list[SentencePair]]) -> None:
    assert {split: len(pairs) for split, pairs in corpus.items()} == {
        **dict.fromkeys(SPLITS, 1_000), **WHOLE, "test_everyday": 150, "test_copy": 500
    }  # fmt: skip


def test_all_but_everyday_pairs_and_copies_have_valid_links(corpus: dict[str, list[SentencePair]]) -> None:
    for split, pairs in corpus.items():
        for pair in pairs[:200]:
            assert (pair.links is None) == (split in ("test_everyday", "test_copy"))
            for source, target in pair.links or ():
                assert words(pair.source)[source], words(pair.target)[target]


def test_a_smaller_corpus_is_the_first_pairs(corpus: dict[str, list[SentencePair]]) -> None:
    small = builtin_corpus(train=11, validation=7, test=5)
    assert len(small["test"]) == 5
    for split, pairs in small.items():
        assert [pair.source for pair in pairs] == [pair.source for pair in corpus[split][: len(pairs)]]


def test_references_differ_from_the_target(corpus: dict[str, list[SentencePair]]) -> None:
    found = [pair for pair in corpus["test"] if pair.references and pair.source_references]
    assert len(found) == 180
    for pair in found:
        assert pair.target not in pair.references
        assert pair.source not in pair.source_references


def test_no_split_contains_the_showcase(corpus: dict[str, list[SentencePair]]) -> None:
    assert all(pair.source != SHOWCASE for pairs in corpus.values() for pair in pairs)


@pytest.mark.parametrize(("key", "size"), [(key, size + 1) for key, size in WHOLE.items()])
def test_requesting_too_many_pairs_is_an_error(key: str, size: int) -> None:
    with pytest.raises(InputError, match=f"^data.builtin.{key}: {size:,}, but .* has {size - 1:,} pairs; lower it$"):
        builtin_corpus(**{"train": 3, "validation": 3, "test": 3, key: size})
