"""The built-in corpus from the cache is the one that was made."""

import pytest

from transformer_mt.corpus.builtin import generate_corpus, kept, kept_corpus
from transformer_mt.errors import MachineError

SIZES = {"train": 31, "validation": 3, "test": 5}


def refuse(**sizes: int) -> None:
    raise AssertionError(f"made again: {sizes}")


def test_kept_corpus_is_the_one_made_with_links_references_and_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate_corpus(**SIZES, seed=19)
    assert kept_corpus(**SIZES, seed=19) == made
    monkeypatch.setattr(kept, "generate_corpus", refuse)
    assert kept_corpus(**SIZES, seed=19) == made
    assert list(kept_corpus(**SIZES, seed=19)) == list(made)


def test_another_seed_size_or_grammar_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kept_corpus(**SIZES, seed=23)
    monkeypatch.setattr(kept, "generate_corpus", refuse)
    with pytest.raises(AssertionError, match="made again"):
        kept_corpus(**SIZES, seed=29)
    with pytest.raises(AssertionError, match="made again"):
        kept_corpus(**{**SIZES, "train": 37}, seed=23)
    monkeypatch.setattr(kept, "_digest", lambda: "another grammar")
    with pytest.raises(AssertionError, match="made again"):
        kept_corpus(**SIZES, seed=23)


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise MachineError("cache: no room left; free some")

    monkeypatch.setattr(kept, "kept_table", fail)
    assert kept_corpus(**SIZES, seed=31) == generate_corpus(**SIZES, seed=31)
