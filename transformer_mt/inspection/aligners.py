"""Models that link words: which heads do it best, and what they say of a pair."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.batching import fixed_batches
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.corpus.pharaoh import format_links
from transformer_mt.encoded_pairs import encode_pairs, fitting
from transformer_mt.errors import InputError
from transformer_mt.inspection.alignment import (
    LinkCounts,
    between_words,
    linked,
    piece_words,
    real_words,
    rows_to_one,
    shares,
    supported,
    word_weights,
)
from transformer_mt.inspection.gates import head_names
from transformer_mt.inspection.recording import record_attention
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.names import HeadName
from transformer_mt.runs.alignment import Aligner, Dictionary
from transformer_mt.tokenizer import Tokenizer

_BATCH_TOKENS = 4_096
_PAIRS_AT_A_TIME = 1_000
# Training pairs that a dictionary is made of, and validation pairs that heads are chosen on.
DICTIONARY_PAIRS, CHOICE_PAIRS = 8_000, 1_000
# What two words have in common before they were seen together, as strong as one pair.
_BEFORE = 0.2
SHIFTS = (0, 1)


@dataclass(frozen=True, slots=True)
class AligningModel:
    """A model with its tokenizer and the aligner that says which of its heads link words, and how."""

    model: Seq2Seq
    tokenizer: Tokenizer
    aligner: Aligner


@dataclass(frozen=True, slots=True)
class Alignment:
    """The links (source word, target word) of a pair, and the share of each target word that each source word has.

    Words are those of `corpus.pairs.words`; rows are target words, columns source words. Punctuation marks have no
    links, and zeros. The rows of the others sum to 1.
    """

    source: str
    target: str
    links: tuple[Link, ...]
    shares: Float[np.ndarray, "T S"]
    aligner: Aligner

    def pharaoh(self) -> str:
        """The links as `0-0 1-2 …`."""
        return format_links(self.links)

    def to_json(self) -> dict[str, Any]:
        """Keys: `source`, `target`, `source_words`, `target_words`, `links`, `pharaoh`, `shares[target][source]`.

        And of the aligner `heads`, `shift` and `chosen_by`.
        """
        return {
            "source": self.source,
            "target": self.target,
            "source_words": words(self.source),
            "target_words": words(self.target),
            "links": [list(link) for link in self.links],
            "pharaoh": self.pharaoh(),
            "shares": [[round(share, 4) for share in row] for row in self.shares.tolist()],
            "heads": list(map(str, self.aligner.heads)),
            "shift": self.aligner.shift,
            "chosen_by": self.aligner.chosen_by,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """The same for `numpy.savez`."""
        return {
            "source": np.array(self.source),
            "target": np.array(self.target),
            "source_words": np.array(words(self.source)),
            "target_words": np.array(words(self.target)),
            "links": np.array(self.links, np.int64).reshape(-1, 2),
            "shares": self.shares,
        }


def cross_heads(model: Seq2Seq) -> list[HeadName]:
    """The heads of the cross-attention; none for a model without."""
    return [name for name in head_names(model) if name.stack == "cross"]


def align(subject: AligningModel, pairs: Pairs, *, reverse: AligningModel | None = None) -> Iterator[Alignment]:
    """The alignment of each pair, in order; with a model of the other direction, of what both say.

    Both give shares of target words, that of the other direction turned and brought to the same form; the links are
    those of the mean. Raises `InputError` for heads that a model lacks, and for a pair that is longer than it takes.
    """
    for first in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = pairs[first : first + _PAIRS_AT_A_TIME]
        found = list(_shares(subject, part))
        if reverse is not None:
            turned = _shares(reverse, [pair.reversed() for pair in part])
            found = [(ours + rows_to_one(theirs.T)) / 2 for ours, theirs in zip(found, turned, strict=True)]
        for pair, matrix in zip(part, found, strict=True):
            yield _alignment(pair, matrix, subject.aligner)


def guessed(model: Seq2Seq, tokenizer: Tokenizer) -> AligningModel | None:
    """The model with all its heads, which is a guess; None for a model without cross-attention."""
    return AligningModel(model, tokenizer, candidates(model)[0]) if cross_heads(model) else None


def link_counts(subject: AligningModel, pairs: Pairs, *, reverse: AligningModel | None = None) -> LinkCounts:
    """How well the links of pairs with gold links are found; the others, and those too long, are left out.

    The weights are those with which the model writes the reference, given it (teacher forcing). Links of punctuation
    marks count on neither side. Counts are summed before anything is divided.
    """
    chosen = _linked_pairs(pairs, subject.model, subject.tokenizer)
    if reverse is not None:
        turned = fitting([pair.reversed() for pair in chosen], reverse.tokenizer, max_length=reverse.model.max_length)
        chosen = [pair.reversed() for pair in turned]
    counts = (
        LinkCounts.of(set(found.links), between_words(pair.links or (), pair.source, pair.target))
        for pair, found in zip(chosen, align(subject, chosen, reverse=reverse), strict=True)
    )
    return sum(counts, LinkCounts())


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
    chosen = _linked_pairs(pairs, model, tokenizer)[:CHOICE_PAIRS]
    if not chosen:
        return all_candidates[0]
    counts = [LinkCounts()] * len(all_candidates)
    matrices = _candidate_weights(model, tokenizer, chosen, all_candidates)
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
    forward = _candidate_weights(subject.model, subject.tokenizer, chosen, ours)
    backward = _candidate_weights(reverse.model, reverse.tokenizer, turned, theirs)
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
    for pair, (weights,) in zip(chosen, _candidate_weights(model, tokenizer, chosen, [aligner]), strict=True):
        source, target = _lower_words(pair)
        found = shares(weights).tolist()
        for word, row in zip(target, found, strict=True):
            for other, share in zip(source, row, strict=True):
                total[other, word] += share
                met[other, word] += 1
    means = {entry: (_BEFORE + share) / (1 + met[entry]) for entry, share in total.items() if met[entry] > 1}
    return {entry: mean for entry, mean in means.items() if mean >= _BEFORE}


def measured(model: Seq2Seq, tokenizer: Tokenizer, aligner: Aligner, pairs: Pairs) -> Aligner:
    """The aligner with its error rate on pairs with links, without its dictionary where that does better."""
    chosen = _linked_pairs(pairs, model, tokenizer)[:CHOICE_PAIRS]
    if not chosen:
        return aligner
    tried = [aligner, replace(aligner, dictionary={})]
    rates = [link_counts(AligningModel(model, tokenizer, one), chosen).error_rate for one in tried]
    best = rates.index(min(rates))
    return replace(tried[best], error_rate=rates[best])


def _shares(subject: AligningModel, pairs: Pairs) -> Iterator[Float[np.ndarray, "T S"]]:
    """The shares of each pair's real words, neighbours and dictionary included."""
    aligner = subject.aligner
    matrices = _candidate_weights(subject.model, subject.tokenizer, pairs, [aligner])
    for pair, (weights,) in zip(pairs, matrices, strict=True):
        source, target = _lower_words(pair)
        yield supported(shares(weights), source, target, aligner.dictionary)


def _links_of(weights: Float[np.ndarray, "N T S"], aligner: Aligner) -> Bool[np.ndarray, "N T S"]:
    """The links of several matrices, without a dictionary."""
    found = supported(shares(weights), (), (), {})
    return linked(found, row=aligner.row, column=aligner.column)


def _candidate_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, aligners: Sequence[Aligner]
) -> Iterator[Float[np.ndarray, "N T S"]]:
    """For each pair the weights of its real words, as each of the aligners averages and shifts them.

    Raises `InputError` for heads that the model lacks, and for a pair that is too long.
    """
    mixture = _mixture(model, aligners)
    shifts = torch.tensor([aligner.shift for aligner in aligners])
    for first in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = pairs[first : first + _PAIRS_AT_A_TIME]
        found: dict[int, Float[np.ndarray, "N T S"]] = {}
        for positions, weights in _head_weights(model, tokenizer, part):
            mixed = torch.einsum("nh,bhqk->bnqk", mixture.to(weights), weights)
            later = F.pad(mixed[:, :, 1:], (0, 0, 0, 1))  # the row after each
            mixed = torch.where(shifts.to(mixed.device)[:, None, None] == 1, later, mixed).cpu()
            for position, matrices in zip(positions, mixed, strict=True):
                pair = part[position]
                source, target = piece_words(tokenizer, pair.source), piece_words(tokenizer, pair.target)
                cut = matrices[:, : len(target), : len(source)]  # without padding
                sides = {"sources": real_words(pair.source), "targets": real_words(pair.target)}
                found[position] = word_weights(cut, source, target, **sides)
        for position in range(len(part)):
            if position not in found:
                raise InputError(f"pair {first + position + 1}: more than {model.max_length} tokens; shorten it")
            yield found[position]


def _head_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[list[int], Float[Tensor, "B H Q K"]]]:
    """Batches of pairs, by their positions, with the weights of all heads of the cross-attention, as `cross_heads`."""
    device = next(model.parameters()).device
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    budget = max(_BATCH_TOKENS, model.max_length)  # at least one longest sentence
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=budget):
        batch = encoded.batch(rows)
        with evaluating(model), record_attention(model) as maps:
            model(batch.source.to(device), batch.target_in.to(device))
        yield batch.pairs, torch.cat(maps["cross"], dim=1).float()


def _mixture(model: Seq2Seq, aligners: Sequence[Aligner]) -> Float[Tensor, "N H"]:
    """How much each head counts for each aligner. Raises `InputError` for heads that the model lacks."""
    names = cross_heads(model)
    if missing := sorted({head for aligner in aligners for head in aligner.heads} - set(names)):
        there = f"it has {names[0]} to {names[-1]}" if names else "it has no cross-attention"
        raise InputError(f"alignment: the model has no head {missing[0]}; {there}")
    rows = [[float(name in aligner.heads) / len(aligner.heads) for name in names] for aligner in aligners]
    return torch.tensor(rows)


def _alignment(pair: SentencePair, found: Float[np.ndarray, "T S"], aligner: Aligner) -> Alignment:
    """The alignment over all words, from the shares of the real ones."""
    sources, targets = real_words(pair.source), real_words(pair.target)
    whole = np.zeros((len(words(pair.target)), len(words(pair.source))), np.float32)
    whole[np.ix_(targets, sources)] = found
    rows, columns = linked(found, row=aligner.row, column=aligner.column).nonzero()
    links = sorted((sources[s], targets[t]) for t, s in zip(rows.tolist(), columns.tolist(), strict=True))
    return Alignment(pair.source, pair.target, tuple(links), whole, aligner)


def _linked_pairs(pairs: Pairs, model: Seq2Seq, tokenizer: Tokenizer) -> list[SentencePair]:
    return fitting([pair for pair in pairs if pair.links is not None], tokenizer, max_length=model.max_length)


def _gold_mask(pair: SentencePair) -> Bool[np.ndarray, "T S"]:
    """The gold links between real words."""
    gold = set(pair.links or ())
    sources, targets = real_words(pair.source), real_words(pair.target)
    cells = [[(source, target) in gold for source in sources] for target in targets]
    return np.array(cells, bool).reshape(len(targets), len(sources))


def _with_heads(subject: AligningModel, chosen: Aligner) -> AligningModel:
    changed = replace(subject.aligner, heads=chosen.heads, shift=chosen.shift, chosen_by="agreement")
    return replace(subject, aligner=changed)


def _lower_words(pair: SentencePair) -> tuple[list[str], list[str]]:
    """The real words of both sides in lower case."""
    both = []
    for text in (pair.source, pair.target):
        found = words(text)
        both.append([found[number].lower() for number in real_words(text)])
    return both[0], both[1]
