"""Looking a name up in a table of variants."""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from transformer_mt.errors import InputError

Variant = TypeVar("Variant")


def lookup(table: Mapping[str, Variant], name: str, *, key: str) -> Variant:
    """The entry of a table of variants; `InputError` with the nearest name when `key` names none."""
    if name not in table:
        raise InputError(f"{key}: there is no {name!r}; {nearest(name, table)}")
    return table[name]


def nearest(word: str, candidates: Iterable[str]) -> str:
    """A remedy for an unknown name: `did you mean …?` when one is near, else all names there are."""
    names = list(candidates)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
