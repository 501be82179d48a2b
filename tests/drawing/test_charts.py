import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.drawing.chart import Panel, Series, extent, place, tick_label, ticks
from transformer_mt.drawing.chart_svg import DARK, LEFT, LIGHT, PANEL, RIGHT, TOP, WIDTH, chart_svg, heat_map_svg
from transformer_mt.drawing.chart_text import NARROWEST, ROWS, chart_lines, heat_map_lines

SVG = "{http://www.w3.org/2000/svg}"
RISING = Series("a run", ((0, 0.0), (50, 5.0), (100, 10.0)))
FALLING = Series("another", ((0, 10.0), (100, 0.0)), 1, dashed=True)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(low=numbers, length=st.floats(1e-6, 1e6), most=st.integers(2, 9))
def test_ticks_are_round_ordered_and_inside(low: float, length: float, most: int) -> None:
    if low + length == low:
        return
    found = ticks(low, low + length, most=most)
    assert len(found) <= most
    assert found == sorted(found)
    near = length * 1e-6 + abs(low) * 1e-15  # of a short stretch far from zero, rounding is more
    assert all(low - near <= tick <= low + length + near for tick in found)


def test_ticks_are_multiples_of_one_two_or_five() -> None:
    assert ticks(0, 10, most=6) == [0, 2, 4, 6, 8, 10]
    assert ticks(0, 1300, most=5) == [0, 500, 1000]
    assert ticks(0.0003, 0.0021, most=4) == pytest.approx([0.0005, 0.001, 0.0015, 0.002])


def test_an_extent_always_has_a_length() -> None:
    assert extent([3, 1, 2]) == (1, 3)
    assert extent([4]) == (2, 6)
    assert extent([0, 0]) == extent([]) == (0, 1)
    assert place(2, 0, 8) == 0.25


def test_labels_are_short() -> None:
    assert [tick_label(value) for value in (0, 0.002, 1300, 2e-9, 87.5, -3)] == [
        "0", "0.002", "1,300", "2e-09", "87.5", "-3",
    ]  # fmt: skip


def test_a_single_curve_is_dots_and_rises() -> None:
    lines = [*chart_lines([Panel("a title", "step", (RISING,))], width=60, fine=True)]
    assert lines[0] == "a title"
    assert max(map(len, lines)) <= 60
    rows = lines[1 : ROWS + 1]
    firsts = [min(i for i, c in enumerate(row) if "\u2800" < c <= "\u28ff") for row in rows]
    assert firsts == sorted(firsts, reverse=True)
    assert rows[0].endswith("⠁") or "\u2800" < rows[0][-1] <= "\u28ff"
    assert lines[-1].split() == ["0", "20", "40", "60", "80", "step"] or lines[-1].endswith("step")
    assert "10 │" in "\n".join(rows)


def test_every_column_between_two_points_has_its_dots() -> None:
    (line, *_), *_ = [[*chart_lines([Panel("", "", (RISING,))], width=60, fine=True)][1:]]
    text = [*chart_lines([Panel("", "", (RISING,))], width=60, fine=True)][1 : ROWS + 1]
    inside = [row.partition("│")[2].ljust(56) for row in text]
    assert all(any(row[column] != " " for row in inside) for column in range(55))
    assert line


def canvas(series: Series, *, width: int) -> list[str]:
    """What is drawn of a single curve, without the axis and the numbers beside it, every line as wide as the floor."""
    lines = [*chart_lines([Panel("", "", (series,))], width=width, fine=True)]
    left = lines[ROWS + 1].index("└") + 1
    return [line[left:].ljust(len(lines[ROWS + 1]) - left) for line in lines[1 : ROWS + 1]]


def test_a_level_curve_reaches_from_side_to_side_in_every_dot() -> None:
    (drawn,) = [line for line in canvas(Series("", ((0, 3.0), (7, 3.0))), width=60) if line.strip()]
    assert len(drawn) > 50
    assert set(drawn) <= set("⠉⠒⠤⣀")  # both dots of a row


def test_where_a_curve_is_steep_it_stays_a_line() -> None:
    drawn = canvas(Series("", ((0, 0.0), (499, 0.0), (500, 1.0), (1000, 1.0))), width=60)
    assert max(sum(row[column] != " " for row in drawn) for column in range(len(drawn[0]))) == ROWS


def test_numbers_along_the_axis_never_touch() -> None:
    for right in (7, 99, 12_345, 1_234_567):
        for width in range(40, 100, 7):
            (*_, last) = chart_lines(
                [Panel("", "step", (Series("", ((0, 0.0), (right, 1.0))),))], width=width, fine=True
            )
            values = [float(label.replace(",", "")) for label in last.split()[:-1]]
            assert values == sorted(values)
            assert values == pytest.approx(np.linspace(values[0], values[-1], len(values)))


def test_several_curves_have_a_letter_each_and_a_legend() -> None:
    lines = [*chart_lines([Panel("t", "step", (RISING, FALLING))], width=60, fine=True)]
    rows = [line.partition("│")[2] for line in lines[1 : ROWS + 1]]
    assert rows[-1].startswith("a")
    assert rows[0].startswith("b")
    assert lines[-1].strip() == "a a run   b another"


@pytest.mark.parametrize("series", [(RISING,), (RISING, FALLING)])
def test_without_fine_characters_all_is_ascii(series: tuple[Series, ...]) -> None:
    text = "\n".join(chart_lines([Panel("t", "step", series)] * 2, width=60, fine=False))
    assert text.isascii()
    assert "*" in text or "a" in text
    assert "".join(heat_map_lines(np.eye(3, 5), width=60, fine=False)).isascii()


def test_a_width_below_the_narrowest_counts_as_that() -> None:
    panel = Panel("t", "step", (RISING, FALLING))
    assert [*chart_lines([panel], width=3, fine=True)] == [*chart_lines([panel], width=NARROWEST, fine=True)]


def test_of_very_many_curves_letters_begin_anew() -> None:
    panel = Panel("t", "step", tuple(Series(f"run{number}", RISING.points, number) for number in range(27)))
    text = "\n".join(chart_lines([panel], width=60, fine=True))
    assert "a run0 " in text
    assert "a run26" in text


def test_panels_follow_each_other_after_an_empty_line() -> None:
    one = [*chart_lines([Panel("t", "step", (RISING,))], width=60, fine=True)]
    assert [*chart_lines([Panel("t", "step", (RISING,))] * 2, width=60, fine=True)] == [*one, "", *one]


def test_a_matrix_is_shades_from_minus_one_to_one() -> None:
    lines = [*heat_map_lines(np.array([[-1.0, 0.0, 1.0], [1.0, 0.5, -0.5]]), width=60, fine=True)]
    assert lines == ["0  ▒█", "1 █▓░"]
    assert [*heat_map_lines(np.ones((2, 99)), width=20, fine=True)] == [f"{i} " + "█" * 18 for i in range(2)]


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def points_of(path: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path.attrib["d"])]


def test_the_svg_has_every_point_in_its_place() -> None:
    root = parsed(chart_svg([Panel("t", "step", (RISING, FALLING))]))
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    curves = [path for path in root.iter(f"{SVG}path") if "line" in path.attrib.get("class", "")][2:]
    rising, falling = (points_of(path) for path in curves)
    assert len(rising) == 3
    assert rising[0][0] == falling[0][0] == LEFT
    assert [y for _, y in rising] == sorted([y for _, y in rising], reverse=True)
    assert rising[0][1] == falling[-1][1]
    assert rising[1][0] == pytest.approx((rising[0][0] + rising[2][0]) / 2)
    assert rising[1][1] == pytest.approx((rising[0][1] + rising[2][1]) / 2)
    assert "dashed" in curves[1].attrib["class"]
    assert "dashed" not in curves[0].attrib["class"]


def test_the_grid_stands_at_the_height_of_its_numbers() -> None:
    root = parsed(chart_svg([Panel("t", "step", (RISING,))]))
    numbers = [one for one in root.iter(f"{SVG}text") if one.attrib["text-anchor"] == "end" and one.text != "step"]
    grid = [
        float(path.attrib["d"].split()[1].split("H")[0])
        for path in root.iter(f"{SVG}path")
        if path.attrib.get("class") == "grid"
    ]
    assert [float(one.attrib["y"]) - 4 for one in numbers] == grid
    (curve,) = [path for path in root.iter(f"{SVG}path") if "line" in path.attrib.get("class", "")]
    heights = {value: y for (_, value), (_, y) in zip(RISING.points, points_of(curve), strict=True)}
    at = {float(one.text or ""): y for one, y in zip(numbers, grid, strict=True)}
    assert (at[0.0], at[10.0]) == (heights[0.0], heights[10.0])


@pytest.mark.parametrize(("count", "marks"), [(60, 60), (61, 0)])
def test_few_points_are_marked_and_those_of_the_lesser_curve_never(count: int, marks: int) -> None:
    points = tuple((step, float(step)) for step in range(count))
    for dashed in (False, True):
        root = parsed(chart_svg([Panel("t", "step", (Series("", points, dashed=dashed),))]))
        found = [path for path in root.iter(f"{SVG}path") if "transform" in path.attrib]
        assert len(found) == (0 if dashed else marks)


def test_curves_differ_in_more_than_colour() -> None:
    many = tuple(Series(f"run {number}", RISING.points, number) for number in range(5))
    root = parsed(chart_svg([Panel("t", "step", many)]))
    shapes = {path.attrib["d"] for path in root.iter(f"{SVG}path") if "transform" in path.attrib}
    assert len(shapes) == 5
    assert {one.text for one in root.iter(f"{SVG}text")} >= {f"run {number}" for number in range(5)}


def test_a_legend_takes_as_many_lines_as_it_needs() -> None:
    def height(*names: str) -> int:
        svg = chart_svg([Panel("t", "step", tuple(Series(name, RISING.points) for name in names))])
        widths = [float(one.attrib["x"]) + 6 * len(one.text or "") for one in parsed(svg).iter(f"{SVG}text")]
        assert max(widths) <= WIDTH + 10 or len(names) == 1
        return int(parsed(svg).attrib["height"])

    assert height("a" * 90) == PANEL
    assert PANEL < height("a", "b") < height(*["a long name of a run"] * 5) < height(*["a long name of a run"] * 9)
    names = tuple(Series("a long name of a run", RISING.points) for _ in range(5))
    lines = [*chart_lines([Panel("t", "step", names)], width=60, fine=True)]
    assert max(map(len, lines)) <= 60
    assert sum(line.count("a long name of a run") for line in lines) == 5


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.1: from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_curves_stand_out_from_a_light_and_from_a_dark_ground() -> None:
    assert all(contrast(colour, "#ffffff") >= 2.2 for colour in LIGHT)
    assert all(contrast(colour, "#16181c") >= 3 for colour in DARK)
    assert "prefers-color-scheme:dark" in chart_svg([Panel("t", "step", (RISING,))])


def test_screen_readers_get_the_title_and_where_curves_begin_and_end() -> None:
    root = parsed(
        chart_svg([Panel("loss", "step", (RISING, FALLING)), Panel("rate", "step", (Series("", ((5, 0.5),)),))])
    )
    assert (root.attrib["role"], root.attrib["aria-labelledby"]) == ("img", "title description")
    assert (root[0].text, root[0].attrib["id"]) == ("loss, rate", "title")
    assert root[1].attrib["id"] == "description"
    assert root[1].text == "loss: a run 0 at 0, 10 at 100, another 10 at 0, 0 at 100. rate: 0.5 at 5, 0.5 at 5."
    heat = parsed(heat_map_svg(np.eye(2), title="t", down="rows", across="columns"))
    assert heat[1].text == "rows down, columns across; blue -1, white 0, orange 1"


def test_a_page_lies_below_the_curves_and_is_dark_where_that_is_preferred() -> None:
    root = parsed(chart_svg([Panel("t", "step", (RISING,))]))
    assert root[3].attrib == {"class": "page", "width": "100%", "height": "100%"}
    light, dark = (root[2].text or "").split("@media(prefers-color-scheme:dark)")
    assert ".page{fill:#ffffff}" in light
    assert ".page{fill:#16181c}" in dark


def test_wide_characters_have_room_in_the_legend() -> None:
    series = tuple(Series(name, RISING.points) for name in ("日本語" * 9, "b"))
    entries = list(parsed(chart_svg([Panel("t", "step", series)])).iter(f"{SVG}text"))
    wide, other = (next(one for one in entries if one.text == name.name) for name in series)
    far = float(other.attrib["x"]) - float(wide.attrib["x"]) >= 27 * 12
    assert far or float(other.attrib["y"]) > float(wide.attrib["y"])


def test_hostile_names_are_text() -> None:
    hostile = "<script>alert(1)</script>&\x1b[2J\u202e\x00\ufffe"
    svg = chart_svg([Panel(hostile, hostile, (Series(hostile, RISING.points), FALLING))])
    root = parsed(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert not {"\x1b", "\u202e", "\x00"} & {*svg}
    assert any("<script>" in (one.text or "") for one in root.iter(f"{SVG}text"))
    lines = "\n".join(
        chart_lines([Panel(hostile, hostile, (Series(hostile, RISING.points), FALLING))], width=60, fine=True)
    )
    assert not {"\x1b", "\u202e", "\x00"} & {*lines}


def test_a_matrix_as_svg_has_every_cell_once_in_its_colour() -> None:
    values = np.array([[-1.0, 0.0, 1.0], [1.0, 1.0, -1.0]])
    root = parsed(heat_map_svg(values, title="t", down="rows", across="columns"))
    cells = {path.attrib["fill"]: path.attrib["d"].count("M") for path in root.iter(f"{SVG}path")}
    assert cells == {"#0072b2": 2, "#ffffff": 1, "#d55e00": 3}


def test_a_matrix_as_svg_has_rows_down_and_columns_across() -> None:
    values = -np.ones((3, 5))
    values[1, 4] = 1.0
    root = parsed(heat_map_svg(values, title="t", down="rows", across="columns"))
    (cell,) = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.attrib["fill"] == "#d55e00"]
    side = (WIDTH - LEFT - RIGHT) // 5
    assert cell == f"M{LEFT + 4 * side} {TOP + side}h{side}v{side}h-{side}z"
