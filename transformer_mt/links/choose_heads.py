"""Choice of the cross-attention heads that link words best."""

from itertools import groupby

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.links.align import cross_heads, links_of, word_shares
from transformer_mt.links.counts import count_links, gold_links, linked_pairs
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.tokenizer.tokenizer import Tokenizer

# Validation pairs to choose heads on.
CHOICE_PAIRS = 1_000


def guess_heads(model: Seq2Seq) -> AlignmentHeads | None:
    """All cross-attention heads, the best guess without known links; None for a model without cross-attention."""
    heads = cross_heads(model)
    return AlignmentHeads(heads=tuple(heads), chosen_by="guess") if heads else None


def choose_heads(model: Seq2Seq, tokenizer: Tokenizer, validation: Pairs) -> AlignmentHeads | None:
    """Choose all heads, one layer or one head, by the lowest error rate on validation pairs; else `guess_heads`."""
    pairs = linked_pairs(validation, model, tokenizer)[:CHOICE_PAIRS]
    heads = cross_heads(model)
    if not pairs or not heads:
        return guess_heads(model)
    layers = [tuple(of_layer) for _, of_layer in groupby(heads, key=lambda name: name.layer)]
    candidates = list(dict.fromkeys([tuple(heads), *layers, *((name,) for name in heads)]))
    matrices = word_shares(model, tokenizer, pairs, candidates)
    gold = list(map(gold_links, pairs))
    rates = [count_links(map(links_of, shares), gold).error_rate for shares in zip(*matrices, strict=True)]
    best = rates.index(min(rates))
    return AlignmentHeads(heads=candidates[best], chosen_by="links", error_rate=rates[best])
