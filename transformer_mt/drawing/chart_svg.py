"""Charts as SVG: vector, small, light and dark, and readable without colour by the shapes of their marks."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from transformer_mt.drawing.chart import Number, Panel, Series, place, tick_label, ticks
from transformer_mt.drawing.svg import document, escaped, text_width

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 720, 210, 64, 16, 34, 40
_LINE = 18
# A curve of more points has no marks.
_MOST_MARKS = 60

# Okabe and Ito 2008, which colour-blind readers can tell apart; those too dark or too light for a ground are replaced.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5200", "#56b4e9", "#333333")
DARK = ("#56b4e9", "#e69f00", "#00c08b", "#e39cc6", "#f0e442", "#4f9bd9", "#dddddd")
# Ground, ink, axes and grid of a page.
_LIGHT_PAGE, _DARK_PAGE = ("#ffffff", "#222222", "#999999", "#e4e4e4"), ("#16181c", "#e6e6e6", "#777777", "#2c3036")
# A mark of every colour: shapes around the origin.
_MARKS = ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "M-3-3h6v6h-6z", "M0-4l4 7h-8z", "M0-4l4 4-4 4-4-4z", "M-4-3h8l-4 7z")
# Shades from -1 to 1, from blue over white to orange.
_SHADES = 21


def chart_svg(panels: Sequence[Panel]) -> str:
    """The panels one above the other, each below its title and, where it has several curves, what each of them is."""
    body: list[str] = []
    top = 0
    for panel in panels:
        legend = _legend_lines(panel)
        body += _panel(panel, top=top, legend=legend)
        top += PANEL + _LINE * len(legend)
    described = "".join(f"{panel.title}: {', '.join(map(_described, panel.series))}. " for panel in panels)
    titles = [panel.title for panel in panels]
    return _document(body, width=WIDTH, height=top, titles=titles, description=described.strip())


def heat_map_svg(values: Float[np.ndarray, "R C"], *, title: str, down: str, across: str) -> str:
    """A matrix of numbers from -1 to 1 as a picture: blue is -1, white is 0, orange is 1."""
    rows, columns = values.shape
    side = max(2, (WIDTH - LEFT - RIGHT) // columns)
    level = np.rint((values + 1) / 2 * (_SHADES - 1)).astype(int)
    body = [_text(LEFT, TOP - 14, title, anchor="start")]
    for shade in sorted({*level.ravel().tolist()}):
        cells = "".join(
            f"M{LEFT + c * side} {TOP + r * side}h{side}v{side}h-{side}z" for r, c in np.argwhere(level == shade)
        )
        body.append(f'<path fill="{_shade(shade)}" shape-rendering="crispEdges" d="{cells}"/>')
    body += [_text(LEFT - 6, TOP + row * side + side, str(row), anchor="end") for row in range(0, rows, 8)]
    body += [_text(LEFT + column * side, TOP + rows * side + 14, str(column)) for column in range(0, columns, 16)]
    legend = f"{down} down, {across} across; blue -1, white 0, orange 1"
    body.append(_text(LEFT, TOP + rows * side + 30, legend, anchor="start"))
    width, height = LEFT + columns * side + RIGHT, TOP + rows * side + BOTTOM
    return _document(body, width=width, height=height, titles=[title], description=legend)


def _document(body: Sequence[str], *, width: int, height: int, titles: Sequence[str], description: str) -> str:
    shared = f".line{{fill:none;stroke-width:1.6}}.dashed{{stroke-dasharray:2 3}}{_theme(LIGHT, _LIGHT_PAGE)}"
    return document(
        body,
        width=width,
        height=height,
        title=", ".join(titles),
        description=description,
        light=shared,
        dark=_theme(DARK, _DARK_PAGE),
    )


def _theme(colours: Sequence[str], page: tuple[str, str, str, str]) -> str:
    ground, ink, axis, grid = page
    curves = "".join(f".c{n}{{stroke:{colour}}}.m{n}{{fill:{colour}}}" for n, colour in enumerate(colours))
    return f".page{{fill:{ground}}}text{{fill:{ink}}}.axis{{stroke:{axis};fill:none}}.grid{{stroke:{grid}}}{curves}"


def _panel(panel: Panel, *, top: int, legend: Sequence[Sequence[Series]]) -> Iterator[str]:
    (left, right), (low, high) = panel.horizontal, panel.vertical
    top_of_axis = top + TOP + _LINE * len(legend)
    bottom, edge = top_of_axis + PANEL - TOP - BOTTOM, WIDTH - RIGHT
    yield _text(LEFT, top + 16, panel.title, anchor="start")
    for number, line in enumerate(legend, start=1):
        yield from _legend(line, y=top + 16 + number * _LINE)
    for value in ticks(low, high, most=5):
        y = _between(value, low, high, bottom, top_of_axis)
        yield f'<path class="grid" d="M{LEFT} {y}H{edge}"/>'
        yield _text(LEFT - 6, y + 4, tick_label(value), anchor="end")
    for value in ticks(left, right, most=8):
        x = _between(value, left, right, LEFT, edge)
        yield f'<path class="axis" d="M{x} {bottom}v4"/>'
        yield _text(x, bottom + 17, tick_label(value))
    yield f'<path class="axis" d="M{LEFT} {top_of_axis}V{bottom}H{edge}"/>'
    yield _text(edge, bottom + 32, panel.across, anchor="end")
    for series in panel.series:
        yield from _curve(
            series,
            [
                (_between(x, left, right, LEFT, edge), _between(y, low, high, bottom, top_of_axis))
                for x, y in series.points
            ],
        )


def _curve(series: Series, points: Sequence[tuple[Number, Number]]) -> Iterator[str]:
    colour, shape = series.group % len(LIGHT), _MARKS[series.group % len(_MARKS)]
    path = "L".join(f"{x} {y}" for x, y in points)
    yield f'<path class="line c{colour}{" dashed" if series.dashed else ""}" d="M{path}"/>'
    if not series.dashed and len(points) <= _MOST_MARKS:
        yield from (f'<path class="m{colour}" transform="translate({x} {y})" d="{shape}"/>' for x, y in points)


def _legend_lines(panel: Panel) -> list[list[Series]]:
    """The curves in lines that fit beside each other, where there are several."""
    if len(panel.series) < 2:
        return []
    lines: list[list[Series]] = [[]]
    for series in panel.series:
        if lines[-1] and sum(map(_legend_width, [*lines[-1], series])) > WIDTH - LEFT - RIGHT:
            lines.append([])
        lines[-1].append(series)
    return lines


def _legend_width(series: Series) -> int:
    return round(text_width(series.name)) + 44


def _legend(line: Sequence[Series], *, y: int) -> Iterator[str]:
    x = LEFT
    for series in line:
        yield from _curve(series, [(x, y - 4), (x + 20, y - 4)])
        yield _text(x + 26, y, series.name, anchor="start")
        x += _legend_width(series)


def _described(series: Series) -> str:
    """Where a curve begins and ends."""
    if not series.points:
        return series.name
    (first, low), (last, high) = series.points[0], series.points[-1]
    ends = f"{tick_label(low)} at {tick_label(first)}, {tick_label(high)} at {tick_label(last)}"
    return f"{series.name} {ends}".strip()


def _between(value: Number, low: Number, high: Number, first: int, last: int) -> float:
    """Where a value between two others lies between two places."""
    return round(first + place(value, low, high) * (last - first), 1)


def _text(x: Number, y: Number, text: str, *, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escaped(text)}</text>'


def _shade(level: int) -> str:
    """From blue (0) over white to orange."""
    share = 2 * level / (_SHADES - 1) - 1
    end = (213, 94, 0) if share > 0 else (0, 114, 178)
    return "#" + "".join(f"{round(255 + (part - 255) * abs(share)):02x}" for part in end)
