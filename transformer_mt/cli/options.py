"""Options that several commands share, and what they mean together."""

from pathlib import Path
from typing import Annotated

import typer

from transformer_mt.config.sections import Config, DataConfig, TrainingConfig
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError

RUNS = Path("runs")

Model = Annotated[
    Path | None,
    typer.Option("--model", metavar="DIR", help="The run to use, or a checkpoint in it. [the newest one under runs/]"),
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1, mps …")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but what went wrong.")]
_SOURCES = "builtin, a folder, one file or two, or a hub id."
Data = Annotated[str | None, typer.Option("--data", metavar="SOURCE", help=f"{_SOURCES} [{DataConfig().corpus}]")]
DataToMeasure = Annotated[
    str | None, typer.Option("--data", metavar="SOURCE", help=f"{_SOURCES} [the run's corpus]", show_default=False)
]
Stack = Annotated[
    str | None, typer.Option("--stack", metavar="NAME", help="Which attention: cross, encoder or decoder. [cross]")
]
Layer = Annotated[str | None, typer.Option("--layer", metavar="N", help="A layer counted from 1, or all.")]
Head = Annotated[str | None, typer.Option("--head", metavar="N", help="A head counted from 1, mean, or all.")]
Words = Annotated[
    bool, typer.Option("--words/--pieces", help="Rows and columns are words, or the subwords that the model has.")
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="TEXT", help="Look at this translation instead of the model's own.")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="HEADS", help="Switch these off and compare: cross.2.1, or several, by commas."),
]
LookedAt = Annotated[
    str | None,
    typer.Argument(metavar="SENTENCE", help="What to look at. [one that training showed]", show_default=False),
]
Npz = Annotated[
    Path | None, typer.Option("--npz", metavar="FILE", help="Write the numbers to a file for numpy.load too.")
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure", metavar="FILE", help="Draw a picture too, a PNG, PDF or SVG by its name; needs the extra plot."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a configuration value, as in --set model.width=128."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG", help="A TOML file such as configs/multi30k.toml.", show_default=False),
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="How every translation begins.")]

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
