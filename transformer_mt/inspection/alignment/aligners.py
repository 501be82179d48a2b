"""Models that link words, and what they say of pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.batching.encoded_pairs import encode_pairs, fitting
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair, words
from transformer_mt.corpus.pharaoh import format_links
from transformer_mt.errors import InputError
from transformer_mt.inspection.ablation import batches
from transformer_mt.inspection.alignment.links import (
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
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.registry import HeadName
from transformer_mt.runs.alignment import Aligner
from transformer_mt.tokenizer.tokenizer import Tokenizer

_PAIRS_AT_A_TIME = 1_000


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


def link_counts(subject: AligningModel, pairs: Pairs, *, reverse: AligningModel | None = None) -> LinkCounts:
    """How well the links of pairs with gold links are found; the others, and those too long, are left out.

    The weights are those with which the model writes the reference, given it (teacher forcing). Links of punctuation
    marks count on neither side. Counts are summed before anything is divided.
    """
    chosen = linked_pairs(pairs, subject.model, subject.tokenizer)
    if reverse is not None:
        turned = fitting([pair.reversed() for pair in chosen], reverse.tokenizer, max_length=reverse.model.max_length)
        chosen = [pair.reversed() for pair in turned]
    counts = (
        LinkCounts.of(set(found.links), between_words(pair.links or (), pair.source, pair.target))
        for pair, found in zip(chosen, align(subject, chosen, reverse=reverse), strict=True)
    )
    return sum(counts, LinkCounts())


def linked_pairs(pairs: Pairs, model: Seq2Seq, tokenizer: Tokenizer) -> list[SentencePair]:
    """The pairs whose links are known and that are not too long for the model."""
    return fitting([pair for pair in pairs if pair.links is not None], tokenizer, max_length=model.max_length)


def mixed_weights(
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


def lower_words(pair: SentencePair) -> tuple[list[str], list[str]]:
    """The real words of both sides in lower case."""
    both = []
    for text in (pair.source, pair.target):
        found = words(text)
        both.append([found[number].lower() for number in real_words(text)])
    return both[0], both[1]


def _shares(subject: AligningModel, pairs: Pairs) -> Iterator[Float[np.ndarray, "T S"]]:
    """The shares of each pair's real words, neighbours and dictionary included."""
    aligner = subject.aligner
    matrices = mixed_weights(subject.model, subject.tokenizer, pairs, [aligner])
    for pair, (weights,) in zip(pairs, matrices, strict=True):
        source, target = lower_words(pair)
        yield supported(shares(weights), source, target, aligner.dictionary)


def _head_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[list[int], Float[Tensor, "B H Q K"]]]:
    """Batches of pairs, by their positions, with the weights of all heads of the cross-attention, as `cross_heads`."""
    for _, batch in batches(encode_pairs(pairs, tokenizer, max_length=model.max_length), model):
        with evaluating(model), record_attention(model) as maps:
            require_finite(model(batch.source, batch.decoder_input))
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
