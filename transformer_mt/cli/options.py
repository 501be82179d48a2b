"""Options that several commands share, those of search among them, and how a command gets a dataclass of options."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from transformer_mt.config.changed_search import changed_search, refuse
from transformer_mt.config.sections import Config, DataConfig, SearchConfig, TrainingConfig
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError
from transformer_mt.export.ctranslate2_package import QUANTIZATIONS
from transformer_mt.translation.engine import OWN

RUNS = Path("runs")

ModelOption = Annotated[
    Path | None, Option(metavar="DIR", help="A run, or a checkpoint in it. [the newest under runs/]")
]
Device = Annotated[str, Option(metavar="NAME", help="auto, cpu, cuda, cuda:1, mps …")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
# `Command` reads it: notes are left out, and work is not shown.
Quiet = Annotated[bool, Option("--quiet", help="Nothing on stderr but what went wrong.")]
SOURCES = "builtin, a folder, one file or two, a hub id."
Data = Annotated[str | None, Option(metavar="SOURCE", help=f"{SOURCES} [{DataConfig().corpus}]")]
DataToMeasure = Annotated[
    str | None, Option(metavar="SOURCE", help=f"{SOURCES} [builtin, for a run on it]", show_default=False)
]
Stack = Annotated[str | None, Option(metavar="NAME", help="Which attention: cross, encoder or decoder. [cross]")]
LayerOption = Annotated[str | None, Option(metavar="N", help="A layer counted from 1, or all.")]
HeadOption = Annotated[str | None, Option(metavar="N", help="A head counted from 1, mean, or all.")]
NoSplit = Annotated[bool, Option("--no-split", help="Translate a line of several sentences as one.")]
Sentence = Annotated[
    int, Option("--sentence", metavar="N", min=1, help="Which sentence of a line of several.", show_default=False)
]
WordsOption = Annotated[bool, Option("--words/--pieces", help="Rows and columns are words, or the model's subwords.")]
TargetOption = Annotated[
    str | None, Option(metavar="TEXT", help="Look at this translation instead of the model's own.")
]
Without = Annotated[
    list[str] | None, Option(metavar="HEADS", help="Switch these off and compare: cross.2.1,cross.2.2.")
]
LookedAt = Annotated[str | None, Argument(metavar="SENTENCE", help="[one that training showed]", show_default=False)]
Input = Annotated[Path | None, Option(metavar="FILE", help="The sources, line by line; needs --target-file.")]
TargetFile = Annotated[Path | None, Option(metavar="FILE", help="Their translations, line by line.")]
Npz = Annotated[Path | None, Option(metavar="FILE", help="Write the numbers to a file for numpy.load too.")]
Figure = Annotated[
    Path | None, Option(metavar="FILE", help="Also draw a picture: PNG, PDF or SVG; needs the extra plot.")
]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a value, as in --set model.width=128."),
]
ConfigFile = Annotated[
    Path | None, Argument(metavar="CONFIG", help="A TOML file, or a name such as multi30k.", show_default=False)
]
PrefixOption = Annotated[str, Option(metavar="TEXT", help="How every translation begins.")]
EngineOption = Annotated[str, Option(metavar="NAME", help="Program that searches: torch, or ctranslate2, an extra.")]
Quantization = Annotated[
    str | None,
    Option(metavar="NAME", help=f"Of CTranslate2's weights: {', '.join(QUANTIZATIONS)}.", show_default=False),
]

DEFAULT_DEVICE, DEFAULT_ENGINE = TrainingConfig().device, OWN


def resolve_config(path: Path | None, *, data: str | None, overrides: list[str] | None) -> Config:
    """The configuration of a file, `--set` and `--data`, in this order. Paths of data become absolute."""
    from transformer_mt.corpus.source import absolute

    config = changed_config(path, overrides or [])
    corpus = absolute(config.data.corpus if data is None else data)
    _require_utf8(corpus, option="--data")
    mixture = {
        name: mixed.model_copy(update={"corpus": absolute(mixed.corpus)}) for name, mixed in config.data.mixture.items()
    }
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": corpus, "mixture": mixture})})


def changed_config(path: Path | None, overrides: list[str]) -> Config:
    """The configuration of a file and `--set`, its paths as they are written."""
    for override in overrides:
        _require_utf8(override, option="--set")
    return load_config(path, overrides)


def files_of_pairs(source: Path | None, target: Path | None) -> tuple[Path, Path] | None:
    """`--input` and `--target-file`, if given. Raises `InputError` for one without the other, and for stdin twice."""
    if source is None and target is None:
        return None
    if source is None or target is None:
        raise InputError("--input, --target-file", "each needs the other", "give both")
    if source == target == Path("-"):
        raise InputError("--target-file", "--input is stdin already", "give a file for one of them")
    return source, target


def _require_utf8(text: str, *, option: str) -> None:
    if text != text.encode(errors="replace").decode():
        raise InputError(f"{option} {text}", "not UTF-8, as a configuration is", "rename or rewrite it")


_CONFIGURED = SearchConfig()


def _option(name: str, metavar: str, sentence: str) -> Any:
    """A number of the search section, with its default."""
    return Option(metavar=metavar, help=f"{sentence} [the run's, {getattr(_CONFIGURED, name)} unless configured]")


@dataclass(frozen=True)
class SearchOptions:
    """Options by key of the search section, in the order of the help; None where one was not given."""

    beam: Annotated[int | None, _option("beam", "N", "Beam size; 1 is greedy.")] = None
    length_penalty: Annotated[float | None, _option("length_penalty", "X", "Larger favours longer.")] = None
    sample: Annotated[bool | None, Option("--sample", help="Draw translations instead of searching the best.")] = None
    temperature: Annotated[float | None, _option("temperature", "X", "Below 1, likely words become likelier.")] = None
    top_k: Annotated[int | None, _option("top_k", "K", "Draw from the k likeliest subwords; 0: all.")] = None
    top_p: Annotated[float | None, _option("top_p", "P", "Draw from the likeliest with this much together.")] = None
    seed: Annotated[int | None, _option("seed", "N", "For --sample.")] = None
    n_best: Annotated[int | None, _option("n_best", "N", "How many different translations.")] = None

    def applied_to(self, configured: SearchConfig) -> SearchConfig:
        """The run's search, changed by the options. Raises `InputError` for a wrong value, or one without effect."""
        return changed_search(configured, self._given())

    def refuse(self, problem: str, remedy: str) -> None:
        """Raise `InputError` for the first of these options that was given."""
        refuse(self._given(), problem, remedy)

    def _given(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(SearchOptions)}
        return {name: value for name, value in values.items() if value is not None}


def with_options(
    name: str, kind: Callable[..., Any], *, but: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a dataclass, `but` some, as options in place of its parameter `name`, which gets an
    instance."""
    own = inspect.signature(kind).parameters.values()
    added = [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in own if field.name not in but]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            values = {field.name: arguments.pop(field.name) for field in added}
            command(**{name: kind(**values)}, **arguments)

        parameters = [
            one
            for given in inspect.signature(command).parameters.values()
            for one in (added if given.name == name else [given.replace(kind=inspect.Parameter.KEYWORD_ONLY)])
        ]
        # Typer reads both.
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapper

    return decorate
