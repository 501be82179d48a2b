import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_mt.batching import EncodedPairs, encode_pairs, fixed_batches, mix_seed, plan_batches
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError
from transformer_mt.tokenizer import BOS, EOS, PAD, SPECIAL, Sampling, Tokenizer

WORDS = ("Hund", "Katze", "sieht", "die", "der", "große", "Straße")
lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


def corpus(size: int) -> list[SentencePair]:
    draw = random.Random(1)
    sides = [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(2 * size)]
    return [SentencePair(source, target) for source, target in zip(sides[:size], sides[size:], strict=True)]


PAIRS = corpus(53)
TOKENIZER = Tokenizer.train((pair.source for pair in PAIRS), TokenizerConfig(vocabulary_size=285))


@pytest.fixture(scope="module")
def encoded() -> EncodedPairs:
    return encode_pairs(PAIRS, TOKENIZER, max_length=1_000)


def sides(drawn: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    return torch.tensor([source for source, _ in drawn]), torch.tensor([target for _, target in drawn])


def test_a_batch_gives_back_its_sentences(encoded: EncodedPairs) -> None:
    rows = [7, 2, 31, 7]
    batch = encoded.batch(rows)
    assert batch.pairs == rows
    for row, pair in enumerate(batch.pairs):
        source, target = TOKENIZER.encode(PAIRS[pair].source), TOKENIZER.encode(PAIRS[pair].target)
        assert without_padding(batch.source[row]) == [*source, EOS]
        assert without_padding(batch.target_in[row]) == [BOS, *target]
        assert without_padding(batch.target_out[row]) == [*target, EOS]


def without_padding(row: Tensor) -> list[int]:
    """The tokens before the padding, which must reach to the end."""
    tokens: list[int] = row.tolist()
    real = sum(token != PAD for token in tokens)
    assert tokens[real:] == [PAD] * (len(tokens) - real)
    return tokens[:real]


def test_a_batch_is_as_wide_as_its_longest_sentence_and_counts_real_tokens(encoded: EncodedPairs) -> None:
    rows = [3, 4, 5]
    batch = encoded.batch(rows)
    assert batch.source.shape == (3, int(encoded.source_lengths[rows].max()))
    assert batch.target_in.shape == batch.target_out.shape == (3, int(encoded.target_lengths[rows].max()))
    assert batch.source_tokens == int((batch.source != PAD).sum()) == int(encoded.source_lengths[rows].sum())
    assert batch.target_tokens == int((batch.target_out != PAD).sum()) == int(encoded.target_lengths[rows].sum())


def test_an_empty_target_is_a_beginning_and_an_end() -> None:
    batch = encode_pairs([SentencePair("", "")], TOKENIZER, max_length=5).batch([0])
    assert (batch.source.tolist(), batch.target_in.tolist(), batch.target_out.tolist()) == ([[EOS]], [[BOS]], [[EOS]])


def test_a_batch_moves_to_a_device_whole(encoded: EncodedPairs) -> None:
    batch = encoded.batch([1, 2])
    moved = batch.to("meta")
    assert {moved.source.device.type, moved.target_in.device.type, moved.target_out.device.type} == {"meta"}
    assert (moved.pairs, moved.source_tokens, moved.target_tokens) == ([1, 2], batch.source_tokens, batch.target_tokens)


def test_pairs_over_the_longest_length_are_left_out_and_counted(encoded: EncodedPairs) -> None:
    longest = torch.maximum(encoded.source_lengths, encoded.target_lengths)
    limit = int(longest.median())
    short = encode_pairs(PAIRS, TOKENIZER, max_length=limit)
    assert short.positions.tolist() == (longest <= limit).nonzero().flatten().tolist()
    assert short.too_long == len(PAIRS) - len(short) > 0
    assert max(short.source_lengths.max(), short.target_lengths.max()) == limit
    position = short.positions.tolist()[-1]
    assert short.batch([len(short) - 1]).pairs == [position]
    assert short.batch([len(short) - 1]).source.equal(encoded.batch([position]).source)


def test_a_limit_that_leaves_no_pair_is_one_line() -> None:
    with pytest.raises(
        InputError, match=r"^model.max_length, training.batch_tokens: all 53 pairs have more than 1 tokens; raise them$"
    ):
        encode_pairs(PAIRS, TOKENIZER, max_length=1)


def test_encoding_in_parts_changes_nothing(encoded: EncodedPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.batching._PAIRS_AT_A_TIME", 7)
    parts = encode_pairs(PAIRS, TOKENIZER, max_length=1_000)
    for one, other in ((parts.source, encoded.source), (parts.target, encoded.target)):
        assert one.ids.equal(other.ids)
        assert one.starts.equal(other.starts)
    assert parts.positions.equal(encoded.positions)


def test_sampled_pairs_are_a_function_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.batching._PAIRS_AT_A_TIME", 20)
    first, again, other = (
        encode_pairs(PAIRS, TOKENIZER, max_length=1_000, sampling=Sampling(seed=seed, alpha=0.2)) for seed in (3, 3, 4)
    )
    assert first.source.ids.equal(again.source.ids)
    assert first.target.ids.equal(again.target.ids)
    assert not first.source.ids.equal(other.source.ids)


def test_source_and_target_are_sampled_independently() -> None:
    same = [SentencePair(pair.source, pair.source) for pair in PAIRS]
    sampled = encode_pairs(same, TOKENIZER, max_length=1_000, sampling=Sampling(seed=3, alpha=0.2))
    assert not sampled.source_lengths.equal(sampled.target_lengths)


@given(drawn=lengths, budget=st.integers(30, 200), seed=st.integers(0, 2**70), epoch=st.integers(0, 9))
def test_each_pair_is_in_one_batch_and_each_batch_within_the_budget(
    drawn: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    source, target = sides(drawn)
    for plan in (
        plan_batches(source, target, batch_tokens=budget, seed=seed, epoch=epoch),
        fixed_batches(source, target, batch_tokens=budget),
    ):
        assert sorted(row for batch in plan for row in batch) == list(range(len(drawn)))
        for batch in plan:
            assert len(batch) * max(int(source[batch].max()), int(target[batch].max())) <= budget


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    source, target = sides([(1 + index % 7, 1 + index % 5) for index in range(200)])
    plans = [
        plan_batches(source, target, batch_tokens=50, seed=seed, epoch=epoch)
        for seed, epoch in ((1, 2), (1, 2), (1, 3), (2, 1))
    ]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert plans[0] != plans[3]


def test_planning_leaves_the_global_generator_alone() -> None:
    source, target = sides([(3, 4)] * 9)
    before = torch.get_rng_state()
    plan_batches(source, target, batch_tokens=8, seed=1, epoch=1)
    assert torch.get_rng_state().equal(before)


def test_equal_pairs_meet_in_other_batches_in_the_next_epoch() -> None:
    source, target = sides([(5, 5)] * 100)
    first, second = (
        {frozenset(batch) for batch in plan_batches(source, target, batch_tokens=20, seed=1, epoch=epoch)}
        for epoch in (1, 2)
    )
    assert len(first & second) < 5


def test_training_batches_come_in_mixed_order_and_fixed_ones_from_short_to_long() -> None:
    source, target = sides([(1 + index % 30, 1 + index % 29) for index in range(400)])

    def widths(plan: list[list[int]]) -> list[int]:
        return [int(torch.maximum(source, target)[batch].max()) for batch in plan]

    fixed = widths(fixed_batches(source, target, batch_tokens=100))
    assert fixed == sorted(fixed)
    planned = widths(plan_batches(source, target, batch_tokens=100, seed=1, epoch=1))
    assert planned != sorted(planned)


def test_little_of_a_batch_is_padding() -> None:
    draw = random.Random(1)
    drawn = []
    for _ in range(5_000):
        source = max(3, round(draw.gauss(15, 5)))
        drawn.append((source, max(3, source + round(draw.gauss(0, 3)))))
    source, target = sides(drawn)
    plan = plan_batches(source, target, batch_tokens=1_024, seed=1, epoch=1)
    cells = sum(len(batch) * int(side[batch].max()) for batch in plan for side in (source, target))
    assert 1 - int(source.sum() + target.sum()) / cells < 0.05


class Counted(TorchDispatchMode):
    """Counts the operations on tensors."""

    count = 0

    def __torch_dispatch__(
        self, operation: Callable[..., Any], types: object, arguments: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        self.count += 1
        return operation(*arguments, **(named or {}))


def test_a_corpus_is_planned_without_an_operation_for_every_pair() -> None:
    """One for each of three million pairs takes half a minute, before every epoch."""
    source, target = (torch.randint(3, 40, (30_000,)) for _ in range(2))
    with Counted() as counted:
        plan_batches(source, target, batch_tokens=4_096, seed=1, epoch=1)
    assert 0 < counted.count < 100


@pytest.mark.parametrize("long", [(51, 3), (3, 51)])
def test_a_pair_over_the_budget_is_one_line(long: tuple[int, int]) -> None:
    source, target = sides([(4, 5), long])
    with pytest.raises(
        InputError,
        match=r"^training.batch_tokens: 50 is less than a sentence of 51 tokens; raise it, or lower model.max_length$",
    ):
        plan_batches(source, target, batch_tokens=50, seed=1, epoch=1)


def test_no_pairs_make_no_batches() -> None:
    source, target = sides([])
    assert fixed_batches(source.long(), target.long(), batch_tokens=9) == []


def test_near_seeds_give_unrelated_seeds() -> None:
    seeds = {mix_seed(*numbers) for numbers in ((), (0,), (1,), (0, 1), (1, 0), (11,), (1, 1), (-1, 1), (2**80, 1))}
    assert len(seeds) == 9
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert mix_seed(1, 2) == int(hashlib.sha256(b"1,2").hexdigest()[:16], 16) // 2


def test_four_sentences_of_five_tokens_fill_a_batch_of_twenty() -> None:
    source, target = sides([(5, 3)] * 4)
    assert fixed_batches(source, target, batch_tokens=20) == [[0, 1, 2, 3]]
    assert len(fixed_batches(source, target, batch_tokens=19)) == 2
    assert [sorted(batch) for batch in plan_batches(source, target, batch_tokens=20, seed=1, epoch=1)] == [[0, 1, 2, 3]]


def test_every_part_of_an_epoch_and_either_side_is_sampled_from_a_seed_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformer_mt.batching._PAIRS_AT_A_TIME", 7)
    repeated = [SentencePair(pair.source, pair.source) for pair in PAIRS[:7]] * 3
    sampled = encode_pairs(repeated, TOKENIZER, max_length=1_000, sampling=Sampling(seed=3, alpha=0.2))
    parts = {
        tuple(token for token in side.padded(torch.arange(first, first + 7)).flatten().tolist() if token not in SPECIAL)
        for side in (sampled.source, sampled.target)
        for first in (0, 7, 14)
    }
    assert len(parts) == 6
