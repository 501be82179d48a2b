"""Translation quality: BLEU, chrF, exact match, alignment error rate of attention, and speed."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import AnyPair, Pairs, as_pairs
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.text.normalize import normalize
from transformer_mt.text.scripts import bleu_tokenizer
from transformer_mt.text.words import words
from transformer_mt.translation.translator import Translator, splits

Texts = Sequence[str]
# Width of a length band, in words and punctuation marks: 1 to 5, 6 to 10, …
BAND = 5


@dataclass(frozen=True)
class Interval:
    """A score and its 95 % interval over resampled test sets, `mean` ± `half_width`.

    `p_value` is the probability of so large a difference from the first system by chance; None for the first system.
    """

    score: float
    mean: float
    half_width: float
    p_value: float | None

    def text(self) -> str:
        """Format the score and its margin: `30.41 ±1.20`."""
        return f"{self.score:.2f} ±{self.half_width:.2f}"

    def change(self, first: float) -> str:
        """Format the difference from the first system's score and its p value."""
        return f"{self.score - first:+.2f}, p = {self.p_value:.3f}"


@dataclass(frozen=True, kw_only=True)
class BandScores:
    """The scores of the sources of `fewest` to `most` words and punctuation marks; an empty source counts as one.

    `most` is None without an upper bound. `intervals` are of BLEU and chrF; None for a single sentence, which says
    nothing about others.
    """

    fewest: int
    most: int | None
    sentences: int
    bleu: float
    chrf: float
    exact: float
    intervals: Mapping[str, Interval] | None


@dataclass(frozen=True)
class Poor:
    """A poor translation: its position in the set, from 1, and its chrF, 0 to 100."""

    number: int
    chrf: float
    source: str
    translation: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of a system on a set of sentence pairs. A field is None if it was not measured.

    BLEU (Papineni et al. 2002, tokenized for the target language) and chrF (Popović 2015, chrF2) come from sacrebleu
    and range from 0 to 100. `exact` is the share of translations that equal a reference, 0 to 1. All compare normalised
    texts. `references` counts the references of all sentences, `translations` are the texts compared, `signature` maps
    each sacrebleu score to its signature, and `notes` are caveats for the reader.

    `aer`, `aer_precision` and `aer_recall`, 0 to 1, compare attention with the known word links; `aer_heads` were
    averaged and `aer_chosen_by` is `AlignmentHeads.chosen_by`. `seconds` is the time for translating, without scoring.
    `by_length` starts with the shortest sources. `untranslated` are the numbers, from 1, of the sources that are too
    long for the model; their translations are empty.
    """

    translations: tuple[str, ...] = field(repr=False, compare=False, metadata={"hidden": True})
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
    by_length: tuple[BandScores, ...] | None = None
    untranslated: tuple[int, ...] = ()


def evaluate(
    translator: Translator,
    pairs: Sequence[AnyPair],
    search: SearchConfig | None = None,
    *,
    alignment: AlignmentHeads | None = None,
    by_length: bool = False,
    split: bool = True,
) -> Scores:
    """Translate the sources of `pairs`, each a `SentencePair` or (source, target), and score the result.

    `search` defaults to the configuration of the run. A line of several sentences is translated sentence by sentence,
    or as a whole without `split`. Every pair counts, with all its references; the translation of a source that is too
    long for the model is empty. BLEU is tokenized for the run's target language. The known word links are compared with
    the heads of `alignment`, by default all heads, if the engine exposes attention. Raises `InputError` without pairs.
    """
    pairs = as_pairs(pairs)
    if not pairs:
        raise InputError("evaluation", "there are no sentence pairs", "give at least one")
    model = translator.model
    search = search or translator.search
    start = time.perf_counter()
    lines = model.prepare.lines([pair.source for pair in pairs], split=split and splits(search, ""))
    untranslated = []
    for row, line in enumerate(lines):
        try:
            translator.require_fitting(line.sentences, "")
        except InputError:
            (lines[row],) = model.prepare.lines([""], split=False)
            untranslated.append(row + 1)
    translations = translator.translate_prepared(list(enumerate(lines)), search)
    seconds = max(time.perf_counter() - start, 1e-9)  # some clocks are coarse
    texts = [best.text for best, *_ in translations]
    references = [pair.translations for pair in pairs]
    language = model.config.data.target_language
    more: dict[str, Any] = {"seconds": seconds, "sentences_per_second": len(pairs) / seconds}
    if by_length:
        lengths = [max(len(words(normalize(pair.source))), 1) for pair in pairs]
        starts = range(1, max(lengths) + BAND + 1, BAND)
        more["by_length"] = score_bands(texts, references, lengths, starts, language=language)
    if model.engine.network:  # only torch exposes attention
        from transformer_mt.links.choose_heads import guess_heads  # imports torch
        from transformer_mt.links.counts import link_counts

        if alignment := alignment or guess_heads(model.network):
            counts = link_counts(model.network, model.tokenizer, pairs, alignment)
            if counts.gold:
                more |= {"aer": counts.error_rate, "aer_precision": counts.precision, "aer_recall": counts.recall}
                more |= {"aer_heads": tuple(map(str, alignment.heads)), "aer_chosen_by": alignment.chosen_by}
    found = score_texts(texts, references, language=language)
    return replace(found, untranslated=tuple(untranslated), **more)


def score_texts(
    hypotheses: Texts,
    references: Sequence[Texts],
    *,
    language: str = "",
    tokenizer: str = "",
) -> Scores:
    """Score each hypothesis against all its references, at least one each.

    Without `tokenizer`, the language and the script of the references decide how BLEU tokenizes.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF

    assert len(hypotheses) == len(references) > 0
    assert all(references)
    ours = _normalized(hypotheses)
    theirs = list(map(_normalized, references))
    exact = sum(one in several for one, several in zip(ours, theirs, strict=True))
    tokenizer, notes = (tokenizer, ()) if tokenizer else bleu_tokenizer(language, theirs)
    cased, lowercase = (BLEU(tokenize=tokenizer, lowercase=either) for either in (False, True))
    metrics = {"bleu": cased, "bleu_lowercase": lowercase, "chrf": CHRF()}
    # All first references, all second ones, …; sacrebleu skips None and notes the varying number.
    streams = list(zip_longest(*theirs))
    scores: dict[str, Any] = {
        name: _at_most_100(metric.corpus_score(ours, streams).score) for name, metric in metrics.items()
    }
    return Scores(
        translations=tuple(hypotheses),
        sentences=len(hypotheses),
        references=sum(map(len, references)),
        **scores,
        exact=exact / len(references),
        signature={name: str(metric.get_signature()) for name, metric in metrics.items()},
        notes=notes,
    )


def _at_most_100(score: float) -> float:
    """Without the rounding error of sacrebleu's logarithms, which give 100.00000000000004 for equal texts."""
    return min(score, 100.0)


def _normalized(texts: Iterable[str]) -> list[str]:
    return list(map(normalize, texts))


def compare_texts(
    systems: Sequence[Texts], references: Sequence[Texts], *, language: str = "", tokenizer: str = ""
) -> list[dict[str, Interval]]:
    """Return the intervals of each system's `bleu` and `chrf`, and whether it differs from the first.

    Paired bootstrap resampling (Koehn 2004), sacrebleu's `--paired-bs`: 1,000 draws, seed 12345. Equal scores have
    p = 1, where sacrebleu has 1/1001.
    """
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    named: list[tuple[str, Texts]] = [(str(number), _normalized(texts)) for number, texts in enumerate(systems)]
    theirs = list(map(_normalized, references))
    metrics = {"bleu": BLEU(tokenize=tokenizer or bleu_tokenizer(language, theirs)[0]), "chrf": CHRF()}
    _, found = PairedTest(named, metrics, list(zip_longest(*theirs)), test_type="bs")()
    both = zip(_intervals(found["BLEU"]), _intervals(found["chrF2"]), strict=True)
    return [{"bleu": bleu, "chrf": chrf} for bleu, chrf in both]


def _intervals(results: list[Any]) -> Iterator[Interval]:
    for one in results:
        p = 1.0 if one.p_value is not None and one.score == results[0].score else one.p_value
        yield Interval(_at_most_100(one.score), _at_most_100(float(one.mean)), float(one.ci), p)


def find_poorest(hypotheses: Texts, pairs: Pairs, *, count: int) -> list[Poor]:
    """Return the `count` translations with the lowest chrF against all their references, worst first."""
    from sacrebleu.metrics.chrf import CHRF  # slow to import

    metric = CHRF()
    found = []
    for number, (text, pair) in enumerate(zip(hypotheses, pairs, strict=True), start=1):
        # sacrebleu scores an empty text as 0 against an empty reference.
        good = normalize(text) in (references := _normalized(pair.translations))
        chrf = 100.0 if good else metric.sentence_score(normalize(text), references).score
        found.append(Poor(number, chrf, pair.source, text, pair.target))
    return sorted(found, key=lambda poor: poor.chrf)[:count]


def score_bands(
    hypotheses: Texts,
    references: Sequence[Texts],
    numbers: Sequence[int],
    starts: Sequence[int],
    *,
    language: str = "",
) -> tuple[BandScores, ...]:
    """Score the hypotheses of each band, skipping empty bands. A band ends where the next one starts.

    BLEU's tokenizer is chosen once from all sentences. Sentences below the first band are left out.
    """
    tokenizer, _ = bleu_tokenizer(language, references)
    bands = []
    for fewest, end in zip_longest(starts, starts[1:]):
        rows = [row for row, number in enumerate(numbers) if number >= fewest and (end is None or number < end)]
        if rows:
            texts = [hypotheses[row] for row in rows]
            theirs = [references[row] for row in rows]
            own = score_texts(texts, theirs, tokenizer=tokenizer)
            intervals = None
            if len(rows) > 1:
                (intervals,) = compare_texts([texts], theirs, tokenizer=tokenizer)
            bands.append(
                BandScores(
                    fewest=fewest,
                    most=end and end - 1,
                    sentences=len(rows),
                    bleu=own.bleu,
                    chrf=own.chrf,
                    exact=own.exact,
                    intervals=intervals,
                )
            )
    return tuple(bands)
