"""The page and the configurations are package data of the wheel; an old build leaves nothing in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
# Runs code with arguments, and returns the lines that it prints.
Python = Callable[..., list[str]]
START = "import transformer_mt as package; print(package.__file__); from transformer_mt.cli.main import main; main()"

SIZES = ("model.width=32", "model.feed_forward_width=32", "tokenizer.vocabulary_size=300", "training.device=cpu")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed from its wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("transformer_mt", "configs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, source)
    (source / "build/lib/transformer_mt").mkdir(parents=True)
    (source / "build/lib/transformer_mt/deleted.py").touch()
    # Uses the build requirements of pyproject.toml; fetches them if the installed ones are older.
    own = ["--no-build-isolation"] if int(version("setuptools").partition(".")[0]) >= 77 else []
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", *own, "--wheel-dir", folder, source], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


@pytest.fixture
def python(installed: Path, tmp_path: Path) -> Python:
    """Run Python code with arguments and the installed package; the lines that it prints."""

    def python(code: str, *arguments: str) -> list[str]:
        environment = os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    return python


def test_installed_wheel_has_all_files(python: Python, installed: Path, home: Path, tmp_path: Path) -> None:
    place, *_ = python(START, "page", "page.html", "--model", str(home / "runs/one"))
    assert Path(place).is_relative_to(installed)
    assert not (Path(place).parent / "deleted.py").exists()
    assert (tmp_path / "page.html").stat().st_size > 100_000
    assert " 1  The whole machine" in python(START, "lesson")
    assert "Good afternoon!" in python(START, "translate", "Guten Tag!")


def test_installed_wheel_trains_with_a_named_configuration(python: Python, home: Path) -> None:
    data, options = str(home / "data"), [part for size in (*SIZES, "training.steps=20") for part in ("--set", size)]
    _, trained = python(START, "train", "multi30k", "--data", data, *options)
    assert trained.startswith("runs/multi30k: validation loss ")
    assert len(python(START, "translate", "--quiet", "Der Hund schläft.")) == 2
    assert "width = 256" in python(START, "config", "multi30k")
    assert 'position = "rotary"' in python(START, "config", "laboratory/rotary")
