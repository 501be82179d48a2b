"""How good translations are: BLEU, chrF, exact matches, the alignment error rate of attention, and speed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.inspection.alignment import head_error_rates
from transformer_mt.translation.translator import Translator


@dataclass(frozen=True, kw_only=True)
class TextScores:
    """What can be told from the texts alone.

    BLEU (Papineni et al. 2002, tokenizer 13a) and chrF (Popović 2015, chrF2) are sacrebleu's and range from 0 to 100;
    `exact` is the share of translations equal to their reference but for white space around them, from 0 to 1.
    `signature` holds sacrebleu's signature of each of its scores.
    """

    bleu: float
    bleu_lowercase: float
    chrf: float
    exact: float
    signature: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class AttentionScores:
    """The alignment error rate of the best head of the cross-attention.

    `aer` goes from 0, the best, to 1; `aer_layer` and `aer_head` count from 1. The head is the best one on the pairs
    that `aer_chosen_on` names: `validation`, or `evaluated` when it was chosen on the very pairs it is reported for,
    which flatters it. All are None where no links are known or the model has no cross-attention.
    """

    aer: float | None = None
    aer_layer: int | None = None
    aer_head: int | None = None
    aer_chosen_on: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scores(TextScores, AttentionScores):
    """The scores of a system on a set of sentence pairs.

    `seconds` is the time that translating took, without scoring; `sentences_per_second` follows from it.
    """

    sentences: int
    seconds: float
    sentences_per_second: float


def evaluate(
    translator: Translator, pairs: Pairs, search: SearchConfig | None = None, *, validation: Pairs = ()
) -> Scores:
    """Translate the sources of `pairs`, as the translator's run is configured if not as `search` says, and compare.

    The head for the alignment error rate is chosen on `validation` when that has links, else on `pairs`. Raises
    `InputError` when there are no pairs.
    """
    if not pairs:
        raise InputError("evaluation: there are no sentence pairs; give at least one")
    start = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], search)
    seconds = time.perf_counter() - start
    texts = score_texts([best.text for best, *_ in translations], [pair.target for pair in pairs])
    attention = score_attention(translator, pairs, validation=validation)
    speed = len(pairs) / seconds
    return Scores(
        **asdict(texts), **asdict(attention), sentences=len(pairs), seconds=seconds, sentences_per_second=speed
    )


def score_texts(hypotheses: Sequence[str], references: Sequence[str]) -> TextScores:
    """Compare each hypothesis with its one reference; there must be as many of both, and at least one."""
    from sacrebleu.metrics.bleu import BLEU  # slow to import
    from sacrebleu.metrics.chrf import CHRF

    assert len(hypotheses) == len(references) > 0
    metrics = {"bleu": BLEU(), "bleu_lowercase": BLEU(lowercase=True), "chrf": CHRF()}
    scores = {name: metric.corpus_score(hypotheses, [references]).score for name, metric in metrics.items()}
    return TextScores(
        bleu=scores["bleu"],
        bleu_lowercase=scores["bleu_lowercase"],
        chrf=scores["chrf"],
        exact=exact_matches(hypotheses, references) / len(references),
        signature={name: str(metric.get_signature()) for name, metric in metrics.items()},
    )


def exact_matches(hypotheses: Sequence[str], references: Sequence[str]) -> int:
    """How many hypotheses equal their reference; white space at both ends does not count."""
    return sum(ours.strip() == theirs.strip() for ours, theirs in zip(hypotheses, references, strict=True))


def score_attention(translator: Translator, pairs: Pairs, *, validation: Pairs = ()) -> AttentionScores:
    """The alignment error rate over `pairs` of the head that is best on `validation`, or on `pairs` without its links.

    How it is measured stands at `inspection.alignment.head_error_rates`. Of equally good heads the first is chosen.
    """
    rates = head_error_rates(translator.model, translator.tokenizer, pairs)
    if not rates:
        return AttentionScores()
    chosen = head_error_rates(translator.model, translator.tokenizer, validation)
    _, layer, head = min((rate, i, j) for i, row in enumerate(chosen or rates) for j, rate in enumerate(row))
    return AttentionScores(
        aer=rates[layer][head],
        aer_layer=layer + 1,
        aer_head=head + 1,
        aer_chosen_on="validation" if chosen else "evaluated",
    )
