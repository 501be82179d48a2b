"""Token-budget batches of encoded sentence pairs, ordered as a function of (seed, epoch)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.seeds import derive_seed

Indices = Int[Tensor, " P"]
Lengths = Int[Tensor, " P"]
# The pairs of every batch, in training order: views of one tensor, four bytes per pair.
BatchPlan = list[Tensor]


@dataclass(frozen=True)
class Batch:
    """Padded sentence pairs. The decoder reads `decoder_input` (`BOS` first) and predicts `labels` (`EOS` last).

    `pairs` are the rows' positions in the corpus. Token counts exclude padding.
    """

    source: Int[Tensor, "B S"]
    decoder_input: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    pairs: list[int]
    source_tokens: int
    target_tokens: int

    @property
    def sizes(self) -> list[str]:
        """Rows × tokens, padding included, of source and target."""
        return ["×".join(map(str, side.shape)) for side in (self.source, self.decoder_input)]

    def to(self, device: torch.device | str) -> "Batch":
        """Copy the batch to another device."""
        tensors = ("source", "decoder_input", "labels")
        moved = {name: getattr(self, name).to(device, non_blocking=True) for name in tensors}
        return replace(self, **moved)


def plan_batches(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
    rows: Int[Tensor, " R"] | None = None,
    processes: int = 1,
) -> BatchPlan:
    """Put each of `rows` (default: all) into one batch with pairs of similar length. A function of the arguments.

    On either side, a batch holds at most `batch_tokens` tokens, padding included. With several processes, batches are
    dealt in groups of similar length, one batch per process; an incomplete group is dropped, a different one each
    epoch. Raises `InputError` if a single pair exceeds a batch, or if there are fewer batches than processes.
    """
    generator = torch.Generator().manual_seed(derive_seed(seed, epoch))
    given = torch.arange(len(source_lengths)) if rows is None else rows
    shuffled = given.int()[torch.randperm(len(given), generator=generator, dtype=torch.int32)]
    ends = _cut_by_length(shuffled, source_lengths, target_lengths, batch_tokens)
    batches = _batches(shuffled, ends)
    return [batches[place] for place in _turns(len(ends), processes, generator)]


def fixed_batches(source_lengths: Lengths, target_lengths: Lengths, *, batch_tokens: int) -> BatchPlan:
    """Plan batches from short to long, the same in every epoch, for validation and translation."""
    rows = torch.arange(len(source_lengths), dtype=torch.int32)
    ends = _cut_by_length(rows, source_lengths, target_lengths, batch_tokens)
    return _batches(rows, ends)


def _batches(rows: Indices, ends: Sequence[int]) -> BatchPlan:
    """The rows between these ends."""
    return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _turns(batches: int, processes: int, generator: torch.Generator) -> list[int]:
    """Shuffle groups of `processes` neighbouring batches. A random remainder is dropped."""
    turns, spare = divmod(batches, processes)
    if batches and not turns:
        raise InputError("training.batch_tokens", f"{batches} batches per epoch for {processes} processes", "lower it")
    kept = torch.randperm(batches, generator=generator)[spare:].sort().values if spare else torch.arange(batches)
    order = torch.randperm(turns, generator=generator)
    return kept.view(turns, processes)[order].flatten().tolist()


def _cut_by_length(
    rows: Int[Tensor, " R"], source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int
) -> list[int]:
    """Sort rows by length in place; return the end of each batch."""
    if not len(rows):
        return []
    source = source_lengths[rows].long()
    target = target_lengths[rows].long()
    order = _by_length(source, target)
    rows.copy_(rows[order])
    return _cut(torch.maximum(source, target)[order].numpy(), batch_tokens)


def _by_length(source: Lengths, target: Lengths) -> Indices:
    """Order by the longer side (the budget counts it), then by how much longer the target is.

    The second key alternates its direction, so that a batch across two lengths does not jump between extremes.
    """
    longer = torch.maximum(source, target)
    key = longer * (2 * int(longer.max()) + 1) + torch.where(longer % 2 == 0, target - source, source - target)
    return torch.from_numpy(np.argsort(key.numpy(), kind="stable"))


def _cut(longer: np.ndarray, batch_tokens: int) -> list[int]:
    """The ends of the largest batches within the budget, for pairs sorted by their longer sides."""
    if longer[-1] > batch_tokens:
        raise InputError("training.batch_tokens", f"less than the {longer[-1]} tokens of a sentence", "raise it")
    ends: list[int] = []
    start = 0
    while start < len(longer):
        widths = longer[start : start + batch_tokens // int(longer[start])]
        cells = widths * np.arange(1, len(widths) + 1)
        start += int(np.searchsorted(cells, batch_tokens, side="right"))
        ends.append(start)
    return ends
