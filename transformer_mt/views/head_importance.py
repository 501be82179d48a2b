"""The importance of each head for the loss of a set of sentences, and for one pair.

Michel et al. 2019, "Are Sixteen Heads Really Better than One?"
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import EncodedPairs
from transformer_mt.ground.head_names import HeadName, LayerName
from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.batches import BATCH_TOKENS, batches
from transformer_mt.models.head_mask import attention_layers, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.translation.scoring import label_log_probabilities
from transformer_mt.views.methods import log_p_of

ByHead = dict[HeadName, float]


def sentence_losses(model: Seq2Seq, encoded: EncodedPairs) -> Float[np.ndarray, " N"]:
    """−log p of the reference of each pair, in nats, summed over `target_lengths` tokens."""
    losses = np.zeros(len(encoded))
    with evaluating(model):
        for rows, batch in batches(model, encoded):
            losses[rows.numpy()] = -label_log_probabilities(model, batch).sum(dim=1).double().numpy(force=True)
    return losses


def mean_gradients(model: Seq2Seq, encoded: EncodedPairs) -> ByHead:
    """Σ |∂L/∂ξ| over pairs at ξ = 1, in nats per target token, for each head (Michel et al. 2019, §4.1).

    L is a pair's loss, ξ the head's factor in the mask.
    """
    layers = attention_layers(model)
    sums = {layer: np.zeros(module.heads) for layer, module in layers.items()}
    for rows, batch in batches(model, encoded):
        masks = {
            module: torch.ones(len(rows), module.heads, device=batch.source.device, requires_grad=True)
            for module in layers.values()
        }
        with evaluating(model, gradients=True), gated(masks):
            gradients = torch.autograd.grad(label_log_probabilities(model, batch).sum(), list(masks.values()))
        for layer, slopes in zip(layers, gradients, strict=True):
            sums[layer] += slopes.abs().double().sum(dim=0).numpy(force=True)
    tokens = int(encoded.target_lengths.sum())
    return {name: float(sums[name.of_layer][name.head - 1]) / tokens for name in head_names(model)}


def normalised_gradients(model: Seq2Seq, encoded: EncodedPairs) -> ByHead:
    """`mean_gradients` divided by their Euclidean norm in each layer (Michel et al. 2019, §4.1); zeros stay zero."""
    importance = mean_gradients(model, encoded)
    of_layers = defaultdict[LayerName, list[float]](list)
    for name, number in importance.items():
        of_layers[name.of_layer].append(number)
    return {name: number / (math.hypot(*of_layers[name.of_layer]) or 1.0) for name, number in importance.items()}


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
    rows = slice(None) if row is None else slice(row, row + 1)
    log_p = log_p_of(tokens.written.ids[rows])
    found = list[float]()
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
        found += log_p(logits[:, rows].float()).sum(dim=1).tolist()
    of = "the translation" if row is None else tokens.written.pieces[row]
    return HeadLosses(of, found[0], dict(zip(heads, found[1:], strict=True)))
