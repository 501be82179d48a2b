"""Dataclasses as JSON."""

import json
import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from transformer_mt.ground.head_names import HeadName
from transformer_mt.ground.progress import shown_by, working
from transformer_mt.views.serialise import HIDDEN, to_json


@dataclass
class Stack:
    weights: Tensor

    def to_json(self) -> dict[str, Any]:
        return {"shown": self.weights}


@dataclass
class View:
    name: HeadName
    loss: float
    layer: int | None = None
    stacks: Mapping[HeadName, Stack] = field(default_factory=dict)
    parts: tuple["View", ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    secret: int = field(default=1, metadata=HIDDEN)


def test_json_has_plain_values() -> None:
    first, second = HeadName("cross", 2, 1), HeadName("cross", 2, 2)
    stacks = {second: Stack(torch.tensor([[1 / 3, math.nan]]))}
    view = View(first, 1 / 3, stacks=stacks, parts=(View(second, math.inf, layer=3),), links=((0, 1), (2, 3)))
    assert json.loads(json.dumps(to_json(view), allow_nan=False)) == {
        "name": "cross.2.1",
        "loss": 1 / 3,
        "layer": None,
        "stacks": {"cross.2.2": {"shown": [[0.33333, None]]}},
        "parts": [{"name": "cross.2.2", "loss": None, "layer": 3, "stacks": {}, "parts": [], "links": []}],
        "links": [[0, 1], [2, 3]],
    }


def test_digits_of_tensors_can_be_set() -> None:
    assert to_json({"x": torch.tensor([1 / 3])}, digits=2) == {"x": [0.33]}
    assert to_json(np.float32(0.5)) == 0.5


@given(arrays(np.float64, st.integers(0, 5)) | arrays(np.float32, st.integers(0, 5)))
@example(np.array([0.999995, 9.99995, 99999.5, 999995.0, 0.00390625, 1e300, 5e-324, -0.0]))
def test_numbers_of_arrays_have_five_significant_digits(numbers: np.ndarray) -> None:
    expected = [float(f"{number:.5g}") if math.isfinite(number) else None for number in numbers.tolist()]
    assert repr(to_json(numbers)) == repr(expected)


def test_serialisation_can_be_cancelled_at_every_array() -> None:
    told = []
    with shown_by(lambda *_: nullcontext(told.append)), working(""):
        to_json([np.zeros(2), torch.zeros(1)])
    assert told == [0, 0]
