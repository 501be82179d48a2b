"""Lookup of variants by the names that users write."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from transformer_mt.ground.errors import InputError

Variant = TypeVar("Variant")


class Table(dict[str, Variant]):
    """The variants of a configuration key, by name.

    Names with numbers, such as `band(3)`, need `given`: so many first arguments of an entry come from the program.
    """

    def __init__(self, key: str, variants: Mapping[str, Variant], *, given: int | None = None) -> None:
        super().__init__(variants)
        self.key = key
        self.given = given
        TABLES[key] = self

    def find(self, name: str) -> Variant:
        """Return the variant of that name. Raises `InputError` with the nearest name if it is unknown."""
        return lookup(self, name, key=self.key)


# All tables by their keys. A table is here once its module is imported.
TABLES: dict[str, Table[Any]] = {}


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
