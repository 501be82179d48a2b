"""Pictures: valid XML without anything that acts, readable in light and dark and without colours."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hostile_text import HOSTILE_TEXTS, hostile_texts

from transformer_mt.drawing.matrix_svg import _DARK, _LIGHT, _SHARES, render_svg
from transformer_mt.inspection.matrices import Matrix

NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "style", "rect", "g", "path", "text"}


def matrix_of(*rows: list[float | None], text: str = "a") -> Matrix:
    return Matrix("cross", text, text, [*rows], (text,) * len(rows), (text,) * len(rows[0]))


def parsed(*matrices: Matrix) -> ElementTree.Element:
    root = ElementTree.fromstring(render_svg([matrices], meaning="a meaning"))
    assert {element.tag.removeprefix(NAMESPACE) for element in root.iter()} <= ELEMENTS
    return root


def texts(root: ElementTree.Element, *, kind: str | None = None) -> list[str]:
    found = root.iter(f"{NAMESPACE}text")
    return [element.text or "" for element in found if kind is None or element.get("class", "").startswith(kind)]


def paths(root: ElementTree.Element) -> dict[str, str]:
    return {path.get("class", ""): path.get("d", "") for path in root.iter(f"{NAMESPACE}path")}


@given(hostile_texts)
def test_hostile_labels_are_text_and_nothing_else(text: str) -> None:
    root = parsed(matrix_of([0.5], text=text))
    plain = parsed(matrix_of([0.5]))
    assert [element.tag for element in root.iter()] == [element.tag for element in plain.iter()]
    title, column, row, _ = texts(root)
    assert column == row
    assert title == f"{row}, {row}"
    assert [set(element.attrib) for element in root.iter()] == [set(element.attrib) for element in plain.iter()]


def test_no_control_and_no_reordering_reaches_the_file() -> None:
    for text in HOSTILE_TEXTS:
        written = render_svg([[matrix_of([0.5], text=text)]], meaning=text)
        assert not set(written) & set("\x1b\u202e\x00\r\t\ud800\ufffe\uffff")
        written.encode()


def test_nothing_outside_is_asked_for() -> None:
    written = render_svg([[matrix_of([0.5])]], meaning="")
    assert re.findall(r"https?://[^\"]*", written) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<script|<image|\bon\w+=", written)


def test_a_single_matrix_has_its_numbers_and_several_have_none() -> None:
    matrix = matrix_of([0.75, 0.25], [0.004, 0.996])
    assert texts(parsed(matrix), kind="n") == [".75", ".25", "1.0"]
    assert texts(parsed(matrix, matrix), kind="n") == []


def covered(path: str) -> list[tuple[int, int, int]]:
    """(x, y, width) of the rectangles of a path."""
    return [(int(x), int(y), int(w)) for x, y, w in re.findall(r"M(\d+) (\d+)h(\d+)v", path)]


@given(st.lists(st.lists(st.floats(0, 1), min_size=5, max_size=5), min_size=1, max_size=3))
def test_every_cell_has_the_shade_of_its_size(rows: list[list[float]]) -> None:
    rows = [[0.0, 0.0, 0.0, 0.0, 1.0], *rows]
    drawn = paths(parsed(matrix_of(*rows), matrix_of(*rows)))  # of several, so small cells
    size = 14
    levels = [[0] * 5 for _ in rows]
    for name, path in drawn.items():
        for x, y, width in covered(path):
            if name not in ("c0", "frame"):
                for column in range(x // size, (x + width) // size):
                    assert levels[y // size][column] == 0
                    levels[y // size][column] = int(name[1:])
    largest = 1.0
    assert levels == [[sum(number >= share * largest for share in _SHARES) for number in row] for row in rows]


def test_a_frame_is_drawn_over_the_cells() -> None:
    names = [*paths(parsed(matrix_of([0.25, 0.75, None])))]
    assert names[0] == "c0"
    assert names[-1] == "frame"


@pytest.mark.parametrize(("largest", "unit"), [(0.03, "0.01"), (3.0, None), (5432.0, "1000")])
def test_a_unit_of_the_numbers_is_said_below_them_and_to_screen_readers(largest: float, unit: str | None) -> None:
    picture = parsed(matrix_of([largest, 0.0]))
    texts = [text.text or "" for text in picture.iter(f"{NAMESPACE}text")]
    description = picture[1].text or ""
    if unit is None:
        assert "in units of" not in " ".join([*texts, description])
    else:
        assert texts[-1] == f"in units of {unit}"
        assert f"Numbers are in units of {unit}. " in description
    places = [float(text.attrib["y"]) for text in picture.iter(f"{NAMESPACE}text") if "y" in text.attrib]
    assert max(places) < float(picture.attrib["height"])


def test_neighbours_of_one_shade_are_one_rectangle() -> None:
    drawn = paths(parsed(matrix_of([0.25, 0.25, 0.25, 0.25])))
    assert covered(drawn["c2"]) == [(0, 0, 4 * 34)]


def test_signs_can_be_seen_with_and_without_numbers() -> None:
    signed = matrix_of([-3.0, 4.0])
    assert texts(parsed(signed), kind="n") == ["-3", "4.0"]
    drawn = paths(parsed(signed, signed))
    assert covered(drawn["c5"]) == [(0, 0, 14)]
    assert drawn["s5"] == "M4 7h6"
    assert {name for name in drawn if name.startswith("s")} == {"s5"}


def test_masked_cells_are_marked() -> None:
    assert covered(paths(parsed(matrix_of([1.0, None])))["masked"]) == [(34, 0, 34)]


def test_screen_readers_get_a_title_and_the_largest_of_each_row() -> None:
    matrix = Matrix("cross", "p", "n", [[0.75, 0.25], [None, 1.0]], ("Can", "</s>"), ("Kannst", "du"))
    title, description = list(parsed(matrix))[:2]
    assert (title.text, description.text) == ("p, n", "Can: Kannst .75. </s>: du 1.0. a meaning")
    assert parsed(matrix, matrix)[0].text == "p, n, and 1 more"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_lightness_is_in_the_order_of_the_shades_and_numbers_are_readable() -> None:
    for shades, falling in ((_LIGHT, True), (_DARK, False)):
        assert len(shades) == len(_SHARES) + 1
        light = [luminance(fill) for fill, _ in shades]
        assert light == sorted(set(light), reverse=falling)
        for fill, ink in shades:
            low, high = sorted((luminance(fill), luminance(ink)))
            assert (high + 0.05) / (low + 0.05) >= 4.5


def test_dark_pages_have_colours_of_their_own() -> None:
    style = parsed(matrix_of([0.5])).find(f"{NAMESPACE}style")
    assert style is not None
    assert style.text
    light, _, dark = style.text.partition("@media(prefers-color-scheme:dark)")
    assert _LIGHT[3][0] in light
    assert _DARK[3][0] in dark


def test_lines_of_matrices_stand_below_each_other_within_the_picture() -> None:
    one = matrix_of([0.5, 0.5])
    root = ElementTree.fromstring(render_svg([[one, one], [one]], meaning=""))
    places = [
        tuple(map(int, re.findall(r"\d+", group.get("transform", "")))) for group in root.findall(f"{NAMESPACE}g")
    ]
    assert places[0][1] == places[1][1] < places[2][1]
    assert places[0][0] == places[2][0] < places[1][0]
    assert int(root.get("width", "0")) > places[1][0]
    assert int(root.get("height", "0")) > places[2][1]


def test_a_picture_of_one_matrix_is_small() -> None:
    row: list[float | None] = [1 / 11] * 11
    assert len(render_svg([[matrix_of(*[row] * 11)]], meaning="")) < 12_000
