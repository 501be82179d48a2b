"""What the translations of a model lose without some of its heads."""

import dataclasses
from collections.abc import Collection

import numpy as np
from jaxtyping import Float

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.inspection.head_table import HeadTable
from transformer_mt.inspection.intervals import Estimate, Resampling
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.registry import HeadName
from transformer_mt.translation.translator import Translator

# Matches of one to four words, how many such n-grams there are, and both lengths.
Statistics = Float[np.ndarray, "N 10"]


def with_bleu(table: HeadTable, translator: Translator, pairs: Pairs) -> HeadTable:
    """The table with BLEU of the model's translations, and by how much it changes without each head."""
    whole = bleu_statistics(translator, pairs)
    resampling = Resampling(len(pairs))
    changes = {
        name: bleu_change(whole, bleu_statistics(translator, pairs, without=[name]), resampling)
        for name in head_names(translator.model)
    }
    heads = tuple(dataclasses.replace(head, bleu=changes[head.name]) for head in table.heads)
    nothing = np.zeros_like(whole)
    return dataclasses.replace(table, bleu=bleu_change(nothing, whole, resampling), heads=heads)


def bleu_statistics(translator: Translator, pairs: Pairs, *, without: Collection[HeadName] = ()) -> Statistics:
    """What BLEU is made of, for each translation beside all that its pair knows to be right; heads can be off."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import

    with without_heads(translator.model, without):
        found = translator.translate([pair.source for pair in pairs])
    metric = BLEU(effective_order=True)
    scores = [
        metric.sentence_score(best.text, list(pair.translations)) for (best, *_), pair in zip(found, pairs, strict=True)
    ]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in scores], np.float64)


def bleu(statistics: Float[np.ndarray, " 10"]) -> float:
    """BLEU of summed statistics, as sacrebleu computes it of a corpus; 0 where there are no words."""
    from sacrebleu.metrics.bleu import BLEU

    numbers = [round(number) for number in statistics]
    if not numbers[8]:
        return 0.0
    score = BLEU.compute_bleu(
        numbers[:4], numbers[4:8], sys_len=numbers[8], ref_len=numbers[9], smooth_method="exp"
    ).score
    return float(score)


def bleu_change(before: Statistics, after: Statistics, resampling: Resampling) -> Estimate:
    """By how much BLEU changes; each draw has the same sentences before and after (Koehn 2004)."""
    draws = [
        bleu(drawn_after) - bleu(drawn_before)
        for drawn_before, drawn_after in zip(resampling.counts @ before, resampling.counts @ after, strict=True)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(bleu(after.sum(axis=0)) - bleu(before.sum(axis=0)), float(low), float(high))
