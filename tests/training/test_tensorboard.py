import importlib.util
import sys
from collections import defaultdict
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.processes import OneOf
from support.small_training import opened

from transformer_mt.distributed import SingleProcess
from transformer_mt.errors import MachineError
from transformer_mt.runs.directory import TENSORBOARD, Run
from transformer_mt.training.log import MetricsLog
from transformer_mt.training.session import TrainingSession
from transformer_mt.training.tensorboard import TensorBoard

ASKED = "training.tensorboard=true"
OVERRIDES = (ASKED, "training.steps=8", "training.log_every=2")
INSTALLED = importlib.util.find_spec("tensorboard") is not None
installed = pytest.mark.skipif(not INSTALLED, reason="needs the extra tensorboard")


def shown(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads, by tag: the step and the value of each point."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run / TENSORBOARD)).Reload()
    return {tag: [(point.step, point.value) for point in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def measured(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The same from the metrics."""
    points = defaultdict(list)
    for line in Run(run).metrics():
        for name, value in line.items():
            if isinstance(value, float):
                points[f"{line['kind']}/{name}"].append((line["step"], pytest.approx(value, rel=1e-6)))
    return dict(points)


def train_until(session: TrainingSession, step: int) -> None:
    """Train as a process that is killed after a step: nothing is closed in order."""
    reports = session.train()
    next(report for report in reports if report.step == step)
    reports.close()  # type: ignore[attr-defined]


@installed
def test_tensorboard_shows_what_the_metrics_say(tmp_path: Path) -> None:
    list(opened(tmp_path, *OVERRIDES).train())
    assert shown(tmp_path) == measured(tmp_path)
    assert {"training/loss", "training/learning_rate", "validation/bleu"} <= shown(tmp_path).keys()


@installed
def test_after_a_resumption_every_point_is_shown_once(tmp_path: Path) -> None:
    train_until(opened(tmp_path, *OVERRIDES), 7)  # the last checkpoint is that of step 6
    assert shown(tmp_path)["training/loss"][-1][0] == 6
    train_until(opened(tmp_path, *OVERRIDES), 8)
    list(opened(tmp_path, *OVERRIDES).train())
    assert len(list((tmp_path / TENSORBOARD).iterdir())) == 3
    assert [step for step, _ in shown(tmp_path)["training/loss"]] == [2, 4, 6, 8]
    assert shown(tmp_path) == measured(tmp_path)


def test_without_the_package_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MachineError) as caught:
        opened(tmp_path / "run", ASKED)
    assert str(caught.value) == (
        "training.tensorboard: the package tensorboard is not installed; install it with: pip install "
        "'transformer_mt[tensorboard]'"
    )
    assert not (tmp_path / "run").exists()


class FakeEvent(SimpleNamespace):
    """An event that is written as its own text."""

    def SerializeToString(self) -> bytes:  # noqa: N802
        return f"{vars(self)}\n".encode()


class FakeWriter:
    """Writes bytes to a file as they are."""

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush


class FakeSummary(SimpleNamespace):
    """A list of values."""

    Value = SimpleNamespace


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few names of the package that are used, without the package."""
    modules = {
        "tensorboard.compat.proto.event_pb2": {"Event": FakeEvent, "SessionLog": FakeSession},
        "tensorboard.compat.proto.summary_pb2": {"Summary": FakeSummary},
        "tensorboard.summary.writer.record_writer": {"RecordWriter": FakeWriter},
    }
    for name, contents in modules.items():
        parts = name.split(".")
        for count in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:count]), ModuleType(parts[0]))
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["tensorboard"].__spec__ = ModuleSpec("tensorboard", None)


class FakeSession(SimpleNamespace):
    """A mark in the file."""

    START = "start"


def written(run: Path) -> list[str]:
    (file,) = (run / TENSORBOARD).iterdir()
    return file.read_text().splitlines()


@pytest.mark.usefixtures("fake")
def test_a_file_begins_by_taking_back_what_comes_after_the_step(tmp_path: Path) -> None:
    writer = TensorBoard(tmp_path / TENSORBOARD, after=6)
    writer.add(8, {"kind": "training", "epoch": 3, "loss": 0.5, "best": True, "samples": []})
    writer.close()
    version, start, point = written(tmp_path)
    assert "'file_version': 'brain.Event:2'" in version
    assert "'step': 7" in start
    assert "'start'" in start
    assert "training/loss" in point
    assert "0.5" in point
    assert not {"epoch", "best", "samples"} & set(point.replace("'", "/").split("/"))
    writer.close()


@pytest.mark.usefixtures("fake")
def test_only_the_first_process_writes(tmp_path: Path) -> None:
    log = MetricsLog(Run(tmp_path), every=1, processes=OneOf(2, 1), tensorboard=True)
    with log.training_from(0):
        assert not (tmp_path / TENSORBOARD).exists()
    with MetricsLog(Run(tmp_path), every=1, processes=SingleProcess(), tensorboard=False).training_from(0):
        assert not (tmp_path / TENSORBOARD).exists()


@pytest.mark.usefixtures("fake")
def test_training_writes_it_and_overwriting_deletes_it(tmp_path: Path) -> None:
    list(opened(tmp_path, *OVERRIDES).train())
    assert sum("training/loss" in line for line in written(tmp_path)) == 4
    before = written(tmp_path)
    opened(tmp_path, *OVERRIDES, overwrite=True)
    assert before
    assert not (tmp_path / TENSORBOARD).exists()


@pytest.mark.usefixtures("fake")
def test_a_link_in_the_directorys_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / TENSORBOARD).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MachineError, match="a symbolic link, where a directory is expected"):
        TensorBoard(tmp_path / TENSORBOARD, after=0)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.usefixtures("fake")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    writer = TensorBoard(tmp_path / TENSORBOARD, after=0)
    with open("/dev/full", "wb") as full:
        writer._records = FakeWriter(full)
        with pytest.raises(MachineError, match=r"tensorboard: cannot be written \(No space left on device\)"):
            writer.add(1, {"kind": "training", "loss": 1.0})
        full.raw.close()
    writer.close()
