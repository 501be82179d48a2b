"""Options that several commands share, and what they mean together."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.config.sections import Config, DataConfig, TrainingConfig
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError

RUNS = Path("runs")

Model = Annotated[Path | None, Option(metavar="DIR", help="A run, or a checkpoint in it. [the newest under runs/]")]
Device = Annotated[str, Option(metavar="NAME", help="auto, cpu, cuda, cuda:1, mps …")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", help="Nothing on stderr but what went wrong.")]
_SOURCES = "builtin, a folder, one file or two, a hub id."
Data = Annotated[str | None, Option(metavar="SOURCE", help=f"{_SOURCES} [{DataConfig().corpus}]")]
DataToMeasure = Annotated[
    str | None, Option(metavar="SOURCE", help=f"{_SOURCES} [the run's corpus]", show_default=False)
]
Stack = Annotated[str | None, Option(metavar="NAME", help="Which attention: cross, encoder or decoder. [cross]")]
Layer = Annotated[str | None, Option(metavar="N", help="A layer counted from 1, or all.")]
Head = Annotated[str | None, Option(metavar="N", help="A head counted from 1, mean, or all.")]
Words = Annotated[bool, Option("--words/--pieces", help="Rows and columns are words, or the model's subwords.")]
Target = Annotated[str | None, Option(metavar="TEXT", help="Look at this translation instead of the model's own.")]
Without = Annotated[
    list[str] | None, Option(metavar="HEADS", help="Switch these off and compare: cross.2.1,cross.2.2.")
]
LookedAt = Annotated[str | None, Argument(metavar="SENTENCE", help="[one that training showed]", show_default=False)]
Npz = Annotated[Path | None, Option(metavar="FILE", help="Write the numbers to a file for numpy.load too.")]
Figure = Annotated[
    Path | None, Option(metavar="FILE", help="Also draw a picture: PNG, PDF or SVG; needs the extra plot.")
]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a value, as in --set model.width=128."),
]
ConfigFile = Annotated[
    Path | None, Argument(metavar="CONFIG", help="A TOML file: configs/multi30k.toml.", show_default=False)
]
Prefix = Annotated[str, Option(metavar="TEXT", help="How every translation begins.")]

DEFAULT_DEVICE = TrainingConfig().device


def resolve_config(path: Path | None, *, data: str | None, overrides: list[str] | None) -> Config:
    """The configuration of a file, `--set` and `--data`, in this order. Paths of data become absolute."""
    from transformer_mt.corpus.source import absolute

    for override in overrides or []:
        _require_utf8(override, option="--set")
    config = load_config(path, overrides or [])
    corpus = absolute(data or config.data.corpus)
    _require_utf8(corpus, option="--data")
    mixture = {absolute(name): weight for name, weight in config.data.mixture.items()}
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": corpus, "mixture": mixture})})


def _require_utf8(text: str, *, option: str) -> None:
    if text != text.encode(errors="replace").decode():
        raise InputError(f"{option} {text}: not UTF-8, as a configuration is; rename or rewrite it")
