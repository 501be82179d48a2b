"""The quality of translations: BLEU, chrF, exact matches, the alignment error rate of attention, and speed."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.corpus.word_counts import SeenWords
from transformer_mt.errors import InputError, checked
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.normalize import normalize
from transformer_mt.text.scripts import bleu_tokenizer
from transformer_mt.text.words import words
from transformer_mt.translation.translator import Translator

# Lengths, in words and punctuation marks, that are scored together: 1 to 5, 6 to 10, …
BAND = 5
# How often at least training showed the rarest word of the sentences that are scored together.
RARITIES = (0, 1, 10, 100)


@dataclass(frozen=True, kw_only=True)
class _BandScores:
    sentences: int
    bleu: float
    chrf: float
    exact: float


@dataclass(frozen=True, kw_only=True)
class LengthScores(_BandScores):
    """The scores of the sentences whose source has `shortest` to `longest` words and punctuation marks."""

    shortest: int
    longest: int


@dataclass(frozen=True, kw_only=True)
class RarityScores(_BandScores):
    """The scores of the sentences whose rarest source word stands `fewest` to `most` times in training; None: any."""

    fewest: int
    most: int | None


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A score's 95 % interval over resampled test sets, `mean` ± `half_width`.

    `p_value` says how probable so large a difference from the first system is by chance; None for that system.
    """

    mean: float
    half_width: float
    p_value: float | None


@dataclass(frozen=True, kw_only=True)
class Poor:
    """A translation far from its reference: its place in the set, from 1, and its chrF, 0 to 100."""

    number: int
    chrf: float
    source: str
    translation: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of a system on a set of sentence pairs; None where nothing was measured.

    BLEU (Papineni et al. 2002, tokenized for the target language) and chrF (Popović 2015, chrF2) are sacrebleu's and
    range from 0 to 100; `exact` is the share of translations equal to a reference, from 0 to 1. All compare normalised
    texts. `references` counts those of all sentences together; `signature` holds sacrebleu's signature of each of its
    scores, and `notes` says what to know before reading them.

    `aer`, `aer_precision` and `aer_recall` compare attention with the known links of words, from 0 to 1; `aer_heads`
    were averaged and `aer_chosen_by` is that of `AlignmentHeads`. `seconds` is the time for translating, without
    scoring. `by_length` has the shortest sources first, `by_rarity` those with words that training never showed.
    """

    sentences: int
    references: int
    bleu: float
    bleu_lowercase: float
    chrf: float
    exact: float
    signature: Mapping[str, str]
    notes: tuple[str, ...] = ()
    aer: float | None = None
    aer_precision: float | None = None
    aer_recall: float | None = None
    aer_heads: tuple[str, ...] | None = None
    aer_chosen_by: str | None = None
    seconds: float | None = None
    sentences_per_second: float | None = None
    by_length: tuple[LengthScores, ...] | None = None
    by_rarity: tuple[RarityScores, ...] | None = None


@checked
def evaluate(
    translator: Translator,
    pairs: Pairs,
    search: SearchConfig | None = None,
    *,
    alignment: AlignmentHeads | None = None,
    by_length: bool = False,
    split: bool = True,
) -> Scores:
    """Translate the sources of `pairs`, by default as the translator's run is configured, and compare.

    A line of several sentences is translated as `Translator.translate` does, with `split` sentence by sentence. Every
    translation that its pair has counts. BLEU is tokenized for the run's target language. The known links of
    words are compared with those of the heads of `alignment`, by default all, unless the engine shows none. Raises
    `InputError` when there are no pairs.
    """
    return measure(translator, pairs, search, alignment=alignment, by_length=by_length, split=split)[0]


def measure(
    translator: Translator,
    pairs: Pairs,
    search: SearchConfig | None = None,
    *,
    alignment: AlignmentHeads | None = None,
    by_length: bool = False,
    known: SeenWords | None = None,
    split: bool = True,
) -> tuple[Scores, list[str]]:
    """The scores as of `evaluate`, and the translations; with the words that training knows, scores by rarity too."""
    if not pairs:
        raise InputError("evaluation", "there are no sentence pairs", "give at least one")
    language = translator.model.config.data.target_language
    start = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], search, split=split)
    seconds = max(time.perf_counter() - start, 1e-9)  # some clocks stand still for a while
    texts = [best.text for best, *_ in translations]
    scores = replace(
        score_texts(texts, [pair.translations for pair in pairs], language=language),
        seconds=seconds,
        sentences_per_second=len(pairs) / seconds,
        by_length=tuple(score_lengths(texts, pairs, language=language)) if by_length else None,
        by_rarity=tuple(score_rarities(texts, pairs, known, language=language)) if known else None,
    )
    if translator.model.engine.network is None:  # without attention to link words by
        return scores, texts
    from transformer_mt.links.choose_heads import guess_heads  # which import torch
    from transformer_mt.links.counts import link_counts

    if alignment := alignment or guess_heads(translator.model.network):
        counts = link_counts(translator.model.network, translator.model.tokenizer, pairs, alignment)
        if counts.gold:
            scores = replace(
                scores,
                aer=counts.error_rate,
                aer_precision=counts.precision,
                aer_recall=counts.recall,
                aer_heads=tuple(map(str, alignment.heads)),
                aer_chosen_by=alignment.chosen_by,
            )
    return scores, texts


def score_texts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    language: str = "",
    tokenizer: str = "",
) -> Scores:
    """Compare each hypothesis with all its known right translations, of which there must be at least one.

    Without a tokenizer for BLEU, the language and the script of the references decide which.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF

    assert len(hypotheses) == len(references) > 0
    assert all(references)
    ours, theirs = _normalized(hypotheses), [*map(_normalized, references)]
    exact = sum(one in several for one, several in zip(ours, theirs, strict=True))
    tokenizer, notes = (tokenizer, ()) if tokenizer else bleu_tokenizer(language, theirs)
    cased, lowercase = (BLEU(tokenize=tokenizer, lowercase=either) for either in (False, True))
    metrics = {"bleu": cased, "bleu_lowercase": lowercase, "chrf": CHRF()}
    scores = {name: metric.corpus_score(ours, _streams(theirs)).score for name, metric in metrics.items()}
    return Scores(
        sentences=len(hypotheses),
        references=sum(map(len, references)),
        **scores,
        exact=exact / len(references),
        signature={name: str(metric.get_signature()) for name, metric in metrics.items()},
        notes=notes,
    )


def _normalized(texts: Iterable[str]) -> list[str]:
    return [*map(normalize, texts)]


def _streams(references: Sequence[Sequence[str]]) -> list[Sequence[Any]]:
    """The first of all, the second of all, …; sacrebleu passes over None, and its signature says that numbers vary."""
    return list(zip_longest(*references))


def compare_texts(
    systems: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, language: str = ""
) -> list[dict[str, Interval]]:
    """For each system the intervals of BLEU and chrF, and whether it differs from the first.

    Paired bootstrap resampling (Koehn 2004), that of sacrebleu's `--paired-bs`: 1,000 draws, seed 12345.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    named: list[tuple[str, Sequence[str]]] = [(str(number), _normalized(texts)) for number, texts in enumerate(systems)]
    theirs = [*map(_normalized, references)]
    metrics = {"bleu": BLEU(tokenize=bleu_tokenizer(language, theirs)[0]), "chrf": CHRF()}
    _, found = PairedTest(named, metrics, _streams(theirs), test_type="bs")()
    results = {"bleu": found["BLEU"], "chrf": found["chrF2"]}
    return [{name: _interval(of[number]) for name, of in results.items()} for number in range(len(systems))]


def _interval(found: Any) -> Interval:
    return Interval(mean=float(found.mean), half_width=float(found.ci), p_value=found.p_value)


def find_poorest(hypotheses: Sequence[str], pairs: Pairs, *, count: int) -> list[Poor]:
    """The `count` translations with the lowest chrF beside all that is known to be right, the worst first."""
    from sacrebleu.metrics.chrf import CHRF  # slow to import

    metric = CHRF()
    scores = [
        (metric.sentence_score(normalize(text), _normalized(pair.translations)).score, number)
        for number, (text, pair) in enumerate(zip(hypotheses, pairs, strict=True))
    ]
    return [
        Poor(number=n + 1, chrf=chrf, source=pairs[n].source, translation=hypotheses[n], reference=pairs[n].target)
        for chrf, n in sorted(scores)[:count]
    ]


def score_lengths(hypotheses: Sequence[str], pairs: Pairs, *, language: str = "") -> Iterator[LengthScores]:
    """The scores of the hypotheses by the length of their source, in bands of `BAND`, the shortest first."""
    lengths = [(len(words(normalize(pair.source))) - 1) // BAND for pair in pairs]
    for band, same in _banded(hypotheses, pairs, lengths, language):
        yield LengthScores(shortest=band * BAND + 1, longest=(band + 1) * BAND, **same)


def score_rarities(
    hypotheses: Sequence[str], pairs: Pairs, known: SeenWords, *, language: str = ""
) -> Iterator[RarityScores]:
    """The scores of the hypotheses by how often training showed the rarest word of their source, the rarest first.

    Sentences without a word that is counted, as of numbers alone, are in no band.
    """
    rarest = [min(known.counts(words(normalize(pair.source))).values(), default=-1) for pair in pairs]
    for band, same in _banded(hypotheses, pairs, [bisect_right(RARITIES, count) - 1 for count in rarest], language):
        most = RARITIES[band + 1] - 1 if band + 1 < len(RARITIES) else None
        yield RarityScores(fewest=RARITIES[band], most=most, **same)


def _banded(
    hypotheses: Sequence[str], pairs: Pairs, bands: Sequence[int], language: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The scores of the sentences of each band, the lowest first; -1 is none. The tokenizer is that of all of them."""
    references = [pair.translations for pair in pairs]
    tokenizer, _ = bleu_tokenizer(language, references)
    for band in sorted(set(bands) - {-1}):
        rows = [row for row, own in enumerate(bands) if own == band]
        scores = score_texts([hypotheses[row] for row in rows], [references[row] for row in rows], tokenizer=tokenizer)
        yield band, {name: getattr(scores, name) for name in ("sentences", "bleu", "chrf", "exact")}
