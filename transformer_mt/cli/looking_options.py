"""What all commands that look at a sentence take alike, which stands here once and arrives as one argument."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Npz, Quiet
from transformer_mt.cli.search_options import SearchOptions, search_parameters, with_options

_SEARCH = search_parameters("beam", "length_penalty", "sample", "temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True)
class Looking:
    """How the translation is found that is looked at, and where the view goes."""

    search: SearchOptions
    device: str
    as_json: bool
    npz: Path | None
    quiet: bool

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Looking":
        """From the values of all the options."""
        of_search = {parameter.name for parameter in _SEARCH}
        search = SearchOptions.of({name: value for name, value in values.items() if name in of_search})
        return cls(search, **{name: value for name, value in values.items() if name not in of_search})


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_OTHERS = [
    _option("device", Device, DEFAULT_DEVICE),
    _option("as_json", Json, False),
    _option("npz", Npz, None),
    _option("quiet", Quiet, False),
]

# Gives a command these options where its signature has the parameter `looking`.
with_looking_options = with_options("looking", [*_SEARCH, *_OTHERS], Looking.of)
