"""The page and the configurations are package data of the wheel."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
START = "import transformer_mt as package; print(package.__file__); from transformer_mt.cli.main import main; main()"

SIZES = ("model.width=32", "model.feed_forward_width=32", "tokenizer.vocabulary_size=300", "training.device=cpu")
# A user's own score; the arguments are the data and the sizes.
OWN_SCORE = """
import sys
from transformer_mt import Corpus, Translator, load_config, open_training
from transformer_mt.attention.scores import SCORES, ScaledDot

class Bounded(ScaledDot):
    def forward(self, queries, keys):
        return 4 * super().forward(queries, keys).tanh()

SCORES["bounded"] = Bounded
changes = [*sys.argv[2:], "model.attention.score=bounded", "training.steps=3"]
session = open_training(load_config("laboratory/rotary", changes), "runs/own", Corpus.from_file(sys.argv[1]))
print(*(type(report).__name__ for report in session.train()))
[[best]] = Translator.load("runs/own").translate(["Der Hund schläft."])
print(repr(best.text))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed from its wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("transformer_mt", "configs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, source)
    # Uses the build requirements of pyproject.toml; fetches them if the installed ones are older.
    own = ["--no-build-isolation"] if int(version("setuptools").partition(".")[0]) >= 77 else []
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", *own, "--wheel-dir", folder, source], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


def test_page_starts_from_an_installed_wheel(chromium: "Browser", installed: Path, home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, "serve", str(home / "runs"), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        try:
            assert Path(process.stdout.readline().strip()).is_relative_to(installed)
            with LoadedPage.opened(chromium, process.stdout.readline().strip()) as opened:
                expect(opened.find("#translation .below .word").first).to_be_visible()
        finally:
            process.kill()


def test_installed_wheel_writes_a_saved_page(chromium: "Browser", installed: Path, home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, "page", "page.html", "--model", str(home / "runs/one")]
    environment = os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert Path(done.stdout.partition("\n")[0]).is_relative_to(installed)
    with LoadedPage.opened(chromium, (tmp_path / "page.html").as_uri()) as opened:
        expect(opened.find(".matrix")).to_be_visible()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [(("lesson",), " 1  Why one vector is not enough"), (("translate", "Guten Tag!"), "Good afternoon!")],
)
def test_installed_wheel_has_the_course_and_the_ready_model(
    arguments: tuple[str, ...], line: str, installed: Path, tmp_path: Path
) -> None:
    command, environment = [sys.executable, "-c", START, *arguments], os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert line in done.stdout.splitlines()


def test_installed_wheel_trains_with_a_named_configuration_and_plugin(
    installed: Path, home: Path, tmp_path: Path
) -> None:
    data, environment = str(home / "data"), os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}

    def python(*arguments: str) -> list[str]:
        command = [sys.executable, "-c", *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    options = [part for size in (*SIZES, "training.steps=20") for part in ("--set", size)]
    place, trained = python(START, "train", "multi30k", "--data", data, *options)
    assert Path(place).is_relative_to(installed)
    assert trained.startswith("runs/multi30k: validation loss ")
    assert len(python(START, "translate", "--quiet", "Der Hund schläft.")) == 2
    assert "width = 256" in python(START, "config", "multi30k")
    reports, translation = python(OWN_SCORE, data, *SIZES)
    assert reports.split().count("StepReport") == 3
    assert translation
    assert 'score = "bounded"' in (tmp_path / "runs/own/config.toml").read_text("utf-8")
