"""`tmt import`: make a run from a Marian model."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from transformer_mt.cli.options import Quiet
from transformer_mt.cli.terminal import note


def import_(
    directory: Annotated[Path, Argument(metavar="DIR", help="A folder with a Marian model.")],
    run: Annotated[Path, Argument(metavar="RUN", help="The new run.")],
    quiet: Quiet = False,
) -> None:
    """Make a run from a Marian model in transformers' format. OPUS-MT has many.

    \b
    Examples:
      tmt import opus-mt-de-en runs/opus
      tmt import path/to/folder imported
      tmt train --from runs/opus --data own.de,own.en

    The folder needs config.json, tokenizer_config.json, vocab.json, source.spm, target.spm and model.safetensors. tmt
    executes nothing in it, and refuses pickles, links and unsupported models.
    """
    from transformer_mt.extensions.marian.import_marian import import_marian

    import_marian(directory, run)
    note(f"wrote {run}")
