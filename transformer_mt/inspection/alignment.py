"""Word alignments read from cross-attention, and how wrong they are."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from transformer_mt.batching import fixed_batches
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.encoded_pairs import encode_pairs
from transformer_mt.inspection.recording import record_attention
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer import Tokenizer

# What belongs to no word: special symbols and punctuation.
NO_WORD = -1

_BATCH_TOKENS = 4_096


def alignments(
    weights: Float[Tensor, "N Q K"], source_words: Sequence[int], target_words: Sequence[int]
) -> list[frozenset[Link]]:
    """The links (source word, target word) of each of N maps: every target word to the one that it attends to most.

    `target_words` says for each row, `source_words` for each column, which word its piece belongs to, or `NO_WORD`
    (see `piece_words`). A source word gets the sum over its pieces, a target word the mean (Clark et al. 2019, §4.1).
    Rows and columns of no word are left out before the maximum is taken: heads put their weight there where they find
    no word that matters (Clark et al. 2019, §3.2). Of equal weights the first wins; a word that attends to no word has
    no link.
    """
    sources, targets = sorted({*source_words} - {NO_WORD}), sorted({*target_words} - {NO_WORD})
    if not sources or not targets:
        return [frozenset()] * len(weights)
    rows, columns = _membership(targets, target_words), _membership(sources, source_words)
    rows /= rows.sum(axis=1, keepdims=True)
    # In NumPy: for matrices this small, torch's threads cost more than they do.
    by_word = rows @ weights.numpy(force=True) @ columns.T  # N Q K -> N targets sources
    best = zip(by_word.argmax(axis=2).tolist(), by_word.max(axis=2).tolist(), strict=True)
    return [
        frozenset((sources[i], target) for target, i, value in zip(targets, *head, strict=True) if value > 0.0)
        for head in best
    ]


def alignment_error_rate(right: int, predicted: int, gold: int) -> float:
    """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), from 0, the best, to 1 (Och and Ney 2003).

    All gold links are both sure and possible: S = P, so this is 1 − 2 |A∩S| / (|A| + |S|). Without any links it is 0.
    """
    return 1.0 - 2.0 * right / (predicted + gold) if predicted + gold else 0.0


def piece_words(tokenizer: Tokenizer, text: str) -> list[int]:
    """For each piece of the text and the `</s>` after it, the word of `words(text)` that it belongs to.

    Punctuation marks and `</s>` are `NO_WORD`.
    """
    real = _real_words(text)
    return [word if word in real else NO_WORD for word in tokenizer.word_of_piece(text)] + [NO_WORD]


def head_error_rates(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> list[list[float]]:
    """The alignment error rate over all pairs with links, for each layer and head of the cross-attention.

    The weights are those with which the model writes the reference, given it (teacher forcing). Links of punctuation
    count on neither side. The rate is that of the whole set: link counts are summed before dividing. Pairs longer than
    the model's `max_length` are left out. Without links or without cross-attention the list is empty.
    """
    linked = [pair for pair in pairs if pair.links is not None]
    if not linked or not model.attention_stacks().get("cross"):
        return []
    device = next(model.parameters()).device
    encoded = encode_pairs(linked, tokenizer, max_length=model.max_length)
    counts = []
    budget = max(_BATCH_TOKENS, model.max_length)  # at least one longest sentence
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=budget):
        batch = encoded.batch(rows)
        with evaluating(model), record_attention(model) as maps:
            model(batch.source.to(device), batch.target_in.to(device))
        weights = maps.stacked("cross").float().cpu()  # B L H Q K
        layers, heads = weights.shape[1:3]
        sentences = zip(weights.flatten(1, 2), batch.pairs, strict=True)
        counts += [_count(heads_weights, linked[pair], tokenizer) for heads_weights, pair in sentences]
    rates = [alignment_error_rate(*map(sum, zip(*head, strict=True))) for head in zip(*counts, strict=True)]
    return [rates[first : first + heads] for first in range(0, layers * heads, heads)]


def _count(weights: Float[Tensor, "N Q K"], pair: SentencePair, tokenizer: Tokenizer) -> list[tuple[int, int, int]]:
    """(right, predicted, gold) links of a sentence for each head; rows and columns may end in padding."""
    source_words, target_words = piece_words(tokenizer, pair.source), piece_words(tokenizer, pair.target)
    sources, targets = _real_words(pair.source), _real_words(pair.target)
    gold = {link for link in pair.links or () if link[0] in sources and link[1] in targets}
    weights = weights[:, : len(target_words), : len(source_words)]
    found = alignments(weights, source_words, target_words)
    return [(len(links & gold), len(links), len(gold)) for links in found]


def _membership(chosen: list[int], piece_words: Sequence[int]) -> Float[np.ndarray, "W N"]:
    """W words, N pieces: 1 where a piece belongs to the word."""
    return np.equal.outer(chosen, piece_words).astype(np.float32)


def _real_words(text: str) -> frozenset[int]:
    """Which of `words(text)` are no punctuation."""
    return frozenset(i for i, word in enumerate(words(text)) if any(letter.isalnum() for letter in word))
