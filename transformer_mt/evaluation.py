"""How good translations are: BLEU, chrF, exact matches, the alignment error rate of attention, and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import Pairs, words
from transformer_mt.errors import InputError
from transformer_mt.inspection.alignment.aligners import AligningModel, link_counts
from transformer_mt.inspection.alignment.choice import guessed
from transformer_mt.translation.translator import Translator

# Every right translation of a sentence that is known.
References = tuple[str, ...]
# Lengths, in words and punctuation marks, that are scored together: 1 to 5, 6 to 10, …
BAND = 5


@dataclass(frozen=True, kw_only=True)
class TextScores:
    """What can be told from the texts alone.

    BLEU (Papineni et al. 2002, tokenizer 13a) and chrF (Popović 2015, chrF2) are sacrebleu's and range from 0 to 100;
    `exact` is the share of translations equal to a reference but for white space around them, from 0 to 1.
    `references` counts those of all sentences together; `signature` holds sacrebleu's signature of each of its scores.
    """

    bleu: float
    bleu_lowercase: float
    chrf: float
    exact: float
    references: int
    signature: Mapping[str, str]


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
class AttentionScores:
    """How well attention finds the known links of words: error rate, precision and recall, from 0 to 1.

    `aer_heads` are the heads that were averaged and `aer_chosen_by` says how they were chosen, as at
    `runs.alignment.Aligner`; `aer_reverse` says whether a model of the other direction helped. All are None where no
    links are known or the model has no cross-attention.
    """

    aer: float | None = None
    aer_precision: float | None = None
    aer_recall: float | None = None
    aer_heads: tuple[str, ...] | None = None
    aer_chosen_by: str | None = None
    aer_reverse: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Scores(TextScores, AttentionScores):
    """The scores of a system on a set of sentence pairs.

    `seconds` is the time that translating took, without scoring; `sentences_per_second` follows from it. `by_length`
    has the scores of the shortest sources first; it is None where they were not asked for.
    """

    sentences: int
    seconds: float
    sentences_per_second: float
    by_length: tuple[LengthScores, ...] | None


def evaluate(
    translator: Translator,
    pairs: Pairs,
    search: SearchConfig | None = None,
    *,
    aligning: AligningModel | None = None,
    reverse: AligningModel | None = None,
    by_length: bool = False,
) -> Scores:
    """Translate the sources of `pairs`, as the translator's run is configured if not as `search` says, and compare.

    A translation is compared with all that the pair knows to be right. `aligning`, by default the translator's model
    with all its heads, and of the other direction `reverse` find the links that are compared with known ones. Raises
    `InputError` when there are no pairs.
    """
    if not pairs:
        raise InputError("evaluation: there are no sentence pairs; give at least one")
    start = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], search)
    seconds = time.perf_counter() - start
    texts = [best.text for best, *_ in translations]
    scores = score_texts(texts, [pair.translations for pair in pairs])
    aligning = aligning or guessed(translator.model, translator.tokenizer)
    attention = score_attention(aligning, pairs, reverse=reverse) if aligning else AttentionScores()
    return Scores(
        **asdict(scores),
        **asdict(attention),
        sentences=len(pairs),
        seconds=seconds,
        sentences_per_second=len(pairs) / seconds,
        by_length=tuple(score_lengths(texts, pairs)) if by_length else None,
    )


def score_texts(hypotheses: Sequence[str], references: Sequence[References]) -> TextScores:
    """Compare each hypothesis with its references; there must be as many of both, and at least one of each."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF

    assert len(hypotheses) == len(references) > 0
    assert all(references)
    # The first of all, the second of all, …; sacrebleu passes over None, and its signature says that numbers vary.
    streams: list[Sequence[str]] = list(zip_longest(*references))
    metrics = {"bleu": BLEU(), "bleu_lowercase": BLEU(lowercase=True), "chrf": CHRF()}
    scores = {name: metric.corpus_score(hypotheses, streams).score for name, metric in metrics.items()}
    return TextScores(
        bleu=scores["bleu"],
        bleu_lowercase=scores["bleu_lowercase"],
        chrf=scores["chrf"],
        exact=exact_matches(hypotheses, references) / len(references),
        references=sum(map(len, references)),
        signature={name: str(metric.get_signature()) for name, metric in metrics.items()},
    )


def score_lengths(hypotheses: Sequence[str], pairs: Pairs) -> Iterator[LengthScores]:
    """The scores of the hypotheses by the length of their source, in bands of `BAND`, the shortest first."""
    bands: dict[int, list[int]] = {}
    for row, pair in enumerate(pairs):
        bands.setdefault((len(words(pair.source)) - 1) // BAND, []).append(row)
    for band, rows in sorted(bands.items()):
        scores = score_texts([hypotheses[row] for row in rows], [pairs[row].translations for row in rows])
        yield LengthScores(
            shortest=band * BAND + 1,
            longest=(band + 1) * BAND,
            sentences=len(rows),
            bleu=scores.bleu,
            chrf=scores.chrf,
            exact=scores.exact,
        )


def exact_matches(hypotheses: Sequence[str], references: Sequence[References]) -> int:
    """How many hypotheses equal one of their references; white space at both ends does not count."""
    return sum(ours.strip() in map(str.strip, theirs) for ours, theirs in zip(hypotheses, references, strict=True))


def score_attention(aligning: AligningModel, pairs: Pairs, *, reverse: AligningModel | None = None) -> AttentionScores:
    """How well the links of those pairs that have some are found; see `inspection.alignment.aligners.link_counts`."""
    counts = link_counts(aligning, pairs, reverse=reverse)
    if not counts.gold:
        return AttentionScores()
    return AttentionScores(
        aer=counts.error_rate,
        aer_precision=counts.precision,
        aer_recall=counts.recall,
        aer_heads=tuple(map(str, aligning.aligner.heads)),
        aer_chosen_by=aligning.aligner.chosen_by,
        aer_reverse=reverse is not None,
    )
