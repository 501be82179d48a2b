"""What a pair's log-probability loses without each head."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.batches import BATCH_TOKENS
from transformer_mt.models.head_mask import attention_layers, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite

ByHead = dict[HeadName, float]


@dataclass(frozen=True)
class HeadLosses:
    """ln p of `of` (a token, or the translation), with all heads and without each candidate."""

    of: str
    log_probability: float
    without: ByHead


def head_losses(
    model: Seq2Seq, tokens: PairTokens, *, row: int | None = None, candidates: Sequence[HeadName] = ()
) -> HeadLosses:
    """ln p of a row's token, or of the whole translation, without each candidate head (default: every head).

    Runs batches with a copy of the pair per head. Raises `MachineError` if the model's numbers are not finite.
    """
    heads = candidates or head_names(model)
    layers = attention_layers(model)
    source, read = tokens.inputs(model)
    rows = list(range(len(tokens.written.ids))) if row is None else [row]
    found = list[float]()
    written = [tokens.written.ids[row] for row in rows]
    at_once = max(1, BATCH_TOKENS // max(source.numel(), read.numel()))
    off = [None, *heads]
    for first in range(0, len(off), at_once):
        copies = off[first : first + at_once]
        gates = {module: torch.ones(len(copies), module.heads, device=read.device) for module in layers.values()}
        for copy, name in enumerate(copies):
            if name:
                gates[layers[name.of_layer]][copy, name.head - 1] = 0.0
        with evaluating(model), gated(gates):
            logits = require_finite(model(source.expand(len(copies), -1), read.expand(len(copies), -1)))
            log_p = logits[:, rows].float().log_softmax(dim=-1)[:, range(len(rows)), written]  # B R
        found += log_p.sum(dim=1).tolist()
    of = "the translation" if row is None else tokens.written.pieces[row]
    return HeadLosses(of, found[0], dict(zip(heads, found[1:], strict=True)))
