import random
from pathlib import Path

import pytest
import torch
from support.cache import cache_in
from torch import Tensor

from transformer_mt.batching import encoded_pairs
from transformer_mt.batching.encoded_pairs import EncodedPairs, TokenColumn, encode_pairs, encode_sampled, fitting
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, SPECIAL
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

WORDS = ("Hund", "Katze", "sieht", "die", "der", "große", "Straße")


def corpus(size: int) -> list[SentencePair]:
    draw = random.Random(1)
    sides = [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(2 * size)]
    return [SentencePair(source, target) for source, target in zip(sides[:size], sides[size:], strict=True)]


PAIRS = corpus(53)
TOKENIZER = Tokenizer.train((pair.source for pair in PAIRS), TokenizerConfig(vocabulary_size=285))


@pytest.fixture(scope="module")
def encoded() -> EncodedPairs:
    return encode_pairs(PAIRS, TOKENIZER, max_length=1_000)


def ids(sentences: TokenColumn) -> list[list[int]]:
    """The tokens of all sentences."""
    return [sentences[row].tolist() for row in range(len(sentences.lengths))]


def test_a_batch_contains_its_sentences(encoded: EncodedPairs) -> None:
    rows = [7, 2, 31, 7]
    batch = encoded.batch(rows)
    assert batch.pairs == rows
    for row, pair in enumerate(batch.pairs):
        source, target = TOKENIZER.encode(PAIRS[pair].source), TOKENIZER.encode(PAIRS[pair].target)
        assert without_padding(batch.source[row]) == [*source, EOS]
        assert without_padding(batch.decoder_input[row]) == [BOS, *target]
        assert without_padding(batch.labels[row]) == [*target, EOS]


def without_padding(row: Tensor) -> list[int]:
    """Strip the padding and check that only the end is padded."""
    tokens: list[int] = row.tolist()
    real = sum(token != PAD for token in tokens)
    assert tokens[real:] == [PAD] * (len(tokens) - real)
    return tokens[:real]


def test_a_batch_fits_its_longest_sentence_and_counts_real_tokens(encoded: EncodedPairs) -> None:
    rows = [3, 4, 5]
    batch = encoded.batch(rows)
    assert batch.source.shape == (3, int(encoded.source_lengths[rows].max()))
    assert batch.decoder_input.shape == batch.labels.shape == (3, int(encoded.target_lengths[rows].max()))
    assert batch.source_tokens == int((batch.source != PAD).sum()) == int(encoded.source_lengths[rows].sum())
    assert batch.target_tokens == int((batch.labels != PAD).sum()) == int(encoded.target_lengths[rows].sum())


def test_a_batch_moves_to_a_device(encoded: EncodedPairs) -> None:
    batch = encoded.batch([1, 2])
    moved = batch.to("meta")
    assert {moved.source.device.type, moved.decoder_input.device.type, moved.labels.device.type} == {"meta"}
    assert (moved.pairs, moved.source_tokens, moved.target_tokens) == ([1, 2], batch.source_tokens, batch.target_tokens)


def test_leaves_out_and_counts_overlong_pairs(encoded: EncodedPairs) -> None:
    longest = torch.maximum(encoded.source_lengths, encoded.target_lengths)
    limit = int(longest.median())
    short = encode_pairs(PAIRS, TOKENIZER, max_length=limit)
    assert short.pair_index.tolist() == (longest <= limit).nonzero().flatten().tolist()
    assert short.too_long == len(PAIRS) - len(short) > 0
    assert max(short.source_lengths.max(), short.target_lengths.max()) == limit
    position = short.pair_index.tolist()[-1]
    assert short.batch([len(short) - 1]).pairs == [position]
    assert short.batch([len(short) - 1]).source.equal(encoded.batch([position]).source)


@pytest.mark.parametrize("limit", [1, 9, 11, 1_000])
def test_fitting_finds_the_pairs_that_encoding_keeps(limit: int) -> None:
    kept = [] if limit == 1 else encode_pairs(PAIRS, TOKENIZER, max_length=limit).pair_index.tolist()
    assert fitting(PAIRS, TOKENIZER, max_length=limit) == [PAIRS[position] for position in kept]


def test_a_limit_that_leaves_no_pair_is_an_error() -> None:
    with pytest.raises(
        InputError, match=r"^model.max_length: all pairs have over 1 tokens; raise it or training.batch_tokens$"
    ):
        encode_pairs(PAIRS, TOKENIZER, max_length=1)


def test_encoding_in_parts_changes_nothing(encoded: EncodedPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.batching.encoded_pairs.PAIRS_AT_A_TIME", 7)
    parts = encode_pairs(PAIRS, TOKENIZER, max_length=1_000)
    assert ids(parts.source) == ids(encoded.source)
    assert ids(parts.target) == ids(encoded.target)
    assert parts.source_lengths.equal(encoded.source_lengths)
    assert parts.pair_index.equal(encoded.pair_index)


def test_each_part_and_side_is_sampled_with_its_own_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformer_mt.batching.encoded_pairs.PAIRS_AT_A_TIME", 7)
    repeated = [SentencePair(pair.source, pair.source) for pair in PAIRS[:7]] * 3
    sampled = encode_sampled(repeated, TOKENIZER, Sampling(seed=3, alpha=0.2), max_length=1_000, rows=range(21))
    parts = {
        tuple(token for token in side.padded(torch.arange(first, first + 7)).flatten().tolist() if token not in SPECIAL)
        for side in (sampled.source, sampled.target)
        for first in (0, 7, 14)
    }
    assert len(parts) == 6


def test_many_pairs_are_cached_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path, monkeypatch)
    monkeypatch.setattr(encoded_pairs, "PAIRS_AT_A_TIME", 7)
    in_memory = encode_pairs(PAIRS, TOKENIZER, max_length=11, digest="of these pairs")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(encoded_pairs, "IN_MEMORY", 52)
    stored = encode_pairs(PAIRS, TOKENIZER, max_length=11, digest="of these pairs")
    assert len(list(tmp_path.glob("*.arrow"))) == 1
    monkeypatch.setattr(Tokenizer, "encode_batch", None)  # the next start encodes nothing
    for found in (stored, encode_pairs(PAIRS, TOKENIZER, max_length=11, digest="of these pairs")):
        assert (ids(found.source), ids(found.target)) == (ids(in_memory.source), ids(in_memory.target))
        assert found.pair_index.equal(in_memory.pair_index)
        assert found.too_long == in_memory.too_long > 0


def test_other_pairs_vocabularies_and_limits_get_their_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_in(tmp_path, monkeypatch)
    monkeypatch.setattr(encoded_pairs, "IN_MEMORY", 0)
    other = Tokenizer.train((pair.source for pair in PAIRS), TokenizerConfig(vocabulary_size=280))
    for digest, tokenizer, limit in (("a", TOKENIZER, 31), ("b", TOKENIZER, 31), ("a", other, 31), ("a", TOKENIZER, 9)):
        encode_pairs(PAIRS, tokenizer, max_length=limit, digest=digest)
    assert len(list(tmp_path.glob("*.arrow"))) == 4


def test_sampled_pairs_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_in(tmp_path, monkeypatch)
    sampling = Sampling(seed=3, alpha=0.2)
    in_memory = encode_sampled(PAIRS, TOKENIZER, sampling, max_length=31, rows=range(53))
    monkeypatch.setattr(encoded_pairs, "IN_MEMORY", 0)
    stored = encode_sampled(PAIRS, TOKENIZER, sampling, max_length=31, rows=range(53))
    assert ids(stored.target) == ids(in_memory.target)
    assert list(tmp_path.iterdir()) == []


def test_large_vocabularies_use_four_bytes_per_token(encoded: EncodedPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, "size", 2**16 + 1)
    assert ids(encode_pairs(PAIRS, TOKENIZER, max_length=1_000).source) == ids(encoded.source)
    monkeypatch.setattr(TOKENIZER, "encode_batch", lambda texts, sampling: [[2**16 + 3] for _ in texts])
    assert encode_pairs(PAIRS[:3], TOKENIZER, max_length=9).target.padded(torch.arange(3)).unique().tolist() == [65_539]


def test_joins_several_corpora(encoded: EncodedPairs) -> None:
    short = encode_pairs(PAIRS[:20], TOKENIZER, max_length=int(encoded.source_lengths.float().median()))
    assert short.too_long > 0
    joined = EncodedPairs.join([short, encoded])
    assert len(joined) == len(short) + len(encoded)
    assert joined.pair_index.tolist() == [*short.pair_index.tolist(), *(20 + encoded.pair_index).tolist()]
    assert joined.source_lengths.tolist() == [*short.source_lengths.tolist(), *encoded.source_lengths.tolist()]
    assert joined.batch([len(short) + 4]).labels.equal(encoded.batch([4]).labels)
    assert joined.batch([1]).source.equal(short.batch([1]).source)
    assert joined.too_long == short.too_long
