"""Figures in any script: fonts with the letters, or a note about missing ones."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from transformer_mt.views.matrix import LabelledMatrix
from transformer_mt.views.plot import Panel, Series, curves_figure, matrix_figure

matplotlib = pytest.importorskip("matplotlib")


@dataclass(frozen=True)
class Font:
    """A font in matplotlib's list; its file is named after its letters."""

    name: str
    fname: str
    index: int = 0
    style: str = "normal"
    weight: int = 400


class Face:
    """The content of a font file."""

    def __init__(self, file: str, *, face_index: int = 0) -> None:
        if file == "damaged":
            raise RuntimeError("Can not load face")
        self.letters = "" if face_index else file

    def get_char_index(self, code: int) -> int:
        return self.letters.find(chr(code)) + 1


USUAL = "abcdefghijklmnopqrstuvwxyzß.0123456789/<>"
FONTS = [
    Font("Last Resort High-Efficiency", "老师كلب ខ"),
    Font("Broken", "damaged"),
    Font("Half", "老"),
    Font("Han", "老师好"),
    Font("Arabic", "كلب"),
    Font("Bold", "ខ", weight=700),
    Font("Other Face", "ខ", index=1),
]


class Drawn(Exception):  # noqa: N818
    """Raised instead of drawing."""


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The font families of each figure, with only `FONTS` installed."""
    families: list[list[str]] = []

    def figure(**_: object) -> None:
        families.append([*matplotlib.rcParams["font.family"]])
        raise Drawn

    monkeypatch.setattr("matplotlib.font_manager.fontManager.ttflist", FONTS)
    monkeypatch.setattr("matplotlib.font_manager.findfont", lambda usual: USUAL)
    monkeypatch.setattr("matplotlib.ft2font.FT2Font", Face)
    monkeypatch.setattr("matplotlib.figure.Figure", figure)
    return families


def draw(*labels: str) -> None:
    matrix = LabelledMatrix("", "place", "name", np.full((1, len(labels)), 0.5), ("row",), labels)
    with pytest.raises(Drawn):
        matrix_figure([[matrix]], meaning="a weight", path=Path("a.png"))


@pytest.mark.parametrize(
    ("labels", "families"),
    [
        (("ja", "straße"), []),
        (("老师", "ja"), ["Han"]),
        (("كلب", "老师"), ["Arabic", "Han"]),
        (("a b", "\u200d", "\x1b"), []),
    ],
)
def test_fonts_with_missing_letters_are_added(
    labels: tuple[str, ...], families: list[str], chosen: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    draw(*labels)
    assert chosen[0][0] == "sans-serif"
    assert sorted(chosen[0][1:]) == families
    assert not caplog.messages


def test_script_without_a_font_is_reported_once(chosen: list[list[str]], caplog: pytest.LogCaptureFixture) -> None:
    draw("ខ្មែរ", "ไทย", "老")
    assert chosen[0][1] in ("Han", "Half")
    assert caplog.messages == ["tmt: --figure: no font with KHMER, THAI letters is installed; add one, such as Noto's"]
    assert caplog.records[0].levelno == logging.WARNING


def test_curve_names_choose_fonts(chosen: list[list[str]]) -> None:
    with pytest.raises(Drawn):
        curves_figure([Panel("loss", (Series("كلب", ((0, 1.0), (1, 2.0))),))], path=Path("a.png"))
    assert chosen == [["sans-serif", "Arabic"]]


def test_figure_without_a_font_is_written(caplog: pytest.LogCaptureFixture) -> None:
    matrix = LabelledMatrix(
        "", "place", "name", np.full((1, 2), 0.5), ("\U00012000",), ("كلب", "a")
    )  # cuneiform: few machines have it
    for ending, magic in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        content = matrix_figure([[matrix]], meaning="a weight", path=Path(f"a.{ending}"))
        assert content.startswith(magic)
