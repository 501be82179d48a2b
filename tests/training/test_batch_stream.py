from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.cache import cache_in
from support.processes import OneOf
from support.small_training import PAIRS, TRAIN, small_config

from transformer_mt.batching import encoded_pairs
from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import words_of_pairs
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.tokenizer.symbols import SPECIAL
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training import batch_stream
from transformer_mt.training.batch_stream import (
    BatchStream,
    WeightedCorpus,
    next_rows,
    train_tokenizer,
    training_words,
)

OLD = [SentencePair(f"alt {number}", f"old {number}") for number in range(23)]
LONG = ("model.max_length=99",)
VOCABULARY = TokenizerConfig(vocabulary_size=300)
NEW = WeightedCorpus(TRAIN, "new")
TOKENIZER = train_tokenizer([NEW], VOCABULARY)


def stream(
    *corpora: WeightedCorpus, overrides: Sequence[str] = (), distributed: Distributed | None = None
) -> BatchStream:
    config = small_config(*LONG, *overrides)
    return BatchStream(corpora, TOKENIZER, config, distributed=distributed or Distributed())


def mixed(weight: float, *overrides: str) -> BatchStream:
    return stream(NEW, WeightedCorpus(OLD, "old", weight=weight), overrides=overrides)


def taken(mixture: BatchStream, epoch: int) -> list[int]:
    """The positions of an epoch's pairs in both corpora together."""
    pairs, rows = mixture.pairs_of(epoch)
    return pairs.pair_index[slice(None) if rows is None else rows].tolist()


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_epochs_walk_through_one_permutation_after_another(weight: float) -> None:
    for overrides in ((), ("tokenizer.sampling=subword",)):  # changes only the tokens
        mixture = mixed(weight, *overrides)
        for epoch in (0, 3, 1):
            rows = next_rows(23, 31 * weight, seed=derive_seed(small_config().training.seed, 1), epoch=epoch)
            assert taken(mixture, epoch) == [*range(31), *(31 + rows).tolist()]


def test_sampled_mixtures_are_segmented_again_each_epoch() -> None:
    mixture = mixed(1.0, "tokenizer.sampling=subword")
    first, second = (mixture.pairs_of(epoch)[0].batch(range(62)) for epoch in (0, 1))
    assert first.pairs[:31] == second.pairs[:31] == list(range(31))
    assert first.source.tolist() != second.source.tolist()
    assert mixture.pairs_of(0)[0].batch(range(62)).source.equal(first.source)
    for pair, source in zip(first.pairs, first.source.tolist(), strict=True):
        assert TOKENIZER.decode([token for token in source if token not in SPECIAL]) == [*TRAIN, *OLD][pair].source


@pytest.mark.parametrize("count", [0, 3])
def test_epoch_without_pairs_of_a_sampled_mixture_works(count: int) -> None:
    long = [SentencePair("lang " * 99, "long " * 99)] * 5
    corpora = (
        NEW,
        WeightedCorpus(long, "long", weight=max(count / 31, 1e-9)),
        WeightedCorpus(OLD, "old", weight=3 / 31),
    )
    encoded, _ = stream(*corpora, overrides=("tokenizer.sampling=subword",)).pairs_of(0)
    assert encoded.too_long == count
    assert [position >= 31 + 5 for position in encoded.pair_index.tolist()] == [False] * 31 + [True] * 3


def test_single_corpus_is_used_whole_and_encoded_once() -> None:
    alone = stream(NEW)
    pairs, rows = alone.pairs_of(0)
    assert rows is None
    assert len(pairs) == 31
    assert alone.pairs_of(1)[0] is pairs


@given(pairs=st.integers(1, 12), share=st.floats(0, 30), seed=st.integers(0, 99))
@example(pairs=60, share=0.004 * 114, seed=1)
@example(pairs=60, share=0.0125 * 114, seed=1)
@example(pairs=1, share=0.01, seed=1)
def test_next_rows_walks_through_permutations(pairs: int, share: float, seed: int) -> None:
    epochs = [next_rows(pairs, share, seed=seed, epoch=epoch).tolist() for epoch in range(100)]
    assert all(abs(len(drawn) - share) < 1 + 1e-9 for drawn in epochs)
    rows = [row for drawn in epochs for row in drawn]
    assert abs(len(rows) - 100 * share) < 1 + 1e-9
    for start, end in pairwise(range(0, len(rows) + 1, pairs)):
        assert sorted(rows[start:end]) == list(range(pairs))


@pytest.mark.parametrize("share", [0.004 * 114, 0.0125 * 114, 0.05])
def test_the_first_epoch_has_its_share_over_the_seeds(share: float) -> None:
    drawn = sum(len(next_rows(60, share, seed=seed, epoch=0)) for seed in range(2_000))
    assert drawn / 2_000 == pytest.approx(share, abs=0.04)


def test_vocabulary_is_learned_from_a_sample_of_every_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_stream, "_SAMPLED_TOGETHER", 1)
    learned: list[list[str]] = []
    monkeypatch.setattr(Tokenizer, "train", lambda texts, config, whole, tags: learned.append(list(texts)) or TOKENIZER)
    train_tokenizer([WeightedCorpus(PAIRS, "all"), WeightedCorpus(OLD, "old")], TokenizerConfig(sample=4))
    spread = [pairs[number * len(pairs) // 5] for pairs in (PAIRS, OLD) for number in range(5)]
    assert learned == [[text for pair in spread for text in (pair.source, pair.target)]]


def test_vocabulary_of_a_large_corpus_is_learned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path, monkeypatch)
    monkeypatch.setattr(batch_stream, "IN_MEMORY", 30)
    shares, config = [WeightedCorpus(TRAIN, "digest")], TokenizerConfig(vocabulary_size=9_999)
    first = train_tokenizer(shares, config)
    assert first.note
    monkeypatch.setattr(Tokenizer, "train", None)
    again = train_tokenizer(shares, config)
    assert (again.serialized, again.note) == (first.serialized, first.note)
    for changed in (([WeightedCorpus(TRAIN, "another")], config), (shares, VOCABULARY)):
        with pytest.raises(TypeError):
            train_tokenizer(*changed)


def test_words_of_a_large_corpus_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path, monkeypatch)
    monkeypatch.setattr(batch_stream, "IN_MEMORY", 30)
    shares = [WeightedCorpus(TRAIN, "digest"), WeightedCorpus(OLD, "old", weight=0.1)]
    words = training_words(shares)
    assert words == words_of_pairs([*TRAIN, *OLD])
    assert len(list(tmp_path.glob("*.bytes"))) == 1
    counted = []
    monkeypatch.setattr(
        batch_stream, "words_of_pairs", lambda pairs: counted.append(len(pairs)) or words_of_pairs(pairs)
    )
    assert training_words(shares) == words
    assert counted == [len(OLD)]
    training_words([WeightedCorpus(TRAIN, "another")])
    assert counted == [len(OLD), len(TRAIN)]


def test_tokens_of_a_large_corpus_are_cached_under_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path, monkeypatch)
    monkeypatch.setattr(encoded_pairs, "IN_MEMORY", 30)
    stream(WeightedCorpus(TRAIN, "digest"), WeightedCorpus(OLD, "old"))
    assert len(list(tmp_path.glob("*.arrow"))) == 1


def content(batch: Batch) -> list[object]:
    return [batch.pairs, batch.source.tolist(), batch.decoder_input.tolist(), batch.labels.tolist()]


@pytest.mark.parametrize("overrides", [(), ("tokenizer.sampling=subword",)])
def test_seek_matches_taking_batches_in_order(overrides: tuple[str, ...]) -> None:
    walking = stream(NEW, overrides=overrides)
    places, walked, orders = [], [], defaultdict(list)
    for _ in range(3 * len(walking.plan)):
        places.append((walking.epoch, walking.index))
        walked.append(walking.take())
        orders[walking.epoch] += walked[-1].pairs
    assert walking.epoch >= 2
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(len(TRAIN)))
    seeking = stream(NEW, overrides=overrides)
    for number in (len(walked) - 1, 1, len(walked) // 2, 0):
        seeking.seek(*places[number])
        assert content(seeking.take()) == content(walked[number])


@pytest.mark.parametrize("count", [2, 3])
def test_several_processes_share_the_batches_of_one(count: int) -> None:
    alone = stream(NEW)
    shared = [stream(NEW, distributed=OneOf(count, rank)) for rank in range(count)]
    for epoch in range(2):
        alone.seek(epoch, 0)
        all_batches = {tuple(batch.tolist()) for batch in alone.plan}
        taken = [tuple(one.take().pairs) for _ in range(len(alone.plan) // count) for one in shared]
        assert len(set(taken)) == len(taken)
        assert set(taken) <= all_batches
        assert len(all_batches) - len(taken) < count
        assert {(one.epoch, one.index) for one in shared} == {(epoch, len(taken))}
