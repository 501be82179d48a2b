"""The attention to a watched sentence at one validation, as text."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.text import Text

from transformer_mt.drawing.matrix_text import render_map
from transformer_mt.drawing.shading import Shading
from transformer_mt.errors import InputError
from transformer_mt.inspection.matrices import map_title
from transformer_mt.runs.watched import Frame
from transformer_mt.views.text import escape_controls


def frame_lines(frame: Frame, *, layer: int | None, head: int | None, width: int, shading: Shading) -> Iterator[Text]:
    """A frame as text: step and validation loss, the sentence and its translation then, and a matrix for `target`.

    Layer and head count from 1; without a layer it is the last, without a head the mean over all.
    """
    layers = len(frame.weights)
    chosen = layers if layer is None else layer
    heads = np.array(_of(frame.weights, chosen, option="--layer"))
    matrix = heads.mean(axis=0) if head is None else _of(heads, head, option="--head")
    yield Text(f"step {frame.step}  validation loss {frame.loss:.3f}")
    yield Text(escape_controls(frame.source))
    yield Text(escape_controls(frame.translation))
    yield Text()
    yield from render_map(
        matrix.tolist(),
        title=map_title("cross", layer=chosen, layers=layers, head=head, heads=len(heads)),
        rows=frame.rows,
        columns=frame.columns,
        width=width,
        shading=shading,
    )


def _of(several: Any, number: int, *, option: str) -> Any:
    """The one of that number, from 1. Raises `InputError` that says how many there are."""
    if not 1 <= number <= len(several):
        raise InputError(f"{option}: there is no {number}; give a number from 1 to {len(several)}")
    return several[number - 1]
