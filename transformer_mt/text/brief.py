"""A `repr` of one short line, for objects with texts, tensors and lists of any size."""

import reprlib
from dataclasses import fields
from typing import Any

from typing_extensions import override

_LONGEST = 40


class Brief:
    """Base of dataclasses with `repr=False`: one line, with the sizes of tensors and lists in place of their items."""

    @override
    def __repr__(self) -> str:
        shown = [f"{each.name}={brief(getattr(self, each.name))}" for each in fields(self) if each.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def brief(value: Any) -> str:
    """A value in at most 40 characters: a tensor as `tensor 3×5`, a list as `7 items`."""
    if hasattr(value, "shape"):
        return f"{type(value).__name__.lower()} {'×'.join(map(str, value.shape))}"
    text = repr(value) if isinstance(value, str | int | float | None) else str(reprlib.repr(value))
    if len(text) > _LONGEST or "\n" in text:
        return f"{text[: _LONGEST - 2]}…{text[0]}" if isinstance(value, str) else _size(value)
    return text


def _size(value: Any) -> str:
    return f"{len(value)} items" if hasattr(value, "__len__") else f"{type(value).__name__}(…)"
