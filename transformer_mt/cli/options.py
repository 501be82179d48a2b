"""Options that several commands share, and what they mean together."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from transformer_mt.config import Config, DataConfig, SearchConfig, TrainingConfig, field_default, load_config
from transformer_mt.errors import InputError

RUNS = Path("runs")


def _default(name: str) -> str:
    return f"[the run's, {field_default(SearchConfig, name)} unless configured]"


Model = Annotated[
    Path | None, typer.Option("--model", metavar="DIR", help="The run to use. [the newest one under runs/]")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1, mps …")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Data = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="SOURCE", help=f"builtin, a folder, or a hub id. [{field_default(DataConfig, 'corpus')}]"
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
Beam = Annotated[int | None, typer.Option("--beam", metavar="N", help=f"Beam size; 1 is greedy. {_default('beam')}")]
LengthPenalty = Annotated[
    float | None,
    typer.Option("--length-penalty", metavar="X", help=f"Larger favours longer. {_default('length_penalty')}"),
]
Sample = Annotated[bool | None, typer.Option("--sample", help="Draw translations instead of searching for the best.")]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", metavar="X", help=f"Below 1 plays safe, above 1 dares. {_default('temperature')}"),
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", metavar="K", help=f"Draw from the k likeliest subwords; 0: all. {_default('top_k')}"),
]
TopP = Annotated[
    float | None,
    typer.Option("--top-p", metavar="P", help=f"Draw from the likeliest with this much together. {_default('top_p')}"),
]
NBest = Annotated[
    int | None,
    typer.Option("--n-best", metavar="N", help=f"How many different translations. {_default('n_best')}"),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help=f"For --sample. {_default('seed')}")]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="How every translation begins.")]

DEFAULT_DEVICE: str = field_default(TrainingConfig, "device")


def search_with(configured: SearchConfig, **chosen: Any) -> SearchConfig:
    """The run's search, changed by the options that were given (those that are not None)."""
    given = {name: value for name, value in chosen.items() if value is not None}
    try:
        return SearchConfig.model_validate(configured.model_dump() | given)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        message = first["msg"]
        raise InputError(f"--{option}: {message[0].lower()}{message[1:]}, not {first['input']}; correct it") from None


def resolve_config(path: Path | None, *, data: str | None, overrides: list[str] | None) -> Config:
    """The configuration of a file, `--set` and `--data`, in this order. A folder of data becomes an absolute path."""
    config = load_config(path, overrides or [])
    corpus = data or config.data.corpus
    if Path(corpus).expanduser().is_dir():
        corpus = str(Path(corpus).expanduser().resolve())
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": corpus})})
