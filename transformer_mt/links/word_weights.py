"""The attention of a model over the words of many sentence pairs."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.batching.batches import Batch, fixed_batches
from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.links.recording import record_attention
from transformer_mt.links.tokens import Membership, Tokens, over_words
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.progress import advance
from transformer_mt.tokenizer.prepared import PreparedSentence
from transformer_mt.tokenizer.tokenizer import Tokenizer

# Tokens of a batch, at least one longest sentence's.
_BATCH_TOKENS = 4_096


def batches(encoded: EncodedPairs, model: Seq2Seq) -> Iterator[tuple[Tensor, Batch]]:
    """The pairs in batches on the model's device, with their rows among the encoded ones."""
    most = max(_BATCH_TOKENS, model.max_length)
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=most):
        yield rows, encoded.batch(rows).to(next(model.parameters()).device)
        advance(len(rows))


def word_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[int, dict[str, Float[np.ndarray, "H W V"]]]]:
    """Each pair, by its number, with the attention of each stack's heads, in the order of `head_names`, over words.

    The last column is that of the symbol, `</s>` or in the decoder `<s>`, which has no row. Batches change the order of
    the pairs. Raises `InputError` for a pair that is too long.
    """
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    if encoded.too_long:
        raise InputError(f"{encoded.too_long} of the pairs", f"more than {model.max_length} tokens", "shorten them")
    for rows, batch in batches(encoded, model):
        with evaluating(model), record_attention(model) as recording:
            require_finite(model(batch.source, batch.decoder_input))
        weights = {}
        for stack, modules in model.attention_stacks().items():
            layers = recording.of_tokens(stack, batch.source.shape[1], batch.decoder_input.shape[1])
            of_layers = zip(modules, layers, strict=True)
            active = [layer[:, [head - 1 for head in active_heads(module)]] for module, layer in of_layers]
            weights[stack] = torch.cat(active, dim=1).float().numpy(force=True)
        for place, row in enumerate(rows.tolist()):
            source = _membership(tokenizer, pairs[row].source, encoded.source[row][:-1].tolist())
            target = _membership(tokenizer, pairs[row].target, encoded.target[row].tolist())
            read = np.roll(target, 1, axis=1)  # the decoder reads its symbol before the words
            sides = {"encoder": (source, source), "decoder": (target, read), "cross": (target, source)}
            matrices = {}
            for stack, of_heads in weights.items():
                down, across = sides[stack]
                matrices[stack] = over_words(of_heads[place, :, : down.shape[1], : across.shape[1]], down[:-1], across)
            yield row, matrices


def _membership(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> Membership:
    """A row for each word and for the symbol, a column for each piece and for the symbol: 1 where it is part of it."""
    return Tokens.of(PreparedSentence(text, tuple(ids), tokenizer)).membership()
