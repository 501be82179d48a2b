"""`tmt attend --history`: the attention to a watched sentence, validation after validation.

Imports torch: only for use inside commands.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_mt.cli.options import RUNS
from transformer_mt.cli.sentence import save_arrays
from transformer_mt.cli.terminal import literal_console, result, result_lines
from transformer_mt.drawing.history_text import frame_lines
from transformer_mt.drawing.layout import words_of, wrap_words
from transformer_mt.drawing.shading import render_legend, shading_for
from transformer_mt.errors import InputError
from transformer_mt.inspection.history import WatchedSentence, read_history
from transformer_mt.inspection.methods import Weights
from transformer_mt.runs.directory import newest_run
from transformer_mt.runs.trained import find_run
from transformer_mt.views.text import escaped_json

# Seconds for which a frame stands on a terminal.
PAUSE = 0.8


def show_history(
    model: Path | None,
    *,
    layer: str | None,
    head: str | None,
    given: Mapping[str, Any],
    as_json: bool,
    npz: Path | None,
) -> None:
    """Play the frames of a run. Raises `InputError` for options that choose what was chosen when it was trained."""
    for option, value in given.items():
        if value is not None:
            name = option if option.startswith("--") or option.isupper() else f"--{option.replace('_', '-')}"
            raise InputError(f"{name}: --history shows what was watched in training; leave one of the two out")
    numbers = {"layer": _number(layer, "--layer", usual=None), "head": _number(head, "--head", usual="mean")}
    found = read_history(newest_run(RUNS) if model is None else find_run(model))
    if npz is not None:
        save_arrays(found, npz)
    if as_json:
        result(escaped_json(found.to_json()))
    else:
        _play(found, **numbers)


def _play(found: WatchedSentence, *, layer: int | None, head: int | None) -> None:
    """On a terminal each frame takes the place of the one before; elsewhere they follow each other."""
    console = literal_console()
    shading = shading_for(console)
    pictures = [
        [*frame_lines(frame, layer=layer, head=head, width=console.width, shading=shading)] for frame in found.frames
    ]
    for number, lines in enumerate(pictures):
        if console.is_terminal:
            time.sleep(PAUSE if number else 0.0)
            console.clear()
        elif number:
            result("")
        result_lines(lines)
    result("")
    result_lines(render_legend(width=console.width, shading=shading, masked=False))
    result_lines(wrap_words(words_of(f"A number is {Weights.meaning}."), width=console.width))


def _number(text: str | None, option: str, *, usual: str | None) -> int | None:
    """A number that was given; None for what is usual."""
    if text is None or text == usual:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{option}: {text!r} is no number; --history takes one layer, and one head or their mean")
    return int(text)
