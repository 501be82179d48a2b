"""Views as data: any dataclass as JSON (`--json`) and as named arrays (`--npz`).

Keys are field names. A class with other keys has a method `to_json` or `arrays` that returns its keys and values.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from transformer_mt.head_names import HeadName
from transformer_mt.progress import advance

# Significant digits of tensors in JSON: enough for weights, in a third of the characters.
DIGITS = 5

# Metadata for dataclass fields to leave out of JSON and arrays.
HIDDEN = {"hidden": True}


def to_json(value: Any, *, digits: int = DIGITS) -> Any:
    """Convert a value for `json.dumps`; rounds the numbers of tensors and arrays; NaN and infinities become null."""
    value = _in_place_of(value, "to_json")
    if hasattr(value, "tolist"):
        advance(0)  # allows cancelling long answers
        return _rounded(value.tolist(), digits)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, HeadName):
        return str(value)
    if is_dataclass(value) or isinstance(value, Mapping):
        return {str(name): to_json(entry, digits=digits) for name, entry in _entries(value).items()}
    if isinstance(value, Sequence | frozenset) and not isinstance(value, str):
        return [to_json(entry, digits=digits) for entry in value]
    assert value is None or isinstance(value, bool | int | str), f"no JSON for {type(value)}"
    return value


def to_arrays(value: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """The fields as arrays for `numpy.savez`.

    Fields of a nested dataclass get its name as a prefix (`loss.value`); a mapping keeps its own keys. A sequence of
    dataclasses becomes one array per field, with NaN for missing ones. None is left out.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, entry in _entries(_in_place_of(value, "arrays")).items():
        is_list = type(entry) in (list, tuple)
        rows = [_in_place_of(row, "arrays") for row in (entry if is_list else [entry])]
        nested = [row for row in rows if is_dataclass(row) or isinstance(row, Mapping)]
        if nested:
            inside = prefix if isinstance(nested[0], Mapping) else f"{prefix}{name}."
            arrays |= to_arrays(_columns(rows) if is_list else entry, inside)
        elif entry is not None and (not is_list or rows != [None] * len(rows) or not rows):
            arrays[f"{prefix}{name}"] = _array(entry)
    return arrays


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Transpose a list of dataclasses or mappings to a list per field."""
    entries = [{} if row is None else _entries(row) for row in rows]
    names = dict.fromkeys(name for row in entries for name in row)
    return {str(name): [row.get(name) for row in entries] for name in names}


def _in_place_of(value: Any, method: str) -> Any:
    return getattr(value, method)() if hasattr(value, method) else value


def _entries(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    return {one.name: getattr(value, one.name) for one in fields(value) if not one.metadata.get("hidden")}


def _array(value: Any) -> np.ndarray:
    if hasattr(value, "numpy"):  # a tensor
        return value.numpy(force=True)
    if isinstance(value, HeadName):
        return np.array(str(value))
    if isinstance(value, list | tuple):
        missing = "" if any(isinstance(entry, str | HeadName) for entry in value) else math.nan
        value = [missing if entry is None else _array(entry) for entry in value]
    return np.array(value)


def _rounded(numbers: Any, digits: int) -> Any:
    """Round the floats of nested lists to `digits` significant digits."""
    if isinstance(numbers, list):
        return [_rounded(entry, digits) for entry in numbers]
    if not isinstance(numbers, float):
        return numbers
    return float(f"{numbers:.{digits}g}") if math.isfinite(numbers) else None
