from dataclasses import asdict, replace
from pathlib import Path

from transformer_mt.config.sections import TrainingConfig
from transformer_mt.runs.directory import METRICS, Run
from transformer_mt.training.reports import MetricsLog, StepReport, Validation, ValidationReport

VALIDATION = Validation(1.5, 20.0, 30.0, (("ein\u2028Haus", "a house", "a\x85mouse"),))


def step(number: int, *, loss: float, tokens: int) -> StepReport:
    return StepReport(number, 2, loss, 0.1 * number, 1.0, tokens, 0.5)


def test_clock_may_measure_zero_seconds(tmp_path: Path) -> None:
    log = MetricsLog(Run(tmp_path), TrainingConfig(), every=1, is_main=True)
    window = log.step(replace(step(1, loss=2.0, tokens=30), seconds=0.0))
    assert window is not None
    assert window.tokens_per_second > 30


def test_log_has_windows_and_validations_in_order(tmp_path: Path) -> None:
    run = Run(tmp_path)
    log = MetricsLog(run, TrainingConfig(), every=2, is_main=True)
    windows = [log.step(step(1, loss=2.0, tokens=30)), log.step(step(2, loss=6.0, tokens=10))]
    log.validation(ValidationReport(2, 2, VALIDATION, True, 0, 0.25))
    windows.append(log.step(step(3, loss=1.0, tokens=10)))
    speeds = [window and (window.loss, window.tokens_per_second) for window in windows]
    assert speeds == [None, (3.0, 40.0), None]
    assert (tmp_path / METRICS).stat().st_mode & 0o111 == 0
    training, validated = run.metrics()
    assert training == {"kind": "training", **asdict(windows[1])}
    assert validated == {
        "step": 2,
        "kind": "validation",
        "epoch": 2,
        "loss": 1.5,
        "bleu": 20.0,
        "chrf": 30.0,
        "best": True,
        "seconds": 0.25,
        "samples": [{"source": "ein\u2028Haus", "reference": "a house", "translation": "a\x85mouse"}],
    }
    run.forget_metrics_after(2)
    assert [*run.metrics()] == [training, validated]
