"""The disk fails at each operation of a start and of a save: tmt prints one line and loses no earlier data."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.failing_disk import Crash, FailingDisk, failing
from support.small_training import opened

from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.lock import release
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.session import TrainingSession

pytestmark = pytest.mark.slow

OVERRIDES = ("training.steps=6", "training.validate_every=3", "training.checkpoint_every=2")
KINDS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT", "EMFILE")
MOST_OPERATIONS = 400


def refused(kind: str) -> Callable[[str], OSError]:
    number = getattr(errno, kind)
    return lambda path: OSError(number, os.strerror(number), path)


def crashed(path: str) -> Crash:
    return Crash(path)


def until_step(session: TrainingSession, step: int) -> None:
    """Train without the session's final work, as if the process were killed."""
    for report in session.trainer.train():
        if report.step == step:
            return


def start(path: Path) -> TrainingSession:
    return opened(path, *OVERRIDES)


def end_of(path: Path) -> dict[str, torch.Tensor]:
    """The final weights of a resumed training."""
    session = start(path)
    list(session.train())
    return weights_of(session.trainer.model)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    return end_of(tmp_path_factory.mktemp("whole") / "run")


def assert_continues(path: Path, uninterrupted: dict[str, torch.Tensor]) -> None:
    weights = end_of(path)
    assert all(torch.equal(weights[name], tensor) for name, tensor in uninterrupted.items())


def operations(action: Callable[[], object], directory: Path) -> int:
    """The number of disk operations of an action that succeeds."""
    with failing(FailingDisk(directory, fails=0, fault=crashed)) as disk:
        action()
    assert 3 < disk.count < MOST_OPERATIONS
    return disk.count


def test_failed_start_can_be_repeated(tmp_path: Path, uninterrupted: dict[str, torch.Tensor]) -> None:
    count = operations(lambda: start(tmp_path / "counted"), tmp_path / "counted")
    for number in range(1, count + 1):
        path = tmp_path / f"run-{number}"
        fault = crashed if number % 2 else refused(KINDS[number % len(KINDS)])
        with (
            failing(FailingDisk(path, fails=number, fault=fault)),
            pytest.raises((Crash, MachineError)) as caught,
        ):
            start(path)
        release(path)  # as process exit would
        assert "\n" not in str(caught.value)
        again = start(path)
        assert again.trainer.progress.step == 0
        release(path)
    assert_continues(tmp_path / "run-1", uninterrupted)
    assert_continues(tmp_path / f"run-{count}", uninterrupted)


def test_failed_save_loses_nothing(tmp_path: Path, uninterrupted: dict[str, torch.Tensor]) -> None:
    """The checkpoint of step 4 replaces older ones."""
    before, whole = tmp_path / "before", tmp_path / "counted"
    until_step(start(before), 4)
    release(before)
    shutil.copytree(before, whole)
    counted = start(whole)
    until_step(counted, 4)
    count = operations(counted.trainer.save, whole)
    release(whole)
    for case in range(2 * count):  # a crash and a refusal at every operation
        path, number = tmp_path / f"run-{case}", 1 + case // 2
        fault = crashed if case % 2 else refused(KINDS[number % len(KINDS)])
        shutil.copytree(before, path)
        session = start(path)
        until_step(session, 4)
        with failing(FailingDisk(path, fails=number, fault=fault)), pytest.raises((Crash, MachineError)) as caught:
            session.trainer.save()
        release(path)
        assert "\n" not in str(caught.value)
        again = start(path)
        assert again.trainer.progress.step in (2, 3, 4)
        release(path)
    assert_continues(path, uninterrupted)
