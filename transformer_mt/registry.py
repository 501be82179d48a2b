"""Names that people write: of variants, looked up in their table, and of attention heads."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self, TypeVar

from transformer_mt.errors import InputError

Variant = TypeVar("Variant")


def lookup(table: Mapping[str, Variant], name: str, *, key: str) -> Variant:
    """The entry of a table of variants; `InputError` with the nearest name when `key` names none."""
    if name not in table:
        raise InputError(unknown(table, name, key=key))
    return table[name]


def unknown(table: Iterable[str], name: str, *, key: str) -> str:
    """The message on a name that is not in the table. A plugin may add to the tables of the configuration."""
    own = " (or load its plugin: tmt --plugin FILE)" if re.match(r"\w+\.", key) else ""
    return f"{key}: there is no {name!r}; {suggest(name, table)}{own}"


def suggest(word: str, candidates: Iterable[str]) -> str:
    """A remedy for an unknown name: `did you mean …?` when one is near, else all names there are."""
    names = list(candidates)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"


# The stacks of attention that a model can have, and what they are called in titles.
STACKS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
HEAD_PATTERN = rf"({'|'.join(STACKS)})\.([1-9]\d{{0,3}})\.([1-9]\d{{0,3}})"


class HeadName(NamedTuple):
    """A head of a model, written `cross.2.1`: the stack, then layer and head, which count from 1."""

    stack: str
    layer: int
    head: int

    @classmethod
    def parse(cls, text: str, *, key: str) -> Self:
        """The head that the text names; `InputError` that names `key` where it is none."""
        found = re.fullmatch(HEAD_PATTERN, text)
        if found is None:
            raise InputError(f"{key}: {text!r} is no head; write stack, layer and head, as in cross.2.1")
        return cls(found[1], int(found[2]), int(found[3]))

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"
