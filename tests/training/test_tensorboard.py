import importlib.util
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from support.small_training import opened, train

from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.directory import TENSORBOARD, Run

ASKED = "training.tensorboard=true"
OVERRIDES = (ASKED, "training.steps=8", "training.log_every=2")
INSTALLED = importlib.util.find_spec("tensorboard") is not None
installed = pytest.mark.skipif(not INSTALLED, reason="needs the extra tensorboard")


def shown(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The step and value of each point, by tag, as TensorBoard reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run / TENSORBOARD)).Reload()
    return {tag: [(point.step, point.value) for point in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def measured(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The same points from the metrics."""
    points = defaultdict(list)
    for line in Run(run).metrics():
        for name, value in line.items():
            if isinstance(value, float):
                points[f"{line['kind']}/{name}"].append((line["step"], pytest.approx(value, rel=1e-6)))
    return dict(points)


@pytest.mark.slow
@installed
def test_tensorboard_matches_the_metrics_after_resuming(tmp_path: Path) -> None:
    train(opened(tmp_path, *OVERRIDES), until=7)  # the last checkpoint is at step 6
    assert shown(tmp_path)["training/loss"][-1][0] == 6
    train(opened(tmp_path, *OVERRIDES), until=8)
    list(opened(tmp_path, *OVERRIDES).train())
    assert len(list((tmp_path / TENSORBOARD).iterdir())) == 3
    assert [step for step, _ in shown(tmp_path)["training/loss"]] == [2, 4, 6, 8]
    assert shown(tmp_path) == measured(tmp_path)
    assert {"training/loss", "training/learning_rate", "validation/bleu"} <= shown(tmp_path).keys()


def test_missing_package_is_an_error_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MachineError) as caught:
        opened(tmp_path / "run", ASKED)
    assert str(caught.value) == (
        "training.tensorboard: the package is not installed; install it with: pip install 'transformer_mt[tensorboard]'"
    )
    assert not (tmp_path / "run").exists()


@installed
def test_linked_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    opened(tmp_path / "run", *OVERRIDES)
    (tmp_path / "run" / TENSORBOARD).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MachineError, match="not a directory"):
        list(opened(tmp_path / "run", *OVERRIDES).train())
    assert not list((tmp_path / "elsewhere").iterdir())
