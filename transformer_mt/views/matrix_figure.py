"""The picture of matrices (`tmt attend --figure`), and the parts of any picture by matplotlib (extra `plot`)."""

import io
import logging
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.text.terminal import escape_controls
from transformer_mt.views.matrix import LabelledMatrix, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_LOG = logging.getLogger(__name__)

# For each format, the metadata to remove so that files are reproducible.
_FORMATS: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# The first font that has a letter draws it. matplotlib warns of letters that none has.
_FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans Devanagari", "Arial Unicode MS"]
# No math in text, and reproducible ids inside an SVG.
_SETTINGS: Any = {"text.parse_math": False, "text.usetex": False, "svg.hashsalt": "tmt", "svg.fonttype": "none"}
# Inches per cell, and for the labels and title around a matrix.
_CELL = 0.42
_AROUND = 1.6
_LARGEST = 60.0
# Larger matrices are drawn without numbers: they would be too small to read.
_MOST_NUMBERS = 1_000


def check_figure(path: Path) -> None:
    """Raise `InputError` unless the name ends in .png, .pdf or .svg, `MachineError` if matplotlib is not installed."""
    if path.suffix.lower() not in _FORMATS:
        raise InputError("figure", f"{path} has no known format", "end it in .png, .pdf or .svg")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MachineError("figure", "needs matplotlib", "pip install 'transformer_mt[plot]'") from None


def matrix_figure(rows: Sequence[Sequence[LabelledMatrix]], *, meaning: str, path: Path) -> bytes:
    """Draw rows of matrices with a common colour scale and its meaning below; return the content of the file."""
    columns = max(map(len, rows))
    matrices = list(chain(*rows))
    scale = Scale.of(matrix.numbers for matrix in matrices)
    low = -scale.largest if any(matrix.negative for matrix in matrices) else 0.0
    width = columns * (_AROUND + _CELL * max(len(matrix.columns) for matrix in matrices))
    height = sum(_AROUND + _CELL * max(len(matrix.rows) for matrix in row) for row in rows)
    with drawing(width, height + 0.6) as figure:
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for row, places in zip(rows, axes, strict=True):
            for place, matrix in zip(places, row, strict=False):
                image = _draw_matrix(place, matrix, low=low, scale=scale)
            for place in places[len(row) :]:
                place.set_axis_off()
        bar = figure.colorbar(image, ax=axes, location="bottom", shrink=min(1.0, 4.0 / width), pad=0.02)
        units = "" if scale.unit == 1.0 else f" Numbers are in units of {scale.unit:g}."
        bar.set_label(textwrap.fill(escape_controls(meaning + units), int(10 * width)))
        return file_content(figure, path)


def _draw_matrix(axes: "Axes", matrix: LabelledMatrix, *, low: float, scale: Scale) -> "AxesImage":
    image = axes.imshow(matrix.numbers, cmap="RdBu_r" if low else "viridis", vmin=low, vmax=scale.largest)
    axes.set_facecolor("0.92")  # masked cells
    room = 14 + 5 * len(matrix.columns)
    title = "\n".join(textwrap.fill(escape_controls(part), room) for part in (matrix.place, matrix.name))
    axes.set_title(title, fontsize="medium")
    axes.set_xticks(range(len(matrix.columns)), map(escape_controls, matrix.columns), rotation=45, ha="left")
    axes.set_yticks(range(len(matrix.rows)), map(escape_controls, matrix.rows))
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    if matrix.numbers.size <= _MOST_NUMBERS:
        _write_numbers(axes, matrix.numbers, scale, diverging=low < 0.0)
    return image


def _write_numbers(axes: "Axes", numbers: Float[np.ndarray, "R C"], scale: Scale, *, diverging: bool) -> None:
    """Write every number that is not masked, in white on dark cells."""
    for (i, j), number in np.ndenumerate(numbers):
        if math.isfinite(number):
            share = number / scale.largest
            is_dark = abs(share) > 0.6 if diverging else share < 0.6
            colour = "white" if is_dark else "black"
            axes.text(j, i, scale.printed(number).strip(), ha="center", va="center", color=colour, fontsize="x-small")


@contextmanager
def drawing(width: float, height: float) -> Iterator["Figure"]:
    """A figure of this size in inches, or smaller if that is too large. Logs matplotlib's warnings, each once."""
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.figure import Figure

    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = {"font.family": [name for name in _FONTS if name in installed]}
    with matplotlib.rc_context(_SETTINGS | fonts), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        smaller = min(1.0, _LARGEST / max(width, height))
        yield Figure(figsize=(smaller * width, smaller * height), layout="constrained")
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        _LOG.warning("tmt: --figure: %s", message)


def file_content(figure: "Figure", path: Path) -> bytes:
    """The content of the figure's file, in the format of the path's suffix."""
    file = io.BytesIO()
    ending = path.suffix.lower()
    figure.savefig(file, format=ending[1:], dpi=150, metadata=_FORMATS[ending])
    return file.getvalue()
