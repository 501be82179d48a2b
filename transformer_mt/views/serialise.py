"""Views as data: any dataclass as JSON (`--json`).

Keys are field names. A class with other keys has a method `to_json` that returns its keys and values.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from transformer_mt.ground.head_names import HeadName
from transformer_mt.ground.progress import advance

# Significant digits of tensors in JSON: enough for weights, in a third of the characters.
DIGITS = 5

# Metadata for dataclass fields to leave out of JSON.
HIDDEN = {"hidden": True}


def to_json(value: Any, *, digits: int = DIGITS) -> Any:
    """Convert a value for `json.dumps`; rounds the numbers of tensors and arrays; NaN and infinities become null."""
    if hasattr(value, "to_json"):
        value = value.to_json()
    if hasattr(value, "tolist"):
        advance(0)  # allows cancelling long answers
        return _rounded(value.tolist(), digits)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, HeadName):
        return str(value)
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value) if not one.metadata.get("hidden")}
    if isinstance(value, Mapping):
        return {str(name): to_json(entry, digits=digits) for name, entry in value.items()}
    if isinstance(value, Sequence | frozenset) and not isinstance(value, str):
        return [to_json(entry, digits=digits) for entry in value]
    assert value is None or isinstance(value, bool | int | str), f"no JSON for {type(value)}"
    return value


def _rounded(numbers: Any, digits: int) -> Any:
    """Round the floats of nested lists to `digits` significant digits."""
    if isinstance(numbers, list):
        return [_rounded(entry, digits) for entry in numbers]
    if not isinstance(numbers, float):
        return numbers
    return float(f"{numbers:.{digits}g}") if math.isfinite(numbers) else None
