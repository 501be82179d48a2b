"""`tmt check`: build everything and overfit one batch."""

from pathlib import Path
from typing import Annotated

from typer import Option

from transformer_mt.cli.options import ConfigFile, Data, Set, resolve_config
from transformer_mt.cli.terminal import note, result
from transformer_mt.cli.train import initialised, vocabulary_of
from transformer_mt.ground.errors import InputError


def check(
    config: ConfigFile = None,
    data: Data = None,
    init_from: Annotated[Path | None, Option("--from", metavar="RUN", help="Check fine-tuning of this run.")] = None,
    vocabulary: Annotated[
        Path | None, Option("--vocabulary", metavar="RUN", help="Use this run's vocabulary, but new weights.")
    ] = None,
    set: Set = None,
) -> None:
    """Build all of a training, show sizes, shapes and speed, and overfit one batch; write nothing.

    \b
    Examples:
      tmt check
      tmt check multi30k --data path/to/multi30k
      tmt check --data train.de,train.en --set model.width=64

    Takes the same CONFIG, --data, --from, --vocabulary and --set as tmt train.
    """
    from transformer_mt.extensions.check.sanity_check import check_training

    overrides = set or []
    if init_from and vocabulary:
        raise InputError("--vocabulary", "--from also sets the vocabulary", "give one of them")
    if init_from:
        resolved = initialised(init_from, None, config=config, data=data, overrides=overrides)
    else:
        overrides = [*(vocabulary_of(vocabulary) if vocabulary else ()), *overrides]
        resolved = resolve_config(config, data=data, overrides=overrides)
    for line in check_training(resolved, note):
        result(line)
