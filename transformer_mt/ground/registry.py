"""Lookup of variants by the names that users write."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from transformer_mt.ground.errors import InputError

Variant = TypeVar("Variant")


def lookup(table: Mapping[str, Variant], name: str, *, key: str) -> Variant:
    """Return the entry of that name. Raises `InputError` under `key`, with the nearest name, if it is unknown."""
    if name not in table:
        raise InputError(key, *unknown(table, name, key=key))
    return table[name]


def unknown(table: Iterable[str], name: str, *, key: str) -> tuple[str, str]:
    """Problem and remedy for an unknown name. Plugins can add names to the tables of the configuration."""
    own = " (or load its plugin: tmt --plugin FILE)" if re.match(r"\w+\.", key) else ""
    return f"{name!r} is unknown", f"{suggest(name, table)}{own}"


def suggest(word: str, candidates: Iterable[str]) -> str:
    """A remedy for an unknown name: `did you mean …?` if one is near, else all names."""
    names = list(candidates)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
