"""A run's search, changed by a person for one translation."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

OF_DRAWS = ("temperature", "top_k", "top_p", "seed")


def changed_search(configured: SearchConfig, given: Mapping[str, Any]) -> SearchConfig:
    """The search with the given keys. Raises `InputError`, which names the option, for a wrong or idle one."""
    for key in given:
        lookup(SearchConfig.model_fields, key, key="search")
    try:
        chosen = SearchConfig.model_validate(configured.model_dump() | dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        option, reason = option_of(str(first["loc"][0])), first["msg"][0].lower() + first["msg"][1:]
        raise InputError(f"{option}: {reason}, not {first['input']}; correct it") from None
    if not chosen.sample:
        idle = [key for key in given if key in OF_DRAWS]
        refuse(idle, "acts on random draws alone; give --sample too, or leave it out")
        least = 2 * chosen.n_best
        if chosen.n_best > 1 and chosen.beam < least:
            refuse(
                given.keys() & {"beam"}, f"--n-best {chosen.n_best} takes {least} or more; raise it, or leave it out"
            )
    return chosen


def refuse(keys: Iterable[str], reason: str) -> None:
    """Raise `InputError` that names the option of the first of these keys, if there is any."""
    for key in keys:
        raise InputError(f"{option_of(key)}: {reason}")


def option_of(key: str) -> str:
    """The option of a key: `--top-k` for `top_k`."""
    return f"--{key.replace('_', '-')}"
