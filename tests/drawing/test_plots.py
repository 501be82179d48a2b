"""The pictures of training: which curves stand in which panel, under which name."""

import numpy as np

from transformer_mt.drawing.plots import plot_runs
from transformer_mt.runs.curves import CURVES, Curves

ONE = Curves("one", ((1, 5.0), (2, 4.0)), ((2, 4.5),), ((1, 0.1), (2, 0.2)), ((2, 7.0),))
OTHER = Curves("other", ((1, 6.0),), ((1, 6.5),), ((1, 0.3),), ())


def test_of_a_single_run_curves_have_no_name_but_what_they_are() -> None:
    panels = plot_runs([ONE]).panels
    assert [panel.title for panel in panels] == ["loss, nats a target token", "learning rate", "BLEU on validation"]
    assert [[series.name for series in panel.series] for panel in panels] == [["training", "validation"], [""], [""]]
    assert [series.points for panel in panels for series in panel.series] == [
        ONE.training_loss, ONE.validation_loss, ONE.learning_rate, ONE.bleu,
    ]  # fmt: skip


def test_of_several_runs_the_curves_of_each_stand_together_in_its_colour() -> None:
    loss, rate, bleu = plot_runs([ONE, OTHER]).panels
    assert [(series.name, series.group, series.dashed) for series in loss.series] == [
        ("one training", 0, True),
        ("one validation", 0, False),
        ("other training", 1, True),
        ("other validation", 1, False),
    ]
    assert [series.name for series in rate.series] == ["one", "other"]
    assert [series.name for series in bleu.series] == ["one"]  # the other has not been measured


def test_what_no_run_has_measured_has_no_panel() -> None:
    assert [panel.title for panel in plot_runs([OTHER]).panels] == ["loss, nats a target token", "learning rate"]


def test_arrays_have_every_curve_of_every_run_as_pairs() -> None:
    arrays = plot_runs([ONE, OTHER]).arrays()
    assert arrays["runs"].tolist() == ["one", "other"]
    for number, run in enumerate((ONE, OTHER)):
        for curve in CURVES:
            assert arrays[f"{number}.{curve}"].shape[1] == 2
            np.testing.assert_array_equal(arrays[f"{number}.{curve}"], np.reshape(getattr(run, curve), (-1, 2)))
