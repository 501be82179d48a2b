"""`tmt evaluate`: score a model on test sets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from transformer_mt.cli.app import DATA
from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    DEFAULT_ENGINE,
    IF_USED,
    SOURCES,
    BeamOptions,
    Device,
    EngineOption,
    Json,
    ModelOption,
    NoSplit,
    Quantization,
    To,
    in_output,
    with_options,
)
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.progress import working
from transformer_mt.text.terminal import JsonObject, escaped_json
from transformer_mt.views.rendering import table_lines

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.evaluation.evaluate import BandScores, Interval, Poor, Scores
    from transformer_mt.runs.alignment import AlignmentHeads
    from transformer_mt.translation.model import Model as OpenedModel
    from transformer_mt.translation.translator import Translator

_METRICS = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lowercase", "chrf": "chrF"}


@dataclass(frozen=True)
class Tested:
    """A test set: its pairs, the place of each (`test.tsv:17`), and the number of rows without a reference."""

    corpus: str
    split: str
    places: Sequence[str]
    pairs: "Sequence[SentencePair]"
    left_out: int


@dataclass(frozen=True)
class Report:
    """The scores of one run on a test set, and its worst translations by their places."""

    run: str
    scores: "Scores"
    intervals: "Mapping[str, Interval]"
    worst: "Mapping[str, Poor]"

    def to_json(self) -> JsonObject:
        """The `--json` object of this run."""
        from transformer_mt.views.serialise import to_json

        found: JsonObject = {"run": self.run, **to_json(self.scores), "intervals": to_json(self.intervals)}
        worst = [to_json(poor) | {"place": place} for place, poor in self.worst.items()]
        return found | ({"worst": worst} if worst else {})


@with_options
def evaluate(
    model: ModelOption = None,
    data: Annotated[
        list[str] | None,
        Option(metavar="SOURCE", help=f"{SOURCES} Repeatable. {IF_USED}", rich_help_panel=DATA),
    ] = None,
    split: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Split to translate; repeatable. [test]", rich_help_panel=DATA),
    ] = None,
    *,
    search: BeamOptions,
    against: Annotated[list[Path] | None, Option(metavar="RUN", help="Compare with this run; repeatable.")] = None,
    by_length: Annotated[bool, in_output("--by-length", help="Also score by source length.")] = False,
    worst: Annotated[int, in_output(metavar="N", min=0, help="Also print the N worst translations by chrF.")] = 0,
    no_split: NoSplit = False,
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    engine: EngineOption = DEFAULT_ENGINE,
    quantization: Quantization = None,
    as_json: Json = False,
) -> None:
    """Translate test sets and score them: BLEU, chrF, exact matches, word links, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test --split test_composition
      tmt evaluate --split test_length --by-length --worst 5
      tmt evaluate --model runs/one --against runs/other
      tmt evaluate --model runs/one --against runs/one/checkpoints/step-400
      tmt evaluate --model runs/multi30k --data bentrevett/multi30k --json

    Every row with a reference counts, also empty and long ones; cleaning is for training data. All reference
    translations of a sentence count. A source that is too long for the model has an empty translation. Word links of
    the built-in corpus are compared with the links of tmt align.

    ± is half the 95 % interval over 1,000 resampled test sets; p is the probability of such a difference from the first
    run by chance. Both follow sacrebleu --paired-bs; equal runs have p = 1.
    """
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.corpus.source import BUILTIN

    # Only our own engine scores word links, which the built-in corpus has.
    pays = BUILTIN not in (data or (BUILTIN,))
    runs = [
        open_translator(path, search, device=device, engine=engine, quantization=quantization, to=to, pays=pays)
        for path in (model, *(against or ()))
    ]
    _require_one_direction(runs)
    # Read all sets before translating, to report a mistake in the last one at once.
    tests = [_read(runs[0], source, name) for source in data or (None,) for name in split or ("test",)]
    for number, test in enumerate(tests):
        reports = _reports(runs, test, by_length=by_length, worst=worst, sentences=not no_split)
        if as_json:
            first, *others = (report.to_json() for report in reports)
            about = {"corpus": test.corpus, "split": test.split, "left_out": test.left_out}
            result(escaped_json(about | first | ({"against": others} if others else {})))
        else:
            heading = [f"{test.corpus}, split {test.split}"] if len(tests) > 1 else []
            result(*([""] if number else []), *heading, *_lines(reports))


def _require_one_direction(runs: "Sequence[Translator]") -> None:
    first, *others = (run.model for run in runs)
    for other in others:
        if other.direction != first.direction:
            problem = f"translates {other.direction}, not {first.direction}"
            raise InputError(f"--against {other.name}", problem, "give another run")


def _read(run: "Translator", data: str | None, split: str) -> Tested:
    from transformer_mt.cli.open_model import pairs_to_measure, with_references

    corpus, rows = pairs_to_measure(run.model.config.data, data, split=split)
    with working(f"reading {corpus}"):
        rows = list(rows)
    places, pairs = zip(*with_references(rows, corpus=corpus), strict=True)
    return Tested(corpus, split, places, pairs, left_out=len(rows) - len(pairs))


def _reports(
    runs: "Sequence[Translator]", test: Tested, *, by_length: bool, worst: int, sentences: bool
) -> list[Report]:
    """Translate and score a test set with each run."""
    from transformer_mt.evaluation import evaluate as evaluation  # imports numpy

    scores = []
    for run in runs:
        of = f" by {run.model.name}" if len(runs) > 1 else ""
        beam = run.search.beam
        note(f"translating {len(test.pairs)} sentences of {test.corpus}, split {test.split}, beam {beam}{of}")
        seen = run.model.run.data().seen(test.pairs) if run.model.run and not run.model.run.pack else 0
        if seen > len(test.pairs) // 100:  # a few of a large corpus may agree by chance
            note(f"{seen} of these pairs are training data of {run.model.name}: its scores are too high")
        alignment = _alignment(run.model) if any(pair.links for pair in test.pairs) else None
        with working("", total=len(test.pairs)):
            one = evaluation.evaluate(run, test.pairs, alignment=alignment, by_length=by_length, split=sentences)
        if rows := one.untranslated:
            first = ", ".join(test.places[row - 1] for row in rows[:3])
            note(f"too long for the model, with an empty translation: {len(rows)} (first: {first})")
        scores.append(one)
    references = [pair.translations for pair in test.pairs]
    systems = [one.translations for one in scores]
    with working("resampling the test set"):
        intervals = evaluation.compare_texts(systems, references, language=runs[0].model.config.data.target_language)
    note(*scores[0].notes)
    reports = []
    for run, one, margins in zip(runs, scores, intervals, strict=True):
        poorest = evaluation.find_poorest(one.translations, test.pairs, count=worst) if worst else []
        places = {test.places[poor.number - 1]: poor for poor in poorest}
        reports.append(Report(run.model.name, one, margins, places))
    return reports


def _alignment(model: "OpenedModel") -> "AlignmentHeads | None":
    """The run's alignment heads; None without cross-attention, or (with a note) if the engine does not expose it."""
    if model.engine.network is None:
        note(f"not scoring word links: {model.engine.name} does not expose attention")
        return None
    from transformer_mt.cli.open_model import alignment_heads
    from transformer_mt.links.align import cross_heads

    return alignment_heads(model) if cross_heads(model.network) else None


def _lines(reports: Sequence[Report]) -> Iterator[str]:
    """Yield the scores of a test set, with further runs below the first, and the worst translations."""
    first, *others = reports
    yield from _metric_lines(first, first.scores.signature)
    yield from _about_lines(first.scores)
    yield from _band_lines(first.scores.by_length)
    for other in others:
        yield from ("", f"{other.run}, against {first.run}")
        changes = {name: one.change(first.intervals[name].score) for name, one in other.intervals.items()}
        yield from _metric_lines(other, changes)
        yield from _band_lines(other.scores.by_length)
    for report in reports:
        for place, poor in report.worst.items():
            yield from (
                "",
                f"{report.run}, {place}, chrF {poor.chrf:.2f}",
                f"  source      {poor.source}",
                f"  translation {poor.translation}",
                f"  reference   {poor.reference}",
            )


def _metric_lines(report: Report, remarks: "Mapping[str, str]") -> Iterator[str]:
    """Yield the scores that have a remark, and the exact matches."""
    for name, remark in remarks.items():
        margin = f"±{report.intervals[name].half_width:.2f}" if name in report.intervals else ""
        yield f"{_METRICS[name]:16} {getattr(report.scores, name):6.2f} {margin:5}   {remark}"
    yield f"exact            {100 * report.scores.exact:6.2f} %"


def _about_lines(scores: "Scores") -> Iterator[str]:
    """Yield the agreement with known word links, and the numbers of sentences and references."""
    if shares := [100 * one for one in (scores.aer, scores.aer_precision, scores.aer_recall) if one is not None]:
        aer, precision, recall = shares
        heads = f"heads by {scores.aer_chosen_by}"
        yield f"AER              {aer:6.2f} % precision {precision:.2f} %, recall {recall:.2f} %; {heads}"
    yield f"sentences        {scores.sentences:6d}   {scores.seconds:.1f} s, {scores.sentences_per_second:.1f} a second"
    if scores.references > scores.sentences:
        mean = scores.references / scores.sentences
        yield f"references       {scores.references:6d}   {mean:.1f} a sentence; each counts"


def _band_lines(bands: "Sequence[BandScores] | None") -> Iterator[str]:
    if not bands:
        return
    rows = [
        [
            f"{band.fewest}–{band.most}",
            str(band.sentences),
            f"{band.bleu:.2f}",
            f"{band.chrf:.2f}",
            f"{100 * band.exact:.2f} %",
        ]
        for band in bands
    ]
    headings = ("words of the source", "sentences", "BLEU", "chrF", "exact")
    yield from ("", *table_lines(rows, headings=headings, right=range(1, 5), width=literal_console().width))
