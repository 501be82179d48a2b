"""Pictures for slides and papers, by matplotlib, which the extra `plot` installs; it is imported when one is drawn."""

import io
import math
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from transformer_mt.errors import InputError, MachineError
from transformer_mt.views.matrix import Matrix, Scale
from transformer_mt.views.text import escape_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from transformer_mt.views.plot import Panel

# By ending, what must not be in a file for it to be the same every time.
FORMATS: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# Text is text and no formula, and the names inside an SVG are the same every time.
_SETTINGS: Any = {"text.parse_math": False, "text.usetex": False, "svg.hashsalt": "tmt", "svg.fonttype": "none"}

# Inches of a cell, and of the labels and the title around a matrix.
CELL, AROUND = 0.42, 1.6
PANEL = (7.0, 2.6)
LARGEST = 60.0
# Cells of a matrix in which numbers can still be read.
MOST_NUMBERS = 1_000


def check_figure(path: Path) -> None:
    """Raise `InputError` for a name that is no PNG, PDF or SVG, and `MachineError` where matplotlib is missing."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"--figure {path}: the name says no format; end it in .png, .pdf or .svg")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MachineError("--figure: needs matplotlib; pip install 'transformer_mt[plot]'") from None


def matrix_figure(rows: Sequence[Sequence[Matrix]], *, meaning: str, path: Path) -> bytes:
    """Rows of matrices in one picture as the content of a file, with one scale of colours and its meaning below."""
    columns, matrices = max(map(len, rows)), list(chain(*rows))
    scale = Scale.of(matrix.numbers for matrix in matrices)
    low = -scale.largest if any(matrix.negative for matrix in matrices) else 0.0
    width = columns * (AROUND + CELL * max(len(matrix.columns) for matrix in matrices))
    height = sum(AROUND + CELL * max(len(matrix.rows) for matrix in row) for row in rows)
    with _drawing(width, height + 0.6) as figure:
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for row, places in zip(rows, axes, strict=True):
            for place, matrix in zip_longest(places, row):
                if matrix is None:
                    place.set_axis_off()
                else:
                    image = _draw_matrix(place, matrix, low=low, scale=scale)
        bar = figure.colorbar(image, ax=axes, location="bottom", shrink=min(1.0, 4.0 / width), pad=0.02)
        bar.set_label(textwrap.fill(escape_controls(meaning), int(10 * width)))
        return _content(figure, path)


def curves_figure(panels: "Sequence[Panel]", *, path: Path) -> bytes:
    """Panels of curves, one above the other, as the content of a file."""
    with _drawing(PANEL[0], PANEL[1] * len(panels)) as figure:
        for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            for curve in panel.series:
                style = {"color": f"C{curve.group % 10}", "linestyle": "--" if curve.dashed else "-"}
                axes.plot(*zip(*curve.points, strict=True), label=f" {escape_controls(curve.name)}", **style)
            axes.set_title(escape_controls(panel.title), fontsize="medium")
            axes.set_xlabel(escape_controls(panel.across))
            axes.grid(alpha=0.3)
            if len(panel.series) > 1:
                axes.legend(fontsize="small")
        return _content(figure, path)


def positions_figure(rows: Float[np.ndarray, "N D"], *, title: str, path: Path) -> bytes:
    """Numbers from -1 to 1, positions down and features across, as the content of a file."""
    with _drawing(PANEL[0], max(PANEL[1], 0.12 * len(rows) + 1.0)) as figure:
        axes = figure.subplots()
        image = axes.imshow(rows, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto", interpolation="nearest")
        axes.set(title=title, xlabel="feature", ylabel="position")
        figure.colorbar(image, ax=axes)
        return _content(figure, path)


def _draw_matrix(axes: "Axes", matrix: Matrix, *, low: float, scale: Scale) -> "AxesImage":
    numbers = np.array(matrix.numbers, float)  # None becomes NaN
    image = axes.imshow(numbers, cmap="RdBu_r" if low else "viridis", vmin=low, vmax=scale.largest, aspect="equal")
    axes.set_facecolor("0.92")  # where nothing may be attended to
    room = 14 + 5 * len(matrix.columns)
    title = "\n".join(textwrap.fill(escape_controls(part), room) for part in (matrix.place, matrix.name))
    axes.set_title(title, fontsize="medium")
    axes.set_xticks(range(len(matrix.columns)), map(escape_controls, matrix.columns), rotation=45, ha="left")
    axes.set_yticks(range(len(matrix.rows)), map(escape_controls, matrix.rows))
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    for (i, j), number in np.ndenumerate(numbers):
        if math.isfinite(number) and numbers.size <= MOST_NUMBERS:
            share = number / scale.largest
            dark = abs(share) > 0.6 if low else share < 0.6
            style: dict[str, Any] = {"color": "white" if dark else "black", "fontsize": "x-small"}
            axes.text(j, i, scale.printed(number).strip(), ha="center", va="center", **style)
    return image


@contextmanager
def _drawing(width: float, height: float) -> Iterator["Figure"]:
    """An empty figure of that many inches, on which text is taken literally."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks, labels that leave no room
        smaller = min(1.0, LARGEST / max(width, height))
        yield Figure(figsize=(smaller * width, smaller * height), layout="constrained")


def _content(figure: "Figure", path: Path) -> bytes:
    file, ending = io.BytesIO(), path.suffix.lower()
    figure.savefig(file, format=ending[1:], dpi=150, metadata=FORMATS[ending])
    return file.getvalue()
