"""A run's search settings, overridden for one translation."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import lookup
from transformer_mt.text.terminal import without_capital

OF_DRAWS = ("temperature", "top_k", "top_p", "seed")


def changed_search(configured: SearchConfig, given: Mapping[str, Any]) -> SearchConfig:
    """Override search settings. Raises `InputError` for an unknown key, a wrong value, or one without effect."""
    for key in given:
        lookup(SearchConfig.model_fields, key, key="search")
    try:
        chosen = SearchConfig.model_validate(configured.model_dump() | dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{without_capital(first['msg'])}, not {first['input']}"
        raise InputError(str(first["loc"][0]), problem, "correct it") from None
    if not chosen.sample:
        idle = [key for key in given if key in OF_DRAWS]
        refuse(idle, "only affects sampling", "turn on sample, or leave it out")
        least = 2 * chosen.n_best
        if chosen.n_best > 1 and chosen.beam < least:
            problem = f"must be at least {least} for the {chosen.n_best} best translations"
            refuse(given.keys() & {"beam"}, problem, "raise it, or leave it out")
    return chosen


def refuse(keys: Iterable[str], problem: str, remedy: str) -> None:
    """Raise `InputError` for the first of these search keys, if any."""
    for key in keys:
        raise InputError(key, problem, remedy)
