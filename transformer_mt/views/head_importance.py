"""The importance of each head for loss and BLEU on a set of sentences, and a run without the least important ones.

Michel et al. 2019, "Are Sixteen Heads Really Better than One?" Figures have 95 % intervals over sentences.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_mt.attention.multihead import MaskedHeads
from transformer_mt.batching.batches import Batch, fixed_batches
from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.config.sections import Config, TransformerConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.models.head_mask import active_heads, attention_layers, gated, head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.progress import advance
from transformer_mt.registry import HeadName, lookup
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.text.normalize import normalize
from transformer_mt.text.scripts import bleu_tokenizer
from transformer_mt.tokenizer.prepared import PreparedSentence
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.scoring import label_log_probabilities
from transformer_mt.translation.translator import Translator
from transformer_mt.views.maps import Membership, PairTokens, Tokens, over_words, record_attention
from transformer_mt.views.text import rendered, table

# Tokens of a batch, at least one longest sentence's.
_BATCH_TOKENS = 4_096
RESAMPLES = 1_000
_SEED = 1

Measured = TypeVar("Measured")
# The matches of one to four words, the number of such n-grams, and both lengths.
Statistics = Float[np.ndarray, "N 10"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and its 95 % interval over sentences."""

    value: float
    low: float
    high: float

    def text(self, digits: int, *, factor: float = 1.0) -> str:
        """The figure and the distance to the farther end of its interval: `1.25 ±0.50`."""
        margin = max(self.high - self.value, self.value - self.low)
        return f"{factor * self.value:.{digits}f} ±{factor * margin:.{digits}f}"


class Resampling:
    """Percentile intervals of the bootstrap (Efron and Tibshirani 1993, §13.3; Koehn 2004): sentences are drawn with
    replacement, `RESAMPLES` times, always alike."""

    def __init__(self, sentences: int) -> None:
        draws = np.random.default_rng(_SEED).multinomial(sentences, np.full(sentences, 1.0 / sentences), size=RESAMPLES)
        # The number of times that each draw has each sentence.
        self.counts: Float[np.ndarray, "R N"] = draws.astype(np.float64)

    def estimates(
        self, sums: Float[np.ndarray, "N M K"], totals: Float[np.ndarray, "N M K"]
    ) -> list[list[Estimate | None]]:
        """Σ sums / Σ totals over sentences, for each of M × K figures; None where nothing was counted.

        A draw that counts nothing, where there is something, has the value of all.
        """
        with np.errstate(invalid="ignore"):
            value = sums.sum(axis=0, dtype=np.float64) / totals.sum(axis=0, dtype=np.float64)
            ratios = np.tensordot(self.counts, sums, 1) / np.tensordot(self.counts, totals, 1)
        low, high = np.quantile(np.where(np.isnan(ratios), value, ratios), [0.025, 0.975], axis=0)
        figures = np.stack((value, low, high), axis=-1).tolist()
        return [[None if np.isnan(figure[0]) else Estimate(*figure) for figure in row] for row in figures]

    def estimate(self, sums: Float[np.ndarray, " N"], totals: Float[np.ndarray, " N"]) -> Estimate:
        [[estimate]] = self.estimates(sums[:, None, None], totals[:, None, None])
        assert estimate is not None
        return estimate


def batches(encoded: EncodedPairs, model: Seq2Seq) -> Iterator[tuple[Tensor, Batch]]:
    """The pairs in batches on the model's device, with their rows among the encoded ones."""
    most = max(_BATCH_TOKENS, model.max_length)
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=most):
        yield rows, encoded.batch(rows).to(next(model.parameters()).device)
        advance(len(rows))


def word_weights(
    model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs
) -> Iterator[tuple[int, dict[str, Float[np.ndarray, "H W V"]]]]:
    """Each pair, by its number, with the attention of each stack's heads, in the order of `head_names`, over words.

    The last column is that of the symbol, `</s>` or in the decoder `<s>`, which has no row. Batches change the order of
    the pairs. Raises `InputError` for a pair that is too long.
    """
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    if encoded.too_long:
        raise InputError(f"{encoded.too_long} of the pairs: more than {model.max_length} tokens; shorten them")
    for rows, batch in batches(encoded, model):
        with evaluating(model), record_attention(model) as recording:
            require_finite(model(batch.source, batch.decoder_input))
        weights = {}
        for stack, modules in model.attention_stacks().items():
            layers = recording.of_tokens(stack, batch.source.shape[1], batch.decoder_input.shape[1])
            of_layers = zip(modules, layers, strict=True)
            active = [layer[:, [head - 1 for head in active_heads(module)]] for module, layer in of_layers]
            weights[stack] = torch.cat(active, dim=1).float().numpy(force=True)
        for place, row in enumerate(rows.tolist()):
            source = _membership(tokenizer, pairs[row].source, encoded.source[row][:-1].tolist())
            target = _membership(tokenizer, pairs[row].target, encoded.target[row].tolist())
            read = np.roll(target, 1, axis=1)  # the decoder reads its symbol before the words
            sides = {"encoder": (source, source), "decoder": (target, read), "cross": (target, source)}
            matrices = {}
            for stack, of_heads in weights.items():
                down, across = sides[stack]
                matrices[stack] = over_words(of_heads[place, :, : down.shape[1], : across.shape[1]], down[:-1], across)
            yield row, matrices


def _membership(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> Membership:
    """A row for each word and for the symbol, a column for each piece and for the symbol: 1 where it is part of it."""
    return Tokens.of(PreparedSentence(text, tuple(ids), tokenizer)).membership()


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
        gates: dict[MaskedHeads, Tensor] = {}
        for copy, name in enumerate(copies):
            if name is not None:
                module = layers[name._replace(head=0)]
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
    every = [layer._replace(head=head + 1) for layer, module in layers.items() for head in range(module.heads)]
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


@dataclass(frozen=True, slots=True)
class ModelScores:
    """The loss of references in nats a target token, and BLEU of translations, over the sentences measured."""

    loss: Estimate
    bleu: Estimate


@dataclass(frozen=True, slots=True)
class Pruning:
    """The heads that were switched off, their number before, the importance of each, the scores, and their change."""

    pruned: tuple[HeadName, ...]
    heads: int
    importance: Mapping[HeadName, float]
    before: ModelScores
    after: ModelScores
    change: ModelScores


def prune_run(
    source: Run, config: Config, translator: Translator, pairs: Pairs, *, count: int, method: str, path: Path
) -> Pruning:
    """Write to `path` a run like `source` whose head mask also has the `count` heads that matter least to the pairs.

    Its configuration is `config` but for the mask; none of the pairs is too long. Raises `InputError` where something
    stands at the path, and for a model that cannot do without this many heads.
    """
    model, tokenizer = translator.model.network, translator.model.tokenizer
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists; choose another directory with --run-dir")
    if not isinstance(config.model, TransformerConfig):
        raise InputError(f"--prune: the heads of a {config.model.kind} model cannot be masked; give another run")
    names = head_names(model)
    if not 0 < count < len(names):
        raise InputError(f"--prune: {count} of {len(names)} heads cannot be removed; give at least 1, and keep one")
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    importance = lookup(IMPORTANCE, method, key="--importance")(model, encoded)
    least = sorted(names, key=lambda name: importance[name])[:count]
    pruned = tuple(sorted(least, key=names.index))
    attention = config.model.attention
    masked = attention.model_copy(update={"head_mask": (*attention.head_mask, *map(str, pruned))})
    config = config.model_copy(update={"model": config.model.model_copy(update={"attention": masked})})
    scores = list(_scores(translator, pairs, encoded, pruned))  # before anything is written: they may be refused
    Run.create(path, config, tokenizer, source.data(), source.words()).save_model(weights_of(model))
    return Pruning(pruned, len(names), importance, *scores)


def _scores(
    translator: Translator, pairs: Pairs, encoded: EncodedPairs, pruned: Collection[HeadName]
) -> Iterator[ModelScores]:
    before, whole = sentence_losses(translator.model.network, encoded), bleu_statistics(translator, pairs)
    with without_heads(translator.model.network, pruned):
        after, less = sentence_losses(translator.model.network, encoded), bleu_statistics(translator, pairs)
    resampling, tokens = Resampling(len(encoded)), encoded.target_lengths.double().numpy()
    nothing = np.zeros_like(whole)
    for losses, first, second in ((before, nothing, whole), (after, nothing, less), (after - before, whole, less)):
        yield ModelScores(resampling.estimate(losses, tokens), bleu_change(first, second, resampling))


def pruning_lines(pruning: Pruning, path: Path, *, width: int) -> Iterator[str]:
    """The heads that are off, and both scores before and after."""
    yield f"{path}: a run without {len(pruning.pruned)} of {pruning.heads} heads"
    yield f"off: {', '.join(map(str, pruning.pruned))}"
    yield ""
    scores = {"before": pruning.before, "after": pruning.after, "change": pruning.change}
    rows = [(title, of.loss.text(4), of.bleu.text(2)) for title, of in scores.items()]
    grid = table(rows, headings=("", "loss, nats a token", "BLEU"), right=(1, 2))
    yield from (line.plain for line in rendered(grid, width=width))
    yield "± is the 95 % interval over sentences"
