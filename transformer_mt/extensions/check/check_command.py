"""`tmt check`: build everything and overfit one batch."""

from pathlib import Path
from typing import Annotated

from typer import Option

from transformer_mt.cli.options import ConfigFile, Data, Set
from transformer_mt.cli.terminal import note, result
from transformer_mt.cli.train import Vocabulary, new_config


def check(
    config: ConfigFile = None,
    data: Data = None,
    init_from: Annotated[Path | None, Option("--from", metavar="RUN", help="Check fine-tuning of this run.")] = None,
    vocabulary: Vocabulary = None,
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

    resolved = new_config(config, data, set or [], init_from=init_from, vocabulary=vocabulary)
    for line in check_training(resolved, note):
        result(line)
