from collections.abc import Sequence

import pytest
import torch
from support.processes import OneOf
from support.small_training import TRAIN, small_config

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.ground.distributed import Distributed
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import BatchStream, WeightedCorpus

SAMPLED = "tokenizer.sampling=subword"


def stream(
    *overrides: str,
    distributed: Distributed | None = None,
    corpora: Sequence[WeightedCorpus] = (WeightedCorpus(TRAIN, "new"),),
) -> BatchStream:
    texts = [text for pair in TRAIN for text in (pair.source, pair.target)]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocabulary_size=300))
    return BatchStream(corpora, tokenizer, small_config(*overrides), distributed=distributed or Distributed())


def take(stream: BatchStream, count: int) -> list[tuple[int, Batch]]:
    """Batches, each with its epoch."""
    found = []
    for _ in range(count):
        batch = stream.take()
        found.append((stream.epoch, batch))
    return found


def same(one: Batch, other: Batch) -> bool:
    return one.pairs == other.pairs and all(
        torch.equal(there, here)
        for there, here in (
            (one.source, other.source),
            (one.decoder_input, other.decoder_input),
            (one.labels, other.labels),
        )
    )


@pytest.mark.parametrize("overrides", [(), (SAMPLED,)])
def test_seek_matches_taking_batches_in_order(overrides: tuple[str, ...]) -> None:
    walking = stream(*overrides)
    places, walked = [], []
    for _ in range(3 * len(walking.plan)):
        places.append((walking.epoch, walking.index))
        walked.append(walking.take())
    assert walking.epoch >= 2
    seeking = stream(*overrides)
    for number in (len(walked) - 1, 1, len(walked) // 2, 0):
        seeking.seek(*places[number])
        assert same(seeking.take(), walked[number])


def test_every_epoch_has_every_pair_once_in_its_own_order() -> None:
    batches = take(stream(), 25)
    orders = [[pair for epoch, batch in batches if epoch == wanted for pair in batch.pairs] for wanted in (0, 1)]
    assert all(sorted(order) == list(range(len(TRAIN))) for order in orders)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("count", [2, 3])
def test_several_processes_share_the_batches_of_one(count: int) -> None:
    alone = stream()
    shared = [stream(distributed=OneOf(count, rank)) for rank in range(count)]
    for epoch in range(2):
        alone.seek(epoch, 0)
        all_batches = {tuple(batch.tolist()) for batch in alone.plan}
        taken = [tuple(one.take().pairs) for _ in range(len(alone.plan) // count) for one in shared]
        assert len(set(taken)) == len(taken)
        assert set(taken) <= all_batches
        assert len(all_batches) - len(taken) < count
        assert {(one.epoch, one.index) for one in shared} == {(epoch, len(taken))}
