"""Options shared by several commands, including search options, and dataclasses of options."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from transformer_mt.cli.app import DATA, HEADS, OUTPUT, SEARCH
from transformer_mt.config.changed_search import changed_search, refuse
from transformer_mt.config.sections import Config, DataConfig, SearchConfig, TrainingConfig
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import in_utf8
from transformer_mt.translation.engine import engines

RUNS = Path("runs")
in_heads = partial(Option, rich_help_panel=HEADS)
in_search = partial(Option, rich_help_panel=SEARCH)
in_output = partial(Option, rich_help_panel=OUTPUT)

ModelOption = Annotated[Path | None, Option(metavar="DIR", help="A run or checkpoint. [newest under runs/]")]
Device = Annotated[str, Option(metavar="NAME", help="auto, cpu, cuda, cuda:1, mps …")]
Json = Annotated[bool, in_output("--json", help="Print JSON.")]
# `Command` reads it.
Quiet = Annotated[bool, in_output("--quiet", help="Hide notes and progress.")]
SOURCES = "builtin, a folder, one or two files, a hub id."
IF_USED = "[builtin, if the run used it]"
Data = Annotated[str | None, Option(metavar="SOURCE", help=f"{SOURCES} [{DataConfig().corpus}]", rich_help_panel=DATA)]
DataToMeasure = Annotated[str | None, Option(metavar="SOURCE", help=f"{SOURCES} {IF_USED}", rich_help_panel=DATA)]
LayerOption = Annotated[str | None, in_heads(metavar="N", help="A layer, from 1, or all.")]
HeadOption = Annotated[str | None, in_heads(metavar="N", help="A head, from 1, mean, or all.")]
NoSplit = Annotated[bool, Option("--no-split", help="Translate each line as a single sentence.")]
TargetOption = Annotated[str | None, Option(metavar="TEXT", help="Use this translation, not the model's.")]
LookedAt = Annotated[str | None, Argument(metavar="SENTENCE", help="A source sentence. [an example]")]
Input = Annotated[Path | None, Option(metavar="FILE", help="Source sentences, one per line; needs --target-file.")]
TargetFile = Annotated[Path | None, Option(metavar="FILE", help="The translations of --input, one per line.")]
OutputFile = Annotated[Path | None, in_output(metavar="FILE", help="Write to a file once all is done.")]
Figure = Annotated[
    Path | None,
    in_output(metavar="FILE", help="Also draw a PNG, PDF or SVG; needs the plot extra."),
]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a key, for example model.width=128."),
]
ConfigFile = Annotated[Path | None, Argument(metavar="CONFIG", help="A TOML file, or a name such as multi30k.")]
To = Annotated[
    str | None,
    Option("--to", metavar="LANGUAGE", help="Target language, if the model has several. [the main one]"),
]
QUANTIZATIONS = tuple(dict.fromkeys(name for entry in engines().values() for name in entry.quantizations))
EngineOption = Annotated[str, Option(metavar="NAME", help=f"What translates: auto, {', '.join(engines())}.")]
Quantization = Annotated[
    str | None,
    Option(metavar="NAME", help=f"The number format of another engine's weights: {', '.join(QUANTIZATIONS)}."),
]


RunToExport = Annotated[
    Path, Argument(metavar="RUN", help="A run, checkpoint or packed run; ready is the ready model.")
]


# `open_translator` chooses.
AUTO = "auto"
DEFAULT_DEVICE = TrainingConfig().device
DEFAULT_ENGINE = AUTO


def resolve_config(path: Path | Config | None, *, data: str | None, overrides: list[str] | None) -> Config:
    """The configuration of a file, changed by `--set` and then `--data`. Data paths become absolute."""
    from transformer_mt.corpus.source import absolute

    config = load_config(path, overrides or [])
    corpus = in_utf8(absolute(config.data.corpus if data is None else data), "data.corpus")
    mixture = {
        name: mixed.model_copy(update={"corpus": absolute(mixed.corpus)}) for name, mixed in config.data.mixture.items()
    }
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": corpus, "mixture": mixture})})


def files_of_pairs(source: Path | None, target: Path | None) -> tuple[Path, Path] | None:
    """`--input` and `--target-file`, if given. Raises `InputError` for only one of them, and for stdin twice."""
    if source is None and target is None:
        return None
    if source is None or target is None:
        raise InputError("--input, --target-file", "each needs the other", "give both")
    if source == target == Path("-"):
        raise InputError("--target-file", "--input already reads stdin", "give a file for one of them")
    return source, target


@dataclass(frozen=True, kw_only=True)
class BeamOptions:
    """Options of a beam search, named and ordered as in the search section and the help; None if not given."""

    beam: Annotated[int | None, in_search(metavar="N", help="Beam size; 1 is greedy.")] = None
    length_penalty: Annotated[
        float | None, in_search(metavar="X", help="Higher values favour longer translations.")
    ] = None

    def applied_to(self, configured: SearchConfig) -> SearchConfig:
        """The run's search, changed by the options. Raises `InputError` for an invalid or ineffective option."""
        return changed_search(configured, self._given())

    def refuse(self, problem: str, remedy: str) -> None:
        """Raise `InputError` for the first of these options that was given."""
        refuse(self._given(), problem, remedy)

    def _given(self) -> dict[str, Any]:
        keys = SearchConfig.model_fields  # subclasses have other options too
        return {key: value for key, value in vars(self).items() if key in keys and value is not None}


@dataclass(frozen=True, kw_only=True)
class OneBestOptions(BeamOptions):
    """Search options for a single translation, also a sampled one."""

    sample: Annotated[bool | None, in_search("--sample", help="Sample instead of beam search.")] = None
    temperature: Annotated[float | None, in_search(metavar="X", help="Below 1, likely tokens become likelier.")] = None
    top_k: Annotated[int | None, in_search(metavar="K", help="Sample from the K likeliest tokens; 0 is all.")] = None
    top_p: Annotated[
        float | None, in_search(metavar="P", help="Sample from the likeliest tokens up to probability P.")
    ] = None
    seed: Annotated[int | None, in_search(metavar="N", help="Random seed for --sample.")] = None


@dataclass(frozen=True, kw_only=True)
class SearchOptions(OneBestOptions):
    """All search options."""

    n_best: Annotated[int | None, in_search(metavar="N", help="Number of different translations.")] = None


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of its dataclass, in place of the parameter that receives it."""
    before = inspect.signature(command).parameters
    (place,) = (name for name, one in before.items() if is_dataclass(one.annotation))
    kind = before[place].annotation
    options = inspect.signature(kind).parameters

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        given = kind(**{name: arguments.pop(name) for name in options})
        command(**{place: given}, **arguments)

    after: list[inspect.Parameter] = []
    for name, parameter in before.items():
        after += options.values() if name == place else [parameter]
    # Typer reads both.
    wrapper.__signature__ = inspect.Signature(after)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in after}
    return wrapper
