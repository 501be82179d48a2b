"""What a run keeps of a sentence that is watched: one frame a validation, as lines of JSON.

Each line has `step`, `loss` (of the validation), `source`, its `translation` at that step, the `target` that the
decoder was given (the reference where one is known, else the translation), `rows` and `columns` (pieces),
`weights[layer][head][row][column]` of the cross-attention, and `entropies`, in nats, of every head.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from transformer_mt.errors import MachineError
from transformer_mt.files import parse_json, read_regular, write_atomically

WATCHED = "watched.jsonl"

# Of all frames together. Where another would exceed it, every second of those before is left out.
LIMIT = 2**24

Weight = Annotated[float, Field(ge=-1e-3, le=1.001)]
Text = Annotated[str, Field(max_length=10_000)]


@dataclass(frozen=True)
class Frame:
    """The cross-attention of the sentence at a validation, and how evenly every head of the model looks around."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    step: Annotated[int, Field(ge=0, lt=2**53)]
    loss: float
    source: Text
    translation: Text
    target: Text
    rows: list[Text]
    columns: list[Text]
    weights: list[list[list[list[Weight]]]]
    entropies: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """As plain lists, texts and numbers: the keys of a line."""
        return dataclasses.asdict(self)

    def is_consistent(self) -> bool:
        """Whether there is a head, and every matrix has a number for each row and column."""
        heads = [head for layer in self.weights for head in layer]
        shapes = {(len(head), *{len(row) for row in head}) for head in heads}
        return all(self.weights) and shapes == {(len(self.rows), len(self.columns))}


def add_frame(run: Path, frame: Frame) -> None:
    """Keep a frame of a run, after those of earlier steps; those of later ones are forgotten."""
    lines = [*_lines(run, before=frame.step), json.dumps(frame.to_json(), ensure_ascii=False)]
    while len(lines) > 2 and sum(len(line.encode()) + 1 for line in lines) > LIMIT:
        lines = [*lines[:-1:2], lines[-1]]
    _write(run, lines)


def forget_frames_after(run: Path, step: int) -> None:
    """Drop the frames of steps that training is about to repeat."""
    if os.path.lexists(run / WATCHED):
        _write(run, _lines(run, before=step + 1))


def read_frames(run: Path) -> list[Frame]:
    """The frames of a run in order, none where nothing was watched.

    Raises `MachineError` that names the line of one that is damaged.
    """
    path = run / WATCHED
    frames = []
    for number, line in enumerate(_content(path), start=1):
        try:
            parse_json(line)  # refuses what JSON does not have
            frame = _FRAME.validate_json(line)
        except ValueError:
            frame = None
        if frame is None or not frame.is_consistent():
            raise MachineError(f"{path}:{number}: damaged; delete the line, or restore the file")
        frames.append(frame)
    return frames


def _lines(run: Path, *, before: int) -> list[str]:
    """The lines of earlier steps; what is no frame is left out."""
    kept = []
    for line in _content(run / WATCHED):
        try:
            found = parse_json(line)
        except ValueError:
            continue
        if isinstance(found, dict) and type(found.get("step")) is int and found["step"] < before:
            kept.append(line)
    return kept


def _content(path: Path) -> list[str]:
    content = read_regular(path, limit=2 * LIMIT) if os.path.lexists(path) else b""
    return content.decode("utf-8", "replace").split("\n")[:-1]


def _write(run: Path, lines: Sequence[str]) -> None:
    write_atomically(run / WATCHED, "".join(f"{line}\n" for line in lines).encode())


_FRAME = TypeAdapter(Frame)
