"""Names that people write, looked up in their table of variants."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from transformer_mt.errors import InputError

Variant = TypeVar("Variant")


def lookup(table: Mapping[str, Variant], name: str, *, key: str) -> Variant:
    """The entry of a table of variants; `InputError` with the nearest name when `key` names none."""
    if name not in table:
        raise InputError(key, *unknown(table, name, key=key))
    return table[name]


def unknown(table: Iterable[str], name: str, *, key: str) -> tuple[str, str]:
    """Problem and remedy for a name that is not in the table. A plugin may add to the tables of the configuration."""
    own = " (or load its plugin: tmt --plugin FILE)" if re.match(r"\w+\.", key) else ""
    return f"there is no {name!r}", f"{suggest(name, table)}{own}"


def suggest(word: str, candidates: Iterable[str]) -> str:
    """A remedy for an unknown name: `did you mean …?` when one is near, else all names there are."""
    names = list(candidates)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
