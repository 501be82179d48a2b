import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sentences import small_tokenizer
from support.serving import write_run
from support.tiny import varied_model

from transformer_mt.extensions.plot.plot import (
    CHART_ROWS,
    CURVES,
    FLOOR,
    NARROWEST_CHART,
    Curves,
    Panel,
    Points,
    Series,
    chart_lines,
    heat_map_lines,
    plot_positions,
    plot_runs,
    plot_schedules,
    read_curves,
    ticks,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import METRICS, Run
from transformer_mt.views.serialise import to_json

RISING = Series("a run", ((0, 0.0), (50, 5.0), (100, 10.0)))
FALLING = Series("another", ((0, 10.0), (100, 0.0)), 1, dashed=True)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(low=numbers, length=st.floats(1e-6, 1e6), most=st.integers(2, 9))
def test_ticks_are_round_sorted_and_inside(low: float, length: float, most: int) -> None:
    if low + length == low:
        return
    found = ticks(low, low + length, most=most)
    assert len(found) <= most
    assert found == sorted(found)
    near = length * 1e-6 + abs(low) * 1e-15  # rounding errors grow far from zero
    assert all(low - near <= tick <= low + length + near for tick in found)


def test_ticks_are_multiples_of_one_two_or_five() -> None:
    assert ticks(0, 10, most=6) == [0, 2, 4, 6, 8, 10]
    assert ticks(0, 1300, most=5) == [0, 500, 1000]
    assert ticks(0.0003, 0.0021, most=4) == pytest.approx([0.0005, 0.001, 0.0015, 0.002])


def drawn(lines: list[str]) -> list[str]:
    """The rows of a panel's curves, without axes and labels."""
    return [line.partition("│")[2] for line in lines[1 : CHART_ROWS + 1]]


def test_curve_spans_the_width() -> None:
    lines = [*chart_lines([Panel("a title", (RISING,))], width=60)]
    assert lines[0] == "a title"
    assert max(map(len, lines)) <= 60
    rows = drawn(lines)
    firsts = [row.index("a") for row in rows]
    assert firsts == sorted(firsts, reverse=True)
    assert [sum(row[column : column + 1] == "a" for row in rows) for column in range(55)] == [1] * 55
    assert lines[-1].split() == ["0", "50", "step"]
    assert [lines[row].split()[0] for row in (1, 6)] == ["10", "5"]


def test_level_curve_stays_on_its_row() -> None:
    (row,) = [row for row in drawn([*chart_lines([Panel("", (Series("", ((0, 3.0), (7, 3.0))),))], width=60)]) if row]
    assert set(row) == {"a"}


def test_axis_labels_never_touch() -> None:
    for right in (7, 99, 12_345, 1_234_567):
        for width in range(40, 100, 7):
            (*_, last) = chart_lines([Panel("", (Series("", ((0, 0.0), (right, 1.0))),))], width=width)
            values = [float(label.replace(",", "")) for label in last.split()[:-1]]
            assert values == sorted(values)
            assert values == pytest.approx(np.linspace(values[0], values[-1], len(values)))


def test_several_curves_have_letters_and_a_legend() -> None:
    lines = [*chart_lines([Panel("t", (RISING, FALLING))], width=60)]
    rows = drawn(lines)
    assert rows[-1].startswith("a")
    assert rows[0].startswith("b")
    assert lines[-1].strip() == "a a run   b another"


def test_chart_has_a_minimum_width() -> None:
    panel = Panel("t", (RISING, FALLING))
    assert [*chart_lines([panel], width=3)] == [*chart_lines([panel], width=NARROWEST_CHART)]


def test_letters_repeat_and_panels_are_stacked() -> None:
    panel = Panel("t", tuple(Series(f"run{number}", RISING.points, number) for number in range(27)))
    text = "\n".join(chart_lines([panel], width=60))
    assert {"a run0", "a run26"} <= {*re.findall(r"a run\d+", text)}
    one = [*chart_lines([Panel("t", (RISING,))], width=60)]
    assert [*chart_lines([Panel("t", (RISING,))] * 2, width=60)] == [*one, "", *one]


def test_heat_map_shades_from_minus_one_to_one() -> None:
    lines = [*heat_map_lines(np.array([[-1.0, 0.0, 1.0], [1.0, 0.5, -0.5]]), title="t", width=60)]
    assert lines == ["t; blank -1, full 1", "0  ▒█", "1 █▓░"]
    assert [*heat_map_lines(np.ones((2, 99)), title="t", width=20)][1:] == [f"{i} " + "█" * 18 for i in range(2)]
    title, *rows = plot_positions(12).lines(width=60)
    assert title == "sinusoidal encoding: 24 positions down, 12 features across; blank -1, full 1"
    assert len(rows) == 24


def test_extent_is_never_empty() -> None:
    def extent(*values: float) -> tuple[float, float]:
        return Panel("", (Series("", [(0, value) for value in values]),)).extent(1)

    assert extent(3, 1, 2) == (1, 3)
    assert extent(4) == (2, 6)
    assert extent(0, 0) == (0, 1)


def test_hostile_names_are_escaped() -> None:
    hostile = "<script>&\x1b[2J\u202e\x00\ufffe"
    panel = Panel(hostile, (Series(hostile, RISING.points), FALLING), hostile)
    assert not {"\x1b", "\u202e", "\x00"} & {*"".join(chart_lines([panel], width=60))}


def curves(*points: Points) -> Curves:
    return dict(zip(CURVES, points, strict=True))


ONE = curves(((1, 5.0), (2, 4.0)), ((2, 4.5),), ((1, 0.1), (2, 0.2)), ((2, 7.0),))
OTHER = curves(((1, 6.0),), ((1, 6.5),), ((1, 0.3),), ())
BOTH = {"one": ONE, "other": OTHER}


def panels_of(runs: dict[str, Curves]) -> list[Panel]:
    """The panels of the plot of these runs."""
    (panels,) = plot_runs(runs).lines.args  # type: ignore[attr-defined]
    return panels


def test_curves_of_several_runs_are_grouped_by_run() -> None:
    titles = ["loss, nats per target token", "learning rate", "BLEU on validation"]
    panels = panels_of({"one": ONE})
    assert [panel.title for panel in panels] == titles
    assert [[series.name for series in panel.series] for panel in panels] == [["training", "validation"], [""], [""]]
    assert [series.points for panel in panels for series in panel.series] == [*ONE.values()]
    loss, rate, bleu = panels_of(BOTH)
    assert [(series.name, series.group, series.dashed) for series in loss.series] == [
        ("one training", 0, True),
        ("one validation", 0, False),
        ("other training", 1, True),
        ("other validation", 1, False),
    ]
    assert [series.name for series in (*rate.series, *bleu.series)] == ["one", "other", "one"]
    assert [panel.title for panel in panels_of({"other": OTHER})] == titles[:2]  # no panel without measurements


def test_schedules_share_one_plot() -> None:
    plot = plot_schedules({"a": [(1, 0.5), (2, 0.25)], "b": [(1, 0.1)]})
    curves = [{"name": "a", "points": [[1, 0.5], [2, 0.25]]}, {"name": "b", "points": [[1, 0.1]]}]
    assert to_json(plot.data) == {"curves": curves}
    assert [*plot.lines(width=60)][-1].split() == ["a", "a", "b", "b"]


LINES: list[dict[str, object]] = [
    {"step": 2, "kind": "training", "loss": 7.5, "learning_rate": 1e-4},
    {"step": 4, "kind": "training", "loss": 6, "learning_rate": 2e-4},
    {"step": 4, "kind": "validation", "loss": 5.5, "bleu": 0.0},
    {"step": 6, "kind": "a kind of later versions"},
    {"step": 8, "kind": "validation", "loss": True, "bleu": "<script>"},
]


def test_curves_have_only_measurements(tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in [*map(json.dumps, LINES), "no JSON", '{"step": 8, "ki'])
    (tmp_path / METRICS).write_text(text)
    found = read_curves(Run(tmp_path))
    assert found["training_loss"] == [(2, 7.5), (4, 6.0)]
    assert found["learning_rate"] == [(2, 1e-4), (4, 2e-4)]
    assert (found["validation_loss"], found["bleu"]) == ([(4, 5.5)], [(4, 0.0)])
    assert found[FLOOR] == []  # without a configuration
    assert list(to_json(plot_runs({"r": found}).data)["runs"][0]) == ["run", *CURVES, FLOOR]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_floor_is_the_entropy_of_the_smoothed_targets(tmp_path: Path, smoothing: float) -> None:
    settings = (f"objective.label_smoothing={smoothing}",)
    model = varied_model(*settings, vocabulary=(tokenizer := small_tokenizer()).size)
    path = write_run(tmp_path / "run", model, tokenizer, *settings)
    (path / METRICS).write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    curves = read_curves(Run(path))
    q = np.full(tokenizer.size, smoothing / tokenizer.size)
    q[0] += 1 - smoothing
    floor = -(q[q > 0] * np.log(q[q > 0])).sum()
    assert curves[FLOOR] == ([(2, pytest.approx(floor)), (4, pytest.approx(floor))] if smoothing else [])
    (loss,) = (panel for panel in panels_of({"r": curves}) if panel.title.startswith("loss"))
    floors = [series.dashed for series in loss.series if series.name == "floor of the smoothed training loss"]
    assert floors == ([True] if smoothing else [])


EXTREME = [10**400, -(10**400), 1e308, -1e308, 5e-324, -5e-324, 1e-300, 1e29, 1e-29, 0, 1.0, math.nextafter(1.0, 2.0)]


@given(values=st.lists(st.sampled_from(EXTREME), min_size=1, max_size=5), steps=st.lists(st.sampled_from(EXTREME)))
def test_extreme_numbers_in_the_metrics_are_skipped_or_drawn(
    tmp_path: Path, values: list[float], steps: list[float]
) -> None:
    lines = [{"step": step, "kind": "training", "loss": value} for step, value in enumerate(values)]
    lines += [{"step": step, "kind": "training", "learning_rate": 2.0} for step in (*steps, 2**53 - 1)]
    (tmp_path / METRICS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    plot = plot_runs({"r": read_curves(Run(tmp_path))})
    assert len([*plot.lines(width=60)]) in (CHART_ROWS + 3, 2 * CHART_ROWS + 7)


def test_missing_measurements_are_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        read_curves(Run(tmp_path))
    assert str(raised.value) == f"{tmp_path}: nothing has been measured yet; train it with tmt train"
