"""Attention over words, for many sentence pairs."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.ground.errors import InputError
from transformer_mt.links.recording import attention_of
from transformer_mt.links.tokens import PairTokens, over_words
from transformer_mt.models.batches import batches
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.prepared import PreparedSentence
from transformer_mt.tokenizer.tokenizer import Tokenizer

OverWords = Float[np.ndarray, "H W V"]


def word_weights(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> Iterator[tuple[int, dict[str, OverWords]]]:
    """Yield each pair's number, and the attention over words of each stack's heads, ordered as in `head_names`.

    The last column is the special symbol, `</s>` or in the decoder `<s>`; it has no row. Pairs come in the order of
    batches. Raises `InputError` if a pair is too long.
    """
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    if encoded.too_long:
        raise InputError(f"{encoded.too_long} of the pairs", f"more than {model.max_length} tokens", "shorten them")
    for rows, batch in batches(model, encoded):
        recorded = attention_of(model, batch.source, batch.decoder_input)
        of_stacks = {}
        for stack, modules in model.attention_stacks().items():
            active = [layer[:, active_heads(module)] for layer, module in zip(recorded[stack], modules, strict=True)]
            of_stacks[stack] = torch.cat(active, dim=1).float().numpy(force=True)
        for place, row in enumerate(rows.tolist()):
            source = PreparedSentence(pairs[row].source, tuple(encoded.source[row][:-1].tolist()), tokenizer)
            target = PreparedSentence(pairs[row].target, tuple(encoded.target[row].tolist()), tokenizer.target)
            tokens = PairTokens.of(source, target, limit=model.max_length)
            found = {}
            for stack, weights in of_stacks.items():
                down, across = (side.membership() for side in tokens.sides(stack))
                if stack == "decoder":  # its symbol precedes the words
                    across = np.roll(across, -1, axis=0)
                of_pair = weights[place, :, : down.shape[1], : across.shape[1]]  # without padding
                found[stack] = over_words(of_pair, down[:-1], across)
            yield row, found
