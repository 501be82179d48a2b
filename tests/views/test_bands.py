"""Scores by groups of sentences: tables and figures of one run and of several."""

import re
from pathlib import Path
from typing import Any

import pytest

from transformer_mt.errors import InputError
from transformer_mt.views.bands import band_lines, bands_figure


def band(fewest: int, most: int | None, sentences: int, bleu: float, margin: float | None = None) -> dict[str, Any]:
    interval = None if margin is None else {name: {"half_width": margin} for name in ("bleu", "chrf")}
    scores = {"bleu": bleu, "chrf": bleu / 2, "exact": 0.25}
    return {"fewest": fewest, "most": most, "sentences": sentences, **scores, "intervals": interval}


def run(name: str, *, length: list[Any] | None = None, rarity: list[Any] | None = None) -> dict[str, Any]:
    return {"run": name, "sentences": 9, "by_length": length, "by_rarity": rarity}


ONE = run("one", length=[band(1, 5, 2, 50.0, 3.0), band(11, 15, 1, 70.0)], rarity=[band(0, 0, 3, 40.0, 1.5)])
OTHER = run(
    "other",
    length=[band(1, 5, 2, 60.0, 4.0), band(6, 10, 7, 20.0, 0.5)],
    rarity=[band(0, 0, 4, 30.0, 1.0), band(1, 9, 2, 10.0, 1.0), band(100, None, 3, 80.0, 2.0)],
)


def test_one_run_has_a_row_per_band() -> None:
    assert [*band_lines(ONE, width=80)] == [
        "",
        "words of the source  sentences   BLEU   chrF    exact",
        "1–5                          2  50.00  25.00  25.00 %",
        "11–15                        1  70.00  35.00  25.00 %",
        "",
        "rarest word seen  sentences   BLEU   chrF    exact",
        "never                     3  40.00  20.00  25.00 %",
        "no words to count: 6",
    ]


def test_several_runs_have_a_row_each_in_every_band() -> None:
    assert [*band_lines(ONE | {"against": [OTHER]}, width=80)] == [
        "",
        "run 1: one",
        "run 2: other",
        "",
        "words of the source  run  sentences         BLEU         chrF    exact",
        "1–5                    1          2  50.00 ±3.00  25.00 ±3.00  25.00 %",
        "                       2          2  60.00 ±4.00  30.00 ±4.00  25.00 %",
        "6–10                   2          7  20.00 ±0.50  10.00 ±0.50  25.00 %",
        "11–15                  1          1        70.00        35.00  25.00 %",
        "",
        "rarest word seen   run  sentences         BLEU         chrF    exact",
        "never                1          3  40.00 ±1.50  20.00 ±1.50  25.00 %",
        "                     2          4  30.00 ±1.00  15.00 ±1.00  25.00 %",
        "1–9 times            2          2  10.00 ±1.00   5.00 ±1.00  25.00 %",
        "100 times or more    2          3  80.00 ±2.00  40.00 ±2.00  25.00 %",
        "no words to count in run 1: 6",
    ]


def test_nothing_measured_prints_nothing() -> None:
    assert [*band_lines(run("one") | {"against": [run("other")]}, width=80)] == []


def drawn(found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    panels: list[Any] = []
    monkeypatch.setattr("transformer_mt.views.plot.curves_figure", lambda given, **_: panels.extend(given) or b"")
    bands_figure(found, path=Path("a.svg"))
    return panels


def test_figure_has_a_curve_per_run_with_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, fourth = drawn(ONE | {"against": [OTHER]}, monkeypatch)
    assert [panel.title for panel in (first, second, third, fourth)] == ["BLEU", "chrF"] * 2
    assert (first.across, list(first.names)) == ("words of the source", ["1–5", "6–10", "11–15"])
    assert list(third.names) == ["never", "1–9 times", "100 times or more"]
    one, other = first.series
    assert (one.name, one.group, list(one.points), one.margins) == ("one", 0, [(0, 50.0), (2, 70.0)], [3.0, 0.0])
    assert (other.name, other.group, list(other.points), other.margins) == (
        "other",
        1,
        [(0, 60.0), (1, 20.0)],
        [4.0, 0.5],
    )
    assert [list(curve.points) for curve in fourth.series] == [[(0, 20.0)], [(0, 15.0), (1, 5.0), (2, 40.0)]]


def test_runs_without_counts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    (panel, _) = drawn(run("one") | {"against": [run("other", rarity=OTHER["by_rarity"])]}, monkeypatch)
    assert [(curve.name, curve.group) for curve in panel.series] == [("other", 1)]
    with pytest.raises(InputError, match="has no counts of its training words"):
        bands_figure(run("one"), path=Path("a.svg"))


def test_same_run_twice_has_two_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, *_ = drawn(ONE | {"against": [ONE]}, monkeypatch)
    assert [(curve.group, len(curve.points)) for curve in panel.series] == [(0, 2), (1, 2)]


def test_picture_has_names_and_error_bars() -> None:
    found = bands_figure(ONE | {"against": [OTHER]}, path=Path("a.svg")).decode()
    shown = set(re.findall(r">\s*([^<>]+?)\s*<", found))
    assert {"1–5", "6–10", "100 times or more", "words of the source", "one", "other"} <= shown
    assert found.count("LineCollection") >= 8
