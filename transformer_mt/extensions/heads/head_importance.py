"""The importance of each head for the loss of a set of sentences.

Michel et al. 2019, "Are Sixteen Heads Really Better than One?"
"""

import math
from collections import defaultdict

import numpy as np
import torch
from jaxtyping import Float

from transformer_mt.batching.encoded_pairs import EncodedPairs
from transformer_mt.ground.head_names import HeadName, LayerName
from transformer_mt.models.batches import batches
from transformer_mt.models.head_mask import attention_layers, gated, head_names
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.translation.scoring import label_log_probabilities

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
        device = batch.source.device
        masks = {
            module: torch.ones(len(rows), module.heads, device=device, requires_grad=True) for module in layers.values()
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
