"""Which heads of a model link words best, and what its attention says of the words of a language."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from transformer_mt.batching.encoded_pairs import fitting
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.inspection.alignment.aligners import (
    AligningModel,
    cross_heads,
    link_counts,
    linked_pairs,
    lower_words,
    mixed_weights,
)
from transformer_mt.inspection.alignment.links import (
    LinkCounts,
    linked,
    real_words,
    shares,
    supported,
)
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import Aligner, Dictionary
from transformer_mt.tokenizer.tokenizer import Tokenizer

# Training pairs that a dictionary is made of, and validation pairs that heads are chosen on.
DICTIONARY_PAIRS, CHOICE_PAIRS = 8_000, 1_000
# What two words have in common before they were seen together, as strong as one pair.
_BEFORE = 0.2
SHIFTS = (0, 1)


def guessed(model: Seq2Seq, tokenizer: Tokenizer) -> AligningModel | None:
    """The model with all its heads, which is a guess; None for a model without cross-attention."""
    return AligningModel(model, tokenizer, candidates(model)[0]) if cross_heads(model) else None


def find_aligner(model: Seq2Seq, tokenizer: Tokenizer, *, validation: Pairs, training: Pairs) -> Aligner | None:
    """The aligner of a model: which heads, by the links of validation pairs; and a dictionary from training pairs.

    Without links it is the guess that all heads together know best. None for a model without cross-attention.
    """
    if not cross_heads(model):
        return None
    chosen = choose_heads(model, tokenizer, validation)
    entries = attention_dictionary(model, tokenizer, chosen, training)
    return measured(model, tokenizer, replace(chosen, dictionary=entries), validation)


def choose_heads(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> Aligner:
    """Of the `candidates`, the one with the lowest error rate on pairs with links, of equals the first.

    Without links it is the first: the mean of all heads, without a shift.
    """
    all_candidates = candidates(model)
    chosen = linked_pairs(pairs, model, tokenizer)[:CHOICE_PAIRS]
    if not chosen:
        return all_candidates[0]
    counts = [LinkCounts()] * len(all_candidates)
    matrices = mixed_weights(model, tokenizer, chosen, all_candidates)
    for pair, weights in zip(chosen, matrices, strict=True):
        gold = _gold_mask(pair)
        found = _links_of(weights, all_candidates[0])
        right, predicted = (found & gold).sum(axis=(1, 2)), found.sum(axis=(1, 2))
        totals = zip(right.tolist(), predicted.tolist(), strict=True)
        counts = [count + LinkCounts(*both, int(gold.sum())) for count, both in zip(counts, totals, strict=True)]
    rates = [count.error_rate for count in counts]
    best = rates.index(min(rates))
    return replace(all_candidates[best], chosen_by="links", error_rate=rates[best])


def candidates(model: Seq2Seq) -> list[Aligner]:
    """What is tried: the mean of all heads, of each layer, and each head; read in its own row and in the one after."""
    names = cross_heads(model)
    layers = [tuple(name for name in names if name.layer == layer) for layer in sorted({name.layer for name in names})]
    groups = dict.fromkeys([tuple(names), *layers, *((name,) for name in names)])
    return [Aligner(heads, "guess", shift) for shift in SHIFTS for heads in groups]


def choose_by_agreement(
    subject: AligningModel, reverse: AligningModel, pairs: Pairs
) -> tuple[AligningModel, AligningModel]:
    """Both models with the heads whose links agree most: 2 |A∩B| / (|A| + |B|) over all pairs, of equals the first."""
    chosen = fitting(pairs, subject.tokenizer, max_length=subject.model.max_length)[:CHOICE_PAIRS]
    turned = fitting([pair.reversed() for pair in chosen], reverse.tokenizer, max_length=reverse.model.max_length)
    chosen = [pair.reversed() for pair in turned]
    ours, theirs = candidates(subject.model), candidates(reverse.model)
    both, a, b = np.zeros((len(ours), len(theirs))), np.zeros((len(ours), 1)), np.zeros((1, len(theirs)))
    forward = mixed_weights(subject.model, subject.tokenizer, chosen, ours)
    backward = mixed_weights(reverse.model, reverse.tokenizer, turned, theirs)
    for there, back in zip(forward, backward, strict=True):
        rows = _links_of(there, ours[0]).reshape(len(ours), -1).astype(float)
        columns = _links_of(back, theirs[0]).swapaxes(1, 2).reshape(len(theirs), -1).astype(float)
        both += rows @ columns.T
        a += rows.sum(axis=1)[:, None]
        b += columns.sum(axis=1)[None, :]
    i, j = np.unravel_index(int((2 * both / np.maximum(a + b, 1.0)).argmax()), both.shape)
    return _with_heads(subject, ours[int(i)]), _with_heads(reverse, theirs[int(j)])


def attention_dictionary(model: Seq2Seq, tokenizer: Tokenizer, aligner: Aligner, pairs: Pairs) -> Dictionary:
    """How much of a target word a source word has on average where both are in a pair: what attention says of them.

    (0.2 + Σ share) / (1 + n) over the n times that two words meet in the first pairs; those of which it is at least 0.2
    and that met twice are kept. Words are in lower case.
    """
    total: defaultdict[tuple[str, str], float] = defaultdict(float)
    met: Counter[tuple[str, str]] = Counter()
    chosen = fitting(pairs[:DICTIONARY_PAIRS], tokenizer, max_length=model.max_length)
    for pair, (weights,) in zip(chosen, mixed_weights(model, tokenizer, chosen, [aligner]), strict=True):
        source, target = lower_words(pair)
        found = shares(weights).tolist()
        for word, row in zip(target, found, strict=True):
            for other, share in zip(source, row, strict=True):
                total[other, word] += share
                met[other, word] += 1
    means = {entry: (_BEFORE + share) / (1 + met[entry]) for entry, share in total.items() if met[entry] > 1}
    return {entry: mean for entry, mean in means.items() if mean >= _BEFORE}


def measured(model: Seq2Seq, tokenizer: Tokenizer, aligner: Aligner, pairs: Pairs) -> Aligner:
    """The aligner with its error rate on pairs with links, without its dictionary where that does better."""
    chosen = linked_pairs(pairs, model, tokenizer)[:CHOICE_PAIRS]
    if not chosen:
        return aligner
    tried = [aligner, replace(aligner, dictionary={})]
    rates = [link_counts(AligningModel(model, tokenizer, one), chosen).error_rate for one in tried]
    best = rates.index(min(rates))
    return replace(tried[best], error_rate=rates[best])


def _links_of(weights: Float[np.ndarray, "N T S"], aligner: Aligner) -> Bool[np.ndarray, "N T S"]:
    """The links of several matrices, without a dictionary."""
    found = supported(shares(weights), (), (), {})
    return linked(found, row=aligner.row, column=aligner.column)


def _gold_mask(pair: SentencePair) -> Bool[np.ndarray, "T S"]:
    """The gold links between real words."""
    gold = set(pair.links or ())
    sources, targets = real_words(pair.source), real_words(pair.target)
    cells = [[(source, target) in gold for source in sources] for target in targets]
    return np.array(cells, bool).reshape(len(targets), len(sources))


def _with_heads(subject: AligningModel, chosen: Aligner) -> AligningModel:
    changed = replace(subject.aligner, heads=chosen.heads, shift=chosen.shift, chosen_by="agreement")
    return replace(subject, aligner=changed)
