"""The quality of translations: BLEU, chrF, exact matches, the alignment error rate of attention, and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import Pairs, words
from transformer_mt.errors import InputError, checked
from transformer_mt.runs.data import AlignmentHeads
from transformer_mt.translation.translator import Translator
from transformer_mt.views.align import guess_heads, link_counts

# Lengths, in words and punctuation marks, that are scored together: 1 to 5, 6 to 10, …
BAND = 5


@dataclass(frozen=True, kw_only=True)
class LengthScores:
    """The scores of the sentences whose source has `shortest` to `longest` words and punctuation marks."""

    shortest: int
    longest: int
    sentences: int
    bleu: float
    chrf: float
    exact: float


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of a system on a set of sentence pairs; None where nothing was measured.

    BLEU (Papineni et al. 2002, tokenizer 13a) and chrF (Popović 2015, chrF2) are sacrebleu's and range from 0 to 100;
    `exact` is the share of translations equal to a reference but for white space around them, from 0 to 1.
    `references` counts those of all sentences together; `signature` holds sacrebleu's signature of each of its scores.

    `aer`, `aer_precision` and `aer_recall` compare attention with the known links of words, from 0 to 1; `aer_heads`
    were averaged and `aer_chosen_by` is that of `AlignmentHeads`. `seconds` is the time for translating, without
    scoring. `by_length` has the shortest sources first.
    """

    sentences: int
    references: int
    bleu: float
    bleu_lowercase: float
    chrf: float
    exact: float
    signature: Mapping[str, str]
    aer: float | None = None
    aer_precision: float | None = None
    aer_recall: float | None = None
    aer_heads: tuple[str, ...] | None = None
    aer_chosen_by: str | None = None
    seconds: float | None = None
    sentences_per_second: float | None = None
    by_length: tuple[LengthScores, ...] | None = None


@checked
def evaluate(
    translator: Translator,
    pairs: Pairs,
    search: SearchConfig | None = None,
    *,
    alignment: AlignmentHeads | None = None,
    by_length: bool = False,
) -> Scores:
    """Translate the sources of `pairs`, by default as the translator's run is configured, and compare.

    A translation is compared with every translation that its pair has. The known links of words are compared with those
    of the heads of `alignment`, by default all. Raises `InputError` when there are no pairs.
    """
    if not pairs:
        raise InputError("evaluation: there are no sentence pairs; give at least one")
    start = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], search)
    seconds = max(time.perf_counter() - start, 1e-9)  # some clocks stand still for a while
    texts = [best.text for best, *_ in translations]
    scores = replace(
        score_texts(texts, [pair.translations for pair in pairs]),
        seconds=seconds,
        sentences_per_second=len(pairs) / seconds,
        by_length=tuple(score_lengths(texts, pairs)) if by_length else None,
    )
    if alignment := alignment or guess_heads(translator.model):
        counts = link_counts(translator.model, translator.tokenizer, pairs, alignment)
        if counts.gold:
            scores = replace(
                scores,
                aer=counts.error_rate,
                aer_precision=counts.precision,
                aer_recall=counts.recall,
                aer_heads=tuple(map(str, alignment.heads)),
                aer_chosen_by=alignment.chosen_by,
            )
    return scores


def score_texts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    """Compare each hypothesis with all its known right translations, of which there must be at least one."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF

    assert len(hypotheses) == len(references) > 0
    assert all(references)
    exact = sum(ours.strip() in map(str.strip, theirs) for ours, theirs in zip(hypotheses, references, strict=True))
    # The first of all, the second of all, …; sacrebleu passes over None, and its signature says that numbers vary.
    streams: list[Sequence[str]] = list(zip_longest(*references))
    metrics = {"bleu": BLEU(), "bleu_lowercase": BLEU(lowercase=True), "chrf": CHRF()}
    scores = {name: metric.corpus_score(hypotheses, streams).score for name, metric in metrics.items()}
    return Scores(
        sentences=len(hypotheses),
        references=sum(map(len, references)),
        **scores,
        exact=exact / len(references),
        signature={name: str(metric.get_signature()) for name, metric in metrics.items()},
    )


def score_lengths(hypotheses: Sequence[str], pairs: Pairs) -> Iterator[LengthScores]:
    """The scores of the hypotheses by the length of their source, in bands of `BAND`, the shortest first."""
    bands: dict[int, list[int]] = {}
    for row, pair in enumerate(pairs):
        bands.setdefault((len(words(pair.source)) - 1) // BAND, []).append(row)
    for band, rows in sorted(bands.items()):
        scores = score_texts([hypotheses[row] for row in rows], [pairs[row].translations for row in rows])
        same = {name: getattr(scores, name) for name in ("sentences", "bleu", "chrf", "exact")}
        yield LengthScores(shortest=band * BAND + 1, longest=(band + 1) * BAND, **same)
