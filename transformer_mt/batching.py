"""Token-budget batches of encoded sentence pairs, in an order that is a function of (seed, epoch)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.tokenizer import BOS, EOS, PAD, Sampling, Tokenizer

Rows = Int[Tensor, " P"]
Lengths = Int[Tensor, " P"]

_PAIRS_AT_A_TIME = 10_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded sentence pairs: the decoder reads `target_in` (`BOS` first) and predicts `target_out` (`EOS` last).

    `pairs` are the rows' positions in the corpus; the token counts leave padding out.
    """

    source: Int[Tensor, "B S"]
    target_in: Int[Tensor, "B T"]
    target_out: Int[Tensor, "B T"]
    pairs: list[int]
    source_tokens: int
    target_tokens: int

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return replace(
            self,
            source=self.source.to(device, non_blocking=True),
            target_in=self.target_in.to(device, non_blocking=True),
            target_out=self.target_out.to(device, non_blocking=True),
        )


@dataclass(frozen=True, slots=True)
class Sentences:
    """Encoded sentences of different lengths in one flat tensor; sentence i is `ids[starts[i] : starts[i + 1]]`."""

    ids: Int[Tensor, " N"]
    starts: Int[Tensor, " P1"]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> "Sentences":
        """The sentences of these lists of tokens, in one tensor."""
        ids = torch.tensor(list(chain.from_iterable(sentences)), dtype=torch.int32)
        return cls(ids, _starts(torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)))

    @classmethod
    def join(cls, parts: Sequence["Sentences"]) -> "Sentences":
        """The sentences of all parts, in order."""
        return cls(torch.cat([part.ids for part in parts]), _starts(torch.cat([part.lengths for part in parts])))

    @property
    def lengths(self) -> Lengths:
        """The number of tokens of each sentence."""
        return self.starts.diff()

    def padded(self, rows: Int[Tensor, " B"]) -> Int[Tensor, "B L"]:
        """Those sentences side by side, filled up with `PAD`."""
        starts, lengths = self.starts[rows, None], self.lengths[rows, None]
        positions = torch.arange(int(lengths.max()))
        real = positions < lengths
        padded = torch.full(real.shape, PAD)
        padded[real] = self.ids[(starts + positions)[real]].long()
        return padded


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Sentence pairs as tokens: sources end with `EOS`, targets are bare. Eight bytes a token pair, no Python objects.

    `positions` says which pair of the corpus each one is, because `too_long` of them were left out.
    """

    source: Sentences
    target: Sentences
    positions: Rows
    too_long: int

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def source_lengths(self) -> Lengths:
        """Tokens of each source, `EOS` included."""
        return self.source.lengths

    @property
    def target_lengths(self) -> Lengths:
        """Tokens that the decoder predicts for each target, `EOS` included."""
        return self.target.lengths + 1

    def batch(self, rows: Sequence[int]) -> Batch:
        """The padded batch of these pairs, counted from 0 over those that were kept."""
        index = torch.tensor(rows)
        target, ends = self.target.padded(index), self.target.lengths[index]
        target_out = F.pad(target, (0, 1), value=PAD)
        target_out[torch.arange(len(index)), ends] = EOS
        return Batch(
            source=self.source.padded(index),
            target_in=F.pad(target, (1, 0), value=BOS),
            target_out=target_out,
            pairs=self.positions[index].tolist(),
            source_tokens=int(self.source_lengths[index].sum()),
            target_tokens=int(self.target_lengths[index].sum()),
        )


def encode_pairs(
    pairs: Pairs, tokenizer: Tokenizer, *, max_length: int, sampling: Sampling | None = None
) -> EncodedPairs:
    """Encode a corpus; pairs with more than `max_length` tokens on a side, `EOS` included, are left out and counted.

    With `sampling`, source and target are segmented at random, and again the same for the same sampling. Raises
    `InputError` when no pair is left.
    """
    parts = [
        _encode_part(pairs[start : start + _PAIRS_AT_A_TIME], tokenizer, max_length, sampling, first=start)
        for start in range(0, len(pairs), _PAIRS_AT_A_TIME)
    ]
    encoded = EncodedPairs(
        source=Sentences.join([part.source for part in parts]),
        target=Sentences.join([part.target for part in parts]),
        positions=torch.cat([part.positions for part in parts]),
        too_long=sum(part.too_long for part in parts),
    )
    if not len(encoded):
        raise InputError(
            f"model.max_length, training.batch_tokens: all {len(pairs)} pairs have more than {max_length} tokens; "
            "raise them"
        )
    return encoded


def mix_seed(*numbers: int) -> int:
    """One 63-bit seed of several numbers: the first bytes of their SHA-256, so near numbers give unrelated seeds."""
    digest = hashlib.sha256(",".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def plan_batches(
    source_lengths: Lengths, target_lengths: Lengths, *, batch_tokens: int, seed: int, epoch: int
) -> list[list[int]]:
    """Which pairs make a batch, in training order: each pair once, near lengths together, a function of the arguments.

    On either side a batch holds at most `batch_tokens` tokens, padding included. Raises `InputError` when one pair
    alone holds more.
    """
    generator = torch.Generator().manual_seed(mix_seed(seed, epoch))
    shuffled = torch.randperm(len(source_lengths), generator=generator)
    batches = _cut(shuffled, source_lengths, target_lengths, batch_tokens)
    order = torch.randperm(len(batches), generator=generator)
    return [batches[index] for index in order.tolist()]


def fixed_batches(source_lengths: Lengths, target_lengths: Lengths, *, batch_tokens: int) -> list[list[int]]:
    """As `plan_batches`, but always the same batches, from short to long: for validation and translation."""
    return _cut(torch.arange(len(source_lengths)), source_lengths, target_lengths, batch_tokens)


def _encode_part(
    pairs: Pairs, tokenizer: Tokenizer, max_length: int, sampling: Sampling | None, *, first: int
) -> EncodedPairs:
    """Encode a slice of the corpus whose first pair stands at `first`."""
    draws = [sampling and Sampling(mix_seed(sampling.seed, first, side), sampling.alpha) for side in (0, 1)]
    sources = tokenizer.encode_batch([pair.source for pair in pairs], sampling=draws[0])
    targets = tokenizer.encode_batch([pair.target for pair in pairs], sampling=draws[1])
    kept = [row for row in range(len(pairs)) if max(len(sources[row]), len(targets[row])) < max_length]
    return EncodedPairs(
        source=Sentences.of([[*sources[row], EOS] for row in kept]),
        target=Sentences.of([targets[row] for row in kept]),
        positions=torch.tensor(kept, dtype=torch.int64) + first,
        too_long=len(pairs) - len(kept),
    )


def _starts(lengths: Lengths) -> Int[Tensor, " P+1"]:
    return F.pad(lengths.cumsum(0), (1, 0))


def _by_length(order: Rows, source_lengths: Lengths, target_lengths: Lengths) -> Rows:
    """Sort by the longer side, which the budget counts, then by how much longer the target is.

    The second key runs back and forth, so that a batch across two lengths does not jump from one end to the other.
    Pairs with equal lengths keep their order.
    """
    longer = torch.maximum(source_lengths, target_lengths)[order]
    excess = (target_lengths - source_lengths)[order]
    excess = torch.where(longer % 2 == 0, excess, -excess)
    order_of_excess = excess.argsort(stable=True)
    return order[order_of_excess[longer[order_of_excess].argsort(stable=True)]]


def _cut(order: Rows, source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int) -> list[list[int]]:
    """Sort an order of pairs by length and cut it into batches, each as large as the budget admits."""
    order = _by_length(order, source_lengths, target_lengths)
    longest_sides = torch.maximum(source_lengths, target_lengths)[order]
    batches: list[list[int]] = []
    width = 0
    for pair, length in zip(order.tolist(), longest_sides.tolist(), strict=True):
        if length > batch_tokens:
            raise InputError(
                f"training.batch_tokens: {batch_tokens} is less than a sentence of {length} tokens; raise it, or lower "
                "model.max_length"
            )
        width = max(width, length)
        if not batches or (len(batches[-1]) + 1) * width > batch_tokens:
            batches.append([])
            width = length
        batches[-1].append(pair)
    return batches
