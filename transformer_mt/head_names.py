"""The names of attention stacks, layers and heads, as people write them."""

import re
from typing import NamedTuple, Self

from transformer_mt.errors import InputError

# The stacks of attention that a model can have, and what they are called in titles.
STACKS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}


HEAD_PATTERN = rf"({'|'.join(STACKS)})\.([1-9]\d{{0,3}})\.([1-9]\d{{0,3}})"


class LayerName(NamedTuple):
    """A layer of a stack of attention; layers count from 1."""

    stack: str
    layer: int

    def head(self, number: int) -> "HeadName":
        """One of its heads, which count from 1."""
        return HeadName(*self, number)


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
            raise InputError(key, f"{text!r} is no head", "write stack, layer and head, as in cross.2.1")
        return cls(found[1], int(found[2]), int(found[3]))

    @property
    def of_layer(self) -> LayerName:
        """The layer that has the head."""
        return LayerName(self.stack, self.layer)

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"
