"""Batches of pairs for a forward pass of a model, without training."""

from collections.abc import Iterator

from torch import Tensor

from transformer_mt.batching.batches import Batch, fixed_batches
from transformer_mt.batching.encoded_pairs import EncodedPairs
from transformer_mt.ground.progress import advance
from transformer_mt.models.seq2seq import Seq2Seq

# Tokens per batch; raised to the model's longest sentence.
BATCH_TOKENS = 4_096


def batches(model: Seq2Seq, encoded: EncodedPairs) -> Iterator[tuple[Tensor, Batch]]:
    """Yield batches on the model's device, each with the rows of its pairs in `encoded`."""
    budget = max(BATCH_TOKENS, model.max_length)
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=budget):
        yield rows, encoded.batch(rows).to(next(model.parameters()).device)
        advance(len(rows))
