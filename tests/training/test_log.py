from pathlib import Path

import pytest

from transformer_mt.runs.directory import Run
from transformer_mt.training.log import MetricsLog, summarise
from transformer_mt.training.reports import FinishReport, StepReport, Validation, ValidationReport


def step(number: int, *, loss: float, tokens: int) -> StepReport:
    return StepReport(number, 2, loss, 0.1 * number, 1.0, tokens, 0.5)


def test_a_window_is_the_mean_over_tokens() -> None:
    window = summarise([step(3, loss=2.0, tokens=30), step(4, loss=6.0, tokens=10)])
    assert (window.step, window.epoch, window.rate) == (4, 2, 0.4)
    assert window.loss == pytest.approx(3.0)
    assert window.tokens_per_second == pytest.approx(40)


def test_log_holds_windows_and_validations_in_order(tmp_path: Path) -> None:
    run = Run(tmp_path)
    log = MetricsLog(run, every=2)
    validation = Validation(1.5, 20.0, 30.0, (("ein\u2028Haus", "a house", "a\x85mouse"),))
    written = [
        log.write(report)
        for report in (
            step(1, loss=2.0, tokens=10),
            step(2, loss=4.0, tokens=10),
            ValidationReport(2, 2, validation, True, 0, 0.25),
            step(3, loss=1.0, tokens=10),
            FinishReport(3, "all steps are done", 2, -1.5),
        )
    ]
    assert [window and window.loss for window in written] == [None, 3.0, None, None, None]
    training, validated = run.metrics()
    assert training == {
        "step": 2,
        "kind": "training",
        "epoch": 2,
        "loss": 3.0,
        "rate": 0.2,
        "tokens_per_second": 20.0,
    }
    assert (validated["step"], validated["kind"], validated["loss"], validated["best"]) == (2, "validation", 1.5, True)
    assert validated["samples"] == [{"source": "ein\u2028Haus", "reference": "a house", "translation": "a\x85mouse"}]
    run.forget_metrics_after(2)
    assert run.metrics() == [training, validated]
