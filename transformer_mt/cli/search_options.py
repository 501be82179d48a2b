"""The options of search, which stand here once and arrive in a command as one argument."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import InputError

_CONFIGURED = SearchConfig()


def _option(option: str, metavar: str, sentence: str) -> Any:
    """A number of the search section, with its default."""
    name = option.removeprefix("--").replace("-", "_")
    default = f"[the run's, {getattr(_CONFIGURED, name)} unless configured]"
    return typer.Option(option, metavar=metavar, help=f"{sentence} {default}")


# By key of the search section, in the order of the help.
OPTIONS: Mapping[str, Any] = {
    "beam": Annotated[int | None, _option("--beam", "N", "Beam size; 1 is greedy.")],
    "length_penalty": Annotated[float | None, _option("--length-penalty", "X", "Larger favours longer.")],
    "sample": Annotated[
        bool | None, typer.Option("--sample", help="Draw translations instead of searching for the best.")
    ],
    "temperature": Annotated[
        float | None, _option("--temperature", "X", "Below 1, likely words become likelier; above 1, unlikely ones.")
    ],
    "top_k": Annotated[int | None, _option("--top-k", "K", "Draw from the k likeliest subwords; 0: all.")],
    "top_p": Annotated[float | None, _option("--top-p", "P", "Draw from the likeliest with this much together.")],
    "seed": Annotated[int | None, _option("--seed", "N", "For --sample.")],
    "n_best": Annotated[int | None, _option("--n-best", "N", "How many different translations.")],
}


_OF_DRAWS = ("temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True)
class SearchOptions:
    """The options of search that were given on the command line."""

    given: Mapping[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "SearchOptions":
        return cls({name: value for name, value in values.items() if value is not None})

    def applied_to(self, configured: SearchConfig) -> SearchConfig:
        """The run's search, changed by the options. Raises `InputError` for a wrong value, or one without effect."""
        try:
            chosen = SearchConfig.model_validate(configured.model_dump() | dict(self.given))
        except ValidationError as error:
            first = error.errors()[0]
            option, reason = _option_of(str(first["loc"][0])), first["msg"][0].lower() + first["msg"][1:]
            raise InputError(f"{option}: {reason}, not {first['input']}; correct it") from None
        if not chosen.sample:
            self.refuse("acts on random draws alone; give --sample too, or leave it out", only=_OF_DRAWS)
        least = 2 * chosen.n_best
        if not chosen.sample and chosen.n_best > 1 and chosen.beam < least:
            self.refuse(f"--n-best {chosen.n_best} takes {least} or more; raise it, or leave it out", only=("beam",))
        return chosen

    def refuse(self, reason: str, *, only: Collection[str] = OPTIONS) -> None:
        """Raise `InputError` for the first of these options that was given."""
        for name in self.given:
            if name in only:
                raise InputError(f"{_option_of(name)}: {reason}")


def _option_of(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def with_search_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options of search where its signature has the parameter `search`."""
    return with_options("search", search_parameters(*names), SearchOptions.of)


def search_parameters(*names: str) -> list[inspect.Parameter]:
    """These options of search as parameters of a command."""
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name])
        for name in names
    ]


def with_options(
    name: str, added: Sequence[inspect.Parameter], gather: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options where its signature has the parameter `name`, which gets what `gather` makes."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            values = {parameter.name: arguments.pop(parameter.name) for parameter in added}
            command(**{name: gather(values)}, **arguments)

        parameters = [
            one
            for own in inspect.signature(command).parameters.values()
            for one in (added if own.name == name else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)])
        ]
        # Typer reads both.
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapper

    return decorate
