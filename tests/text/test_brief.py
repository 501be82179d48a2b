from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from transformer_mt.text.brief import Brief, brief


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("dog", "'dog'"),
        ("x" * 50, f"'{'x' * 37}…'"),
        (None, "None"),
        (0.5, "0.5"),
        ((1, 2), "(1, 2)"),
        (["word"] * 30, "30 items"),
        ({"a" * 30: "b" * 30}, "1 items"),
        (torch.zeros(3, 5), "tensor 3×5"),
        (np.zeros((2, 7)), "ndarray 2×7"),
    ],
)
def test_values_are_short(value: object, shown: str) -> None:
    assert brief(value) == shown


@dataclass(frozen=True, slots=True, repr=False)
class Small(Brief):
    """An example."""

    text: str
    numbers: torch.Tensor
    hidden: str = field(default="x", repr=False)


def test_repr_is_one_line_without_hidden_fields() -> None:
    assert repr(Small("a\nb", torch.zeros(2))) == "Small(text='a\\nb', numbers=tensor 2)"
