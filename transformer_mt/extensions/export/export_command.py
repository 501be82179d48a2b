"""`tmt export`: export a model to another program."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from transformer_mt.cli.options import DataToMeasure, Json, Quantization, Quiet, RunToExport
from transformer_mt.cli.terminal import note, result
from transformer_mt.ground.errors import TmtError
from transformer_mt.ground.progress import working

if TYPE_CHECKING:
    from transformer_mt.corpus.pairs import Pairs
    from transformer_mt.runs.directory import Run

SPLIT = "validation"


def export(
    run: RunToExport,
    directory: Annotated[Path, Argument(metavar="DIR", help="A new output folder.")],
    to: Annotated[
        str,
        Option(
            "--to",
            metavar="NAME",
            help="Target program: ctranslate2 or transformers (each needs the extra of that name).",
        ),
    ],
    quantization: Quantization = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing export.")] = False,
    data: DataToMeasure = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a model to another program and compare the translations of both.

    \b
    Examples:
      tmt export runs/builtin builtin-ct2 --to ctranslate2
      tmt export runs/builtin builtin-hf --to transformers
      tmt export runs/news ct2 --to ctranslate2 --data val.de,val.en

    The folder also gets parity.json, a comparison of 20 greedy translations. Nothing is written if two or more of them
    differ in float32. Beam results may differ. For CTranslate2 there is a translation script; for transformers a model
    card, and from_pretrained loads the folder.

    Without --data, the sentences are the validation split that the run was trained with, if it hasn't changed, else the
    samples that training shows.
    """
    import json
    from dataclasses import asdict

    from transformer_mt.extensions.export.export_run import export_run, require_possible
    from transformer_mt.extensions.export.parity import SENTENCES, parity_lines
    from transformer_mt.runs.directory import find_run

    found = find_run(run)
    require_possible(directory, to=to, quantization=quantization, overwrite=overwrite)
    pairs = _pairs(found, data)
    count = min(len(pairs) + 3, SENTENCES)  # three are artificial
    note(f"translating {count} sentences with both programs")
    with working("", total=2 * count):
        parity = export_run(found, directory, pairs, to=to, quantization=quantization)
    result(*([json.dumps(asdict(parity))] if as_json else parity_lines(parity)))
    note(f"written to {directory}")


def _pairs(run: "Run", data: str | None) -> "Pairs":
    from transformer_mt.cli.open_model import pairs_to_measure, with_references
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.corpus.source import BUILTIN

    own = run.config().data
    if data is not None or own.corpus == BUILTIN:
        name, rows = pairs_to_measure(own, data, split=SPLIT)
        with working(f"reading {name}"):
            return [pair for _, pair in with_references(rows, corpus=name)]
    if (pairs := _own_pairs(run)) is not None:
        return pairs
    shown: dict[str, SentencePair] = {}
    for record in run.metrics():
        for sample in record.get("samples", ()):
            match sample:
                case {"source": str(source), "reference": str(reference)}:
                    shown[source] = SentencePair(source, reference)
    note(f"the run's {SPLIT} data is missing or has changed; taking the samples of training (--data: other pairs)")
    return list(shown.values())


def _own_pairs(run: "Run") -> "Pairs | None":
    """The validation pairs of training, if they are still there.

    A stranger's run could name any file on this machine. Its fingerprint shows that it knows these pairs already.
    """
    from transformer_mt.corpus.load_corpus import load_corpus

    with suppress(TmtError, KeyError):
        recorded = run.data().fingerprints[SPLIT]
        now = load_corpus(run.config().data, offline=True).clean[SPLIT]
        return now.pairs if now.fingerprint.digest == recorded.digest else None
    return None
