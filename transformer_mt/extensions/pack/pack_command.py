"""`tmt pack`: put a run into one file."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.options import Quiet, RunToExport
from transformer_mt.cli.terminal import note
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import write_output
from transformer_mt.ground.registry import lookup


def pack(
    run: RunToExport,
    file: Annotated[Path, Argument(metavar="FILE", help="The new file.")],
    precision: Annotated[str, Option(metavar="NAME", help="Of the weights: bfloat16 or float32.")] = "bfloat16",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
    quiet: Quiet = False,
) -> None:
    """Pack a model into one file, to share it.

    \b
    Examples:
      tmt pack runs/builtin de-en.zip
      tmt pack runs/builtin exact.zip --precision float32
      tmt pack runs/builtin/checkpoints/step-400 early.zip

    The file works wherever a run does, as in tmt translate --model de-en.zip, without being unpacked. It holds the
    weights, the vocabulary, the configuration, the words of the training data, the measurements and a model card, but
    no training data. bfloat16 halves the size and changes few translations.
    """
    from transformer_mt.extensions.pack.pack_run import PRECISIONS, pack_run
    from transformer_mt.runs.directory import find_run

    lookup(dict.fromkeys(PRECISIONS), precision, key="precision")
    if file.exists() and not overwrite:
        raise InputError(file, "exists", "give another name, or --overwrite")
    content = pack_run(find_run(run), precision=precision)
    write_output(file, content)
    note(f"wrote {file}, {len(content) / 1e6:.1f} MB")
