from collections import defaultdict
from collections.abc import Sequence

import pytest
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


def content(batch: Batch) -> list[object]:
    return [batch.pairs, batch.source.tolist(), batch.decoder_input.tolist(), batch.labels.tolist()]


@pytest.mark.parametrize("overrides", [(), (SAMPLED,)])
def test_seek_matches_taking_batches_in_order(overrides: tuple[str, ...]) -> None:
    walking = stream(*overrides)
    places, walked, orders = [], [], defaultdict(list)
    for _ in range(3 * len(walking.plan)):
        places.append((walking.epoch, walking.index))
        walked.append(walking.take())
        orders[walking.epoch] += walked[-1].pairs
    assert walking.epoch >= 2
    assert orders[0] != orders[1]
    # Sampling leaves out other pairs in each epoch.
    assert overrides or sorted(orders[0]) == sorted(orders[1]) == list(range(len(TRAIN)))
    seeking = stream(*overrides)
    for number in (len(walked) - 1, 1, len(walked) // 2, 0):
        seeking.seek(*places[number])
        assert content(seeking.take()) == content(walked[number])


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
