"""A tiny trained run, served."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import tmt as tmt
from support.serving import Served, serving
from support.workplace import train_run

# Enough to learn the few pairs in three seconds.
SIZES = {
    "model__width": "32",
    "model__decoder_layers": "2",
    "schedule__warmup": "30",
    "schedule__learning_rate": "0.01",
    "training__steps": "150",
    "training__validate_every": "50",
    "training__checkpoint_every": "50",
}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/one`, trained on `data`; read-only."""
    return train_run(tmp_path_factory.mktemp("serve"), **SIZES)


@pytest.fixture(scope="session")
def served(home: Path) -> Iterator[Served]:
    with serving(home / "runs") as served:
        yield served


@pytest.fixture
def own_runs(home: Path, tmp_path: Path) -> Path:
    """A copy of the folder of runs that a test may change."""
    return Path(shutil.copytree(home / "runs", tmp_path / "runs"))
