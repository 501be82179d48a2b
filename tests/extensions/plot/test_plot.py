import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sentences import small_tokenizer
from support.tiny import write_run

from transformer_mt.extensions.plot.plot import (
    CHART_ROWS,
    CURVES,
    FLOOR,
    Curves,
    Panel,
    Points,
    Series,
    chart_lines,
    heat_map_lines,
    plot_runs,
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


def test_chart_of_several_curves_at_its_narrowest() -> None:
    panel = Panel("title", (RISING, FALLING, Series("level", ((0, 3.0), (100, 3.0)))))
    assert [*chart_lines([panel], width=30)] == [
        "title",
        "10 │bbbb                            aaaa",
        "   │    bbbb                    aaaa",
        "   │        bbb              aaa",
        "   │           bbb        aaa",
        "   │              bbbbaaaa",
        " 5 │               aaabbb",
        "   │           aaaa      bbbb",
        "   │cccccccccccccccccccccccccccccccccccc",
        "   │    aaaa                    bbbb",
        " 0 │aaaa                            bbbb",
        "   └────────────────────────────────────",
        "    0                               step",
        "    a a run   b another   c level",
    ]
    one = [*chart_lines([Panel("t", (RISING,))], width=60)]
    assert max(map(len, one)) == 60
    assert one[-1].split() == ["0", "50", "step"]
    assert [*chart_lines([Panel("t", (RISING,))] * 2, width=60)] == [*one, "", *one]


def test_letters_repeat_after_26_curves() -> None:
    panel = Panel("t", tuple(Series(f"run{number}", RISING.points, number) for number in range(27)))
    assert {"a run0", "a run26"} <= {*re.findall(r"a run\d+", "\n".join(chart_lines([panel], width=60)))}


def test_axis_labels_never_touch() -> None:
    for right in (7, 99, 12_345, 1_234_567):
        for width in range(40, 100, 7):
            (*_, last) = chart_lines([Panel("", (Series("", ((0, 0.0), (right, 1.0))),))], width=width)
            values = [float(label.replace(",", "")) for label in last.split()[:-1]]
            assert values == sorted(values)
            assert values == pytest.approx(np.linspace(values[0], values[-1], len(values)))


def test_heat_map_shades_from_minus_one_to_one() -> None:
    lines = [*heat_map_lines(np.array([[-1.0, 0.0, 1.0], [1.0, 0.5, -0.5]]), title="t", width=60)]
    assert lines == ["t; blank -1, full 1", "0  ▒█", "1 █▓░"]
    assert [*heat_map_lines(np.ones((1, 99)), title="t", width=20)][1:] == ["0 " + "█" * 18]


def test_hostile_names_are_escaped() -> None:
    hostile = "<script>&\x1b[2J\u202e\x00\ufffe"
    panel = Panel(hostile, (Series(hostile, RISING.points), FALLING), hostile)
    assert not {"\x1b", "\u202e", "\x00"} & {*"".join(chart_lines([panel], width=60))}


def curves(*points: Points) -> Curves:
    return dict(zip(CURVES, points, strict=True))


ONE = curves(((1, 5.0), (2, 4.0)), ((2, 4.5),), ((1, 0.1), (2, 0.2)), ((2, 7.0),))
OTHER = curves(((1, 6.0),), ((1, 6.5),), ((1, 0.3),), ())


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
    loss, rate, bleu = panels_of({"one": ONE, "other": OTHER})
    assert [(series.name, series.group, series.dashed) for series in loss.series][1:3] == [
        ("one validation", 0, False),
        ("other training", 1, True),
    ]
    assert [series.name for series in (*rate.series, *bleu.series)] == ["one", "other", "one"]
    assert [panel.title for panel in panels_of({"other": OTHER})] == titles[:2]  # no panel without measurements


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
    training = [(2, 7.5), (4, 6.0)], [(4, 5.5)], [(2, 1e-4), (4, 2e-4)], [(4, 0.0)]
    assert found == {**curves(*training), FLOOR: []}  # without a configuration
    assert list(to_json(plot_runs({"r": found}).data)["runs"][0]) == ["run", *CURVES, FLOOR]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_floor_is_the_entropy_of_the_smoothed_targets(tmp_path: Path, smoothing: float) -> None:
    path, vocabulary = write_run(tmp_path / "run", f"objective.label_smoothing={smoothing}"), small_tokenizer().size
    (path / METRICS).write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    found = read_curves(Run(path))
    q = np.full(vocabulary, smoothing / vocabulary)
    q[0] += 1 - smoothing
    floor: Any = pytest.approx(-(q * np.log(q)).sum()) if smoothing else None
    assert found[FLOOR] == ([(2, floor), (4, floor)] if smoothing else [])
    names = [series.name for series in panels_of({"r": found})[0].series]
    assert names[2:] == ["floor of the smoothed training loss"] * bool(smoothing)


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
    with pytest.raises(InputError, match=f"^{tmp_path}: nothing has been measured yet; "):
        read_curves(Run(tmp_path))
