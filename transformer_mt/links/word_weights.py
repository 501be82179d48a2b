"""Attention over words, for many sentence pairs."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.ground.errors import InputError
from transformer_mt.links.recording import attention_of
from transformer_mt.links.tokens import over_words, prepare_pair
from transformer_mt.models.batches import batches
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer


def word_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[int, dict[str, Float[np.ndarray, "H W V"]]]]:
    """Yield each pair's number, and the attention over words of each stack's heads, ordered as in `head_names`.

    The last column is the special symbol, `</s>` or in the decoder `<s>`; it has no row. Pairs come in the order of
    batches. Raises `InputError` if a pair is too long.
    """
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    if encoded.too_long:
        raise InputError(f"{encoded.too_long} of the pairs", f"more than {model.max_length} tokens", "shorten them")
    for rows, batch in batches(model, encoded):
        weights = {}
        for stack, layers in attention_of(model, batch.source, batch.decoder_input).items():
            modules = model.attention_stacks()[stack]
            heads = [[head - 1 for head in active_heads(module)] for module in modules]
            active = [layer[:, of_layer] for layer, of_layer in zip(layers, heads, strict=True)]
            weights[stack] = torch.cat(active, dim=1).float().numpy(force=True)
        for place, row in enumerate(rows.tolist()):
            tokens = prepare_pair(model, tokenizer, pairs[row].source, pairs[row].target)
            matrices = {}
            for stack, of_heads in weights.items():
                down, across = (side.membership() for side in tokens.sides(stack))
                cut = of_heads[place, :, : down.shape[1], : across.shape[1]]
                if stack == "decoder":  # its symbol precedes the words
                    across = np.roll(across, -1, axis=0)
                matrices[stack] = over_words(cut, down[:-1], across)
            yield row, matrices
