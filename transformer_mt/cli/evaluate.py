"""`tmt evaluate`: score a model on test sets."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from transformer_mt.cli.app import DATA, OUTPUT
from transformer_mt.cli.options import (
    AUTO,
    DEFAULT_DEVICE,
    DEFAULT_ENGINE,
    IF_USED,
    SOURCES,
    Device,
    EngineOption,
    Figure,
    Json,
    ModelOption,
    NoSplit,
    Quantization,
    SearchOptions,
    To,
    with_options,
)
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.config.changed_search import OF_DRAWS
from transformer_mt.errors import InputError
from transformer_mt.files import write_output
from transformer_mt.progress import working
from transformer_mt.text.terminal import JsonObject, escaped_json
from transformer_mt.translation.engine import OWN

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import Pairs
    from transformer_mt.runs.alignment import AlignmentHeads
    from transformer_mt.translation.model import Model as OpenedModel
    from transformer_mt.translation.translator import Translator


@with_options("search", SearchOptions, but=("sample", *OF_DRAWS, "n_best"))
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
    search: SearchOptions,
    against: Annotated[list[Path] | None, Option(metavar="RUN", help="Compare with this run; repeatable.")] = None,
    by_length: Annotated[
        bool, Option("--by-length", help="Also score by source length.", rich_help_panel=OUTPUT)
    ] = False,
    by_rarity: Annotated[
        bool, Option("--by-rarity", help="Also score by the rarest source word.", rich_help_panel=OUTPUT)
    ] = False,
    worst: Annotated[
        int, Option(metavar="N", min=0, help="Also print the N worst translations by chrF.", rich_help_panel=OUTPUT)
    ] = 0,
    no_split: NoSplit = False,
    links: Annotated[
        Path | None,
        Option(metavar="FILE", help="Word links of the split, in Pharaoh format.", rich_help_panel=DATA),
    ] = None,
    to: To = None,
    device: Device = DEFAULT_DEVICE,
    engine: EngineOption = DEFAULT_ENGINE,
    quantization: Quantization = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Translate test sets and score them: BLEU, chrF, exact matches, word links, speed.

    \b
    Examples:
      tmt evaluate
      tmt evaluate --split test --split test_composition
      tmt evaluate --split test_length --by-length --worst 5
      tmt evaluate --model runs/one --against runs/other
      tmt evaluate --against runs/other --by-length --figure length.pdf
      tmt evaluate --model runs/multi30k --data bentrevett/multi30k --json
      tmt evaluate --data test.de,test.en --links test.links

    All reference translations of a sentence count. Word links, from the corpus or from --links (lines such as 0-0 1-2),
    are compared with the links of tmt align.

    ± is half the 95 % interval over 1,000 resampled test sets; p is the probability of such a difference from the first
    run by chance. Both follow sacrebleu --paired-bs; equal runs have p = 1.

    --figure draws the scores of --by-length and --by-rarity, a line per run with its intervals. Each run counts the
    words of its own training.
    """
    from transformer_mt.cli.open_model import open_translator, pairs_to_measure
    from transformer_mt.corpus.source import BUILTIN
    from transformer_mt.corpus.text_files import with_links
    from transformer_mt.views.bands import bands_figure

    if links and engine not in (AUTO, OWN):
        raise InputError("--links", f"{engine} does not expose attention", "leave out --links or --engine")
    sets = [(source, name) for source in data or (None,) for name in split or ("test",)]
    if figure:
        _check_figure(figure, is_grouped=by_length or by_rarity, sets=len(sets))
    if links and len(sets) > 1:
        raise InputError("--links", "applies to one test set", "give --data and --split once")
    paths = (model, *(against or ()))
    # Only our own engine scores word links, which the built-in corpus has.
    pays = links is None and BUILTIN not in (data or (BUILTIN,))
    runs = [
        open_translator(path, search, device=device, engine=engine, quantization=quantization, to=to, pays=pays)
        for path in paths
    ]
    directions = [
        f"{data.source_language} → {data.target_language}" for data in (run.model.config.data for run in runs)
    ]
    for path, direction in zip(paths, directions, strict=True):
        if direction != directions[0]:
            raise InputError(f"--against {path}", f"translates {direction}, not {directions[0]}", "give another run")
    to_measure = []  # load all sets before translating, to report a mistake in the last one at once
    for source, name in sets:
        corpus_name, pairs = pairs_to_measure(runs[0].model.config.data, source, split=name)
        to_measure.append((corpus_name, name, with_links(pairs, links) if links else pairs))
    for number, (corpus_name, name, pairs) in enumerate(to_measure):
        found = _measured(
            runs,
            corpus_name,
            name,
            pairs,
            by_length=by_length,
            by_rarity=by_rarity,
            worst=worst,
            sentences=not no_split,
        )
        if figure:
            write_output(figure, bands_figure(found, path=figure))
        if as_json:
            result(escaped_json(found))
        else:
            result(*([""] if number else []), *_lines(found, with_name=len(sets) > 1))


def _check_figure(figure: Path, *, is_grouped: bool, sets: int) -> None:
    """Raise `InputError` for a figure without a known format, without groups to draw, or of several test sets."""
    from transformer_mt.views.plot import check_figure

    if not is_grouped:
        raise InputError("figure", "draws scores by length or rarity", "add --by-length or --by-rarity")
    if sets > 1:
        raise InputError("figure", "draws one test set", "give --data and --split once")
    check_figure(figure, npz=None)


def _measured(
    runs: "Sequence[Translator]",
    corpus: str,
    split: str,
    pairs: "Pairs",
    *,
    by_length: bool,
    by_rarity: bool,
    worst: int,
    sentences: bool,
) -> JsonObject:
    """The `--json` object of a test set: the first run's scores, and the other runs' under `against`."""
    from transformer_mt import evaluation
    from transformer_mt.views.serialise import to_json

    scores = []
    language = runs[0].model.config.data.target_language
    for run in runs:
        beam = run.search.beam
        of = f" by {run.model.path}" if len(runs) > 1 else ""
        note(f"translating {len(pairs)} sentences of {corpus}, split {split}, beam {beam}{of}")
        alignment = _alignment(run.model) if any(pair.links for pair in pairs) else None
        known = run.model.known if by_rarity else None
        if by_rarity and known is None:
            note(f"{run.model.path}: has no counts of its training words; not scoring by rarity")
        elif known and not known.complete:
            note(f"{run.model.path}: its word counts omit the rarest words; read never as rarely or never")
        with working("", total=len(pairs)):
            scores.append(
                evaluation.evaluate(run, pairs, alignment=alignment, by_length=by_length, known=known, split=sentences)
            )
    systems = [one.translations for one in scores]
    references = [pair.translations for pair in pairs]
    with working("resampling the test set"):
        intervals = evaluation.compare_texts(systems, references, language=language)
    note(*scores[0].notes)
    objects = []
    for run, own, bleu, chrf in zip(runs, map(dataclasses.asdict, scores), *intervals.values(), strict=True):
        texts = own.pop("translations")
        objects.append({"run": str(run.model.path)} | own | {"intervals": to_json({"bleu": bleu, "chrf": chrf})})
        if worst:
            objects[-1]["worst"] = to_json(evaluation.find_poorest(texts, pairs, count=worst))
    return {"corpus": corpus, "split": split} | objects[0] | ({"against": objects[1:]} if objects[1:] else {})


def _alignment(model: "OpenedModel") -> "AlignmentHeads | None":
    """The run's alignment heads; None without cross-attention, or (with a note) if the engine does not expose it."""
    if model.engine.network is None:
        note(f"not scoring word links: {model.engine.name} does not expose attention")
        return None
    from transformer_mt.cli.open_model import alignment_heads
    from transformer_mt.links.align import cross_heads

    return alignment_heads(model) if cross_heads(model.network) else None


_METRICS = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lowercase", "chrf": "chrF"}


def _lines(found: Mapping[str, Any], *, with_name: bool) -> Iterator[str]:
    """Yield the scores of a test set as text, with further runs below the first."""
    from transformer_mt.views.bands import band_lines

    if with_name:
        yield f"{found['corpus']}, split {found['split']}"
    intervals = found["intervals"]
    signature = found["signature"]
    for name, title in _METRICS.items():
        margin = f"±{intervals[name]['half_width']:.2f}" if name in intervals else ""
        yield f"{title:16} {found[name]:6.2f} {margin:5}   {signature[name]}"
    yield f"exact            {100 * found['exact']:6.2f} %"
    if found["aer"] is not None:
        shares = f"precision {100 * found['aer_precision']:.2f} %, recall {100 * found['aer_recall']:.2f} %"
        yield f"AER              {100 * found['aer']:6.2f} % {shares}; heads by {found['aer_chosen_by']}"
    speed = f"{found['seconds']:.1f} s, {found['sentences_per_second']:.1f} a second"
    yield f"sentences        {found['sentences']:6d}   {speed}"
    if found["references"] > found["sentences"]:
        mean = found["references"] / found["sentences"]
        yield f"references       {found['references']:6d}   {mean:.1f} a sentence; each counts"
    yield from band_lines(found, width=literal_console().width)
    for other in found.get("against", ()):
        yield from ("", f"{other['run']}, against {found['run']}")
        for name, interval in other["intervals"].items():
            change = f"{other[name] - found[name]:+.2f}, p = {interval['p_value']:.3f}"
            yield f"{_METRICS[name]:16} {other[name]:6.2f} ±{interval['half_width']:.2f}   {change}"
        yield f"exact            {100 * other['exact']:6.2f} %"
    for one in (found, *found.get("against", ())):
        for poor in one.get("worst", ()):
            yield from ("", f"{one['run']}, sentence {poor['number']}, chrF {poor['chrf']:.2f}")
            yield from (f"  {name:12}{poor[name]}" for name in ("source", "translation", "reference"))
