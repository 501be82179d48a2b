"""Names of attention stacks, layers and heads as users write them."""

import re
from typing import NamedTuple, Self

from transformer_mt.ground.errors import InputError

# The attention stacks of a model and their titles.
STACKS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}


HEAD_PATTERN = rf"({'|'.join(STACKS)})\.([1-9]\d{{0,3}})\.([1-9]\d{{0,3}})"


class LayerName(NamedTuple):
    """A layer of an attention stack; layers count from 1."""

    stack: str
    layer: int


class HeadName(NamedTuple):
    """A head, written `cross.2.1`: stack, layer and head, counted from 1."""

    stack: str
    layer: int
    head: int

    @classmethod
    def parse(cls, text: str, *, key: str) -> Self:
        """Parse a head name. Raises `InputError` under `key` if it is malformed."""
        found = re.fullmatch(HEAD_PATTERN, text)
        if found is None:
            raise InputError(key, f"{text!r} is not a head", "write stack, layer and head, as in cross.2.1")
        return cls(found[1], int(found[2]), int(found[3]))

    @property
    def of_layer(self) -> LayerName:
        """The layer of this head."""
        return LayerName(self.stack, self.layer)

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"
