"""`tmt align`: the words of a sentence and of its translation that belong together, by cross-attention."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_mt.batching.encoded_pairs import encode_pairs, fitting
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.corpus.pharaoh import format_links
from transformer_mt.errors import InputError
from transformer_mt.models.head_mask import head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.registry import HeadName
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.head_importance import batches
from transformer_mt.views.links import (
    LinkCounts,
    between_words,
    linked,
    real_words,
    shares,
    supported,
    word_membership,
)
from transformer_mt.views.recording import record_attention
from transformer_mt.views.words import over_words

# Validation pairs that heads are chosen on.
CHOICE_PAIRS = 1_000
_PAIRS_AT_A_TIME = 1_000


@dataclass(frozen=True, slots=True)
class Alignment:
    """The links (source word, target word) of a pair, and the share of each target word that each source word has.

    Words are those of `corpus.pairs.words`; rows are target words, columns source words. Punctuation marks have no
    links, and zeros; the other rows sum to 1. `heads` are averaged, `chosen_by` is that of `AlignmentHeads`.
    """

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: tuple[Link, ...]
    pharaoh: str
    shares: Float[np.ndarray, "T S"]
    heads: tuple[str, ...]
    chosen_by: str


def cross_heads(model: Seq2Seq) -> list[HeadName]:
    """The heads of the cross-attention; none for a model without."""
    return [name for name in head_names(model) if name.stack == "cross"]


def guess_heads(model: Seq2Seq) -> AlignmentHeads | None:
    """All heads of the cross-attention, the best guess where no links are known; None for a model without any.

    In the default model their mean has a lower error rate (5.8 %) than any layer (6.3 to 11.1 %) or head (from 12.5 %).
    """
    heads = cross_heads(model)
    return AlignmentHeads(heads=tuple(heads), chosen_by="guess") if heads else None


def choose_heads(model: Seq2Seq, tokenizer: Tokenizer, validation: Pairs) -> AlignmentHeads | None:
    """The heads with the lowest error rate on validation pairs: all, those of a layer, or one; of equals the first.

    Without known links they are `guess_heads`, and None for a model without cross-attention.
    """
    pairs = _linked_pairs(validation, model, tokenizer)[:CHOICE_PAIRS]
    heads = cross_heads(model)
    if not pairs or not heads:
        return guess_heads(model)
    layers = [tuple(name for name in heads if name.layer == layer) for layer in sorted({name.layer for name in heads})]
    candidates = list(dict.fromkeys([tuple(heads), *layers, *((name,) for name in heads)]))
    counts = [LinkCounts()] * len(candidates)
    for pair, weights in zip(pairs, _mean_weights(model, tokenizer, pairs, candidates), strict=True):
        gold = between_words(pair.links or (), pair.source, pair.target)
        masks = linked(supported(shares(weights)))
        counts = [count + LinkCounts.of(_links(mask, pair), gold) for count, mask in zip(counts, masks, strict=True)]
    rates = [count.error_rate for count in counts]
    best = rates.index(min(rates))
    return AlignmentHeads(heads=candidates[best], chosen_by="links", error_rate=rates[best])


def align(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, chosen: AlignmentHeads) -> Iterator[Alignment]:
    """The alignment of each pair, in order, from the mean weights of the chosen heads.

    The weights are those with which the model writes the target, given it (teacher forcing). Raises `InputError` for
    heads that the model lacks, and for a pair that is longer than it takes.
    """
    for pair, (weights,) in zip(pairs, _mean_weights(model, tokenizer, pairs, [chosen.heads]), strict=True):
        found = supported(shares(weights))
        source_words, target_words = words(pair.source), words(pair.target)
        over_all = np.zeros((len(target_words), len(source_words)), np.float32)
        over_all[np.ix_(real_words(pair.target), real_words(pair.source))] = found
        links = tuple(sorted(_links(linked(found), pair)))
        yield Alignment(
            source=pair.source,
            target=pair.target,
            source_words=tuple(source_words),
            target_words=tuple(target_words),
            links=links,
            pharaoh=format_links(links),
            shares=over_all,
            heads=tuple(map(str, chosen.heads)),
            chosen_by=chosen.chosen_by,
        )


def link_counts(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, chosen: AlignmentHeads) -> LinkCounts:
    """The counts over the pairs with gold links that the model can take; links of punctuation count on neither side."""
    with_links = _linked_pairs(pairs, model, tokenizer)
    counts = (
        LinkCounts.of(set(alignment.links), between_words(pair.links or (), pair.source, pair.target))
        for pair, alignment in zip(with_links, align(model, tokenizer, with_links, chosen), strict=True)
    )
    return sum(counts, LinkCounts())


def alignment_lines(alignment: Alignment) -> Iterator[str]:
    """The links in Pharaoh format; the source with the number of every word; the target with the words linked to."""
    sources = [[str(s) for s, t in alignment.links if t == target] for target in range(len(alignment.target_words))]
    targets = zip(alignment.target_words, sources, strict=True)
    yield alignment.pharaoh
    yield _numbered(alignment.source_words)
    yield _numbered([f"{word} ({','.join(of)})" if of else word for word, of in targets])


def _numbered(labels: Sequence[str]) -> str:
    return "  ".join(f"{number} {label}" for number, label in enumerate(labels))


def _linked_pairs(pairs: Pairs, model: Seq2Seq, tokenizer: Tokenizer) -> list[SentencePair]:
    """The pairs with known links that are not too long for the model."""
    return fitting([pair for pair in pairs if pair.links is not None], tokenizer, max_length=model.max_length)


def _links(mask: Bool[np.ndarray, "T S"], pair: SentencePair) -> set[Link]:
    """The links of a mask over real words, counted over all words."""
    sources, targets = real_words(pair.source), real_words(pair.target)
    return {(sources[s], targets[t]) for t, s in zip(*map(np.ndarray.tolist, mask.nonzero()), strict=True)}


def _mean_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, groups: Sequence[Sequence[HeadName]]
) -> Iterator[Float[np.ndarray, "N T S"]]:
    """The weights of each pair's real words, the mean over each of N groups of heads."""
    mixture = _mixture(model, groups)
    for first in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = pairs[first : first + _PAIRS_AT_A_TIME]
        found: dict[int, Float[np.ndarray, "N T S"]] = {}
        for rows, weights in _head_weights(model, tokenizer, part):
            means = torch.einsum("nh,bhqk->bnqk", mixture.to(weights), weights).cpu()
            for row, matrices in zip(rows, means, strict=True):
                pair = part[row]
                target, source = (word_membership(tokenizer, text) for text in (pair.target, pair.source))
                cut = matrices[:, : target.shape[1], : source.shape[1]]  # without padding
                found[row] = over_words(cut.numpy(force=True), target, source)
        for row in range(len(part)):
            if row not in found:
                raise InputError(f"pair {first + row + 1}: more than {model.max_length} tokens; shorten it")
            yield found[row]


def _head_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[list[int], Float[Tensor, "B H Q K"]]]:
    """Batches of pairs, by their indices, with the weights of all `cross_heads`."""
    for _, batch in batches(encode_pairs(pairs, tokenizer, max_length=model.max_length), model):
        with evaluating(model), record_attention(model) as maps:
            require_finite(model(batch.source, batch.decoder_input))
        yield batch.pairs, torch.cat(maps["cross"], dim=1).float()


def _mixture(model: Seq2Seq, groups: Sequence[Sequence[HeadName]]) -> Float[Tensor, "N H"]:
    """The weight of each head in the mean of each group. Raises `InputError` for heads that the model lacks."""
    names = cross_heads(model)
    if missing := sorted({head for heads in groups for head in heads} - set(names)):
        extent = f"it has {names[0]} to {names[-1]}" if names else "it has no cross-attention"
        raise InputError(f"alignment: the model has no head {missing[0]}; {extent}")
    return torch.tensor([[float(name in heads) / len(heads) for name in names] for heads in groups])
