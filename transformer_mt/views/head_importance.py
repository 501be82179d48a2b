"""The importance of each head for loss and BLEU on a set of sentences.

Michel et al. 2019, "Are Sixteen Heads Really Better than One?" Figures have 95 % intervals over sentences.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.attention.multihead import InspectableAttention
from transformer_mt.batching.batches import Batch
from transformer_mt.batching.encoded_pairs import EncodedPairs
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.head_names import HeadName
from transformer_mt.intervals import Estimate, Resampling
from transformer_mt.links.tokens import PairTokens
from transformer_mt.links.word_weights import _BATCH_TOKENS, batches
from transformer_mt.models.head_mask import attention_layers, gated, head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.text.normalize import normalize
from transformer_mt.text.scripts import bleu_tokenizer
from transformer_mt.translation.scoring import label_log_probabilities
from transformer_mt.translation.translator import Translator

Measured = TypeVar("Measured")


# The matches of one to four words, the number of such n-grams, and both lengths.
Statistics = Float[np.ndarray, "N 10"]


def without_each(model: Seq2Seq, measure: Callable[[], Measured]) -> dict[HeadName, Measured]:
    """The measurement with each head switched off, one at a time."""
    measured = {}
    for name in head_names(model):
        with without_heads(model, [name]):
            measured[name] = measure()
    return measured


def sentence_losses(model: Seq2Seq, encoded: EncodedPairs) -> Float[np.ndarray, " N"]:
    """−log p of the reference of each pair, in nats, summed over `target_lengths` tokens."""
    losses = np.zeros(len(encoded))
    with evaluating(model):
        for rows, batch in batches(encoded, model):
            losses[rows.numpy()] = _losses(model, batch).double().numpy(force=True)
    return losses


@dataclass(frozen=True, slots=True)
class HeadLosses:
    """ln p of a translation, with all heads, and without each."""

    log_probability: float
    without: dict[HeadName, float]


def head_losses(model: Seq2Seq, tokens: PairTokens) -> HeadLosses:
    """The losses of all heads of the model."""
    return HeadLosses(*log_probabilities_without_each(model, tokens, range(len(tokens.written.ids)), head_names(model)))


def log_probabilities_without_each(
    model: Seq2Seq, tokens: PairTokens, rows: Sequence[int], candidates: Sequence[HeadName]
) -> tuple[float, dict[HeadName, float]]:
    """ln p of the rows' pieces with all heads and without each candidate, a copy of the pair for each."""
    layers, (source, read) = attention_layers(model), tokens.inputs(next(model.parameters()).device)
    written = torch.tensor([tokens.written.ids[row] for row in rows], device=read.device)
    at_once, found = max(1, _BATCH_TOKENS // max(source.numel(), read.numel())), list[float]()
    every: list[HeadName | None] = [None, *candidates]
    for first in range(0, len(every), at_once):
        copies = every[first : first + at_once]
        gates: dict[InspectableAttention, Tensor] = {}
        for copy, name in enumerate(copies):
            if name is not None:
                module = layers[name.of_layer]
                ones = torch.ones(len(copies), module.heads, device=read.device)
                gates.setdefault(module, ones)[copy, name.head - 1] = 0.0
        with evaluating(model), gated(gates):
            logits = require_finite(model(source.expand(len(copies), -1), read.expand(len(copies), -1)))
            log_p = logits[:, rows].float().log_softmax(dim=-1)  # B R V
            found += log_p.gather(2, written.expand(len(copies), -1)[..., None]).sum(dim=(1, 2)).tolist()
    return found[0], dict(zip(candidates, found[1:], strict=True))


def mean_gradients(model: Seq2Seq, encoded: EncodedPairs) -> dict[HeadName, float]:
    """The sum over pairs of |∂L/∂ξ| at ξ = 1 in nats a target token, where L is the pair's loss and ξ the head's number
    in the mask (Michel et al. 2019, §4.1)."""
    layers = attention_layers(model)
    every = [layer.head(head + 1) for layer, module in layers.items() for head in range(module.heads)]
    slopes = np.zeros(len(every))
    for rows, batch in batches(encoded, model):
        ones = torch.ones(len(rows), 1, device=batch.source.device)
        masks = {module: ones.repeat(1, module.heads).requires_grad_() for module in layers.values()}
        with evaluating(model, gradients=True), gated(masks):
            gradients = torch.autograd.grad(_losses(model, batch).sum(), list(masks.values()))
        slopes += torch.cat(gradients, dim=1).abs().double().sum(dim=0).numpy(force=True)
    by_name = dict(zip(every, (slopes / int(encoded.target_lengths.sum())).tolist(), strict=True))
    return {name: by_name[name] for name in head_names(model)}


def exact_importance(model: Seq2Seq, encoded: EncodedPairs) -> dict[HeadName, float]:
    """The rise of the loss without each head, in nats a target token."""
    before, tokens = sentence_losses(model, encoded).sum(), int(encoded.target_lengths.sum())
    without = without_each(model, lambda: sentence_losses(model, encoded).sum())
    return {name: float(after - before) / tokens for name, after in without.items()}


def normalised_gradients(model: Seq2Seq, encoded: EncodedPairs) -> dict[HeadName, float]:
    """`mean_gradients` divided in each layer by their Euclidean norm (Michel et al. 2019, §4.1); zeros stay."""
    importance = mean_gradients(model, encoded)
    layers = groupby(importance, key=lambda name: name[:2])
    norms = {layer: math.hypot(*(importance[name] for name in names)) for layer, names in layers}
    return {name: value / (norms[name[:2]] or 1.0) for name, value in importance.items()}


# How much each head matters to the loss of the pairs.
IMPORTANCE: dict[str, Callable[[Seq2Seq, EncodedPairs], dict[HeadName, float]]] = {
    "gradient": normalised_gradients,
    "unnormalised": mean_gradients,
    "exact": exact_importance,
}


def _losses(model: Seq2Seq, batch: Batch) -> Float[Tensor, " B"]:
    return -label_log_probabilities(model, batch).sum(dim=1)


def bleu_statistics(translator: Translator, pairs: Pairs) -> Statistics:
    """The statistics of each translation, compared with all that its pair knows to be right."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    texts = [best.text for best, *_ in translator.translate([pair.source for pair in pairs])]
    references = [[normalize(text) for text in pair.translations] for pair in pairs]
    tokenizer, _ = bleu_tokenizer(translator.model.config.data.target_language, references)
    metric = BLEU(effective_order=True, tokenize=tokenizer)
    scores = [metric.sentence_score(normalize(text), right) for text, right in zip(texts, references, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores], np.float64)


def bleu(statistics: Float[np.ndarray, " 10"]) -> float:
    """BLEU of summed statistics, as sacrebleu computes it of a corpus."""
    from sacrebleu.metrics.bleu import BLEU

    *counts, ours, theirs = map(round, statistics)
    return float(BLEU.compute_bleu(counts[:4], counts[4:], sys_len=ours, ref_len=theirs, smooth_method="exp").score)


def bleu_change(before: Statistics, after: Statistics, resampling: Resampling) -> Estimate:
    """The change of BLEU; each draw has the same sentences before and after (Koehn 2004)."""
    draws = zip(resampling.counts @ before, resampling.counts @ after, strict=True)
    changes = [bleu(drawn_after) - bleu(drawn_before) for drawn_before, drawn_after in draws]
    low, high = np.quantile(changes, [0.025, 0.975]).tolist()
    return Estimate(bleu(after.sum(axis=0)) - bleu(before.sum(axis=0)), low, high)


def bleu_without_each(translator: Translator, pairs: Pairs) -> tuple[Estimate, dict[HeadName, Estimate]]:
    """BLEU of the translations, and its change without each head, one at a time."""
    whole, resampling = bleu_statistics(translator, pairs), Resampling(len(pairs))
    without = without_each(translator.model.network, lambda: bleu_statistics(translator, pairs))
    changes = {name: bleu_change(whole, statistics, resampling) for name, statistics in without.items()}
    return bleu_change(np.zeros_like(whole), whole, resampling), changes
