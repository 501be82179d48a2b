"""The benchmark of the page finds a browser and prints its table."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.page import NAMES, browser_path

SCRIPT = Path(__file__).parents[4] / "scripts/benchmark.py"


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_every_action_is_measured(home: Path) -> None:
    command = [sys.executable, str(SCRIPT), "page", "--model", "runs/one", "--sentences", "2"]
    printed = subprocess.run(command, cwd=home, capture_output=True, check=True, text=True).stdout
    rows = re.findall(r"^\| (.+?) +\| +(\d+) +\| +(\d+) +\| +(\d+) \|$", printed, re.MULTILINE)
    assert [(name.split()[0], times) for name, *_, times in rows] == [
        ("tmt", "3"), ("opening,", "3"), ("typing", "2"), ("typing", "2"), ("choosing", "2"), ("switching", "2"),
    ]  # fmt: skip
    assert all(int(median) <= int(high) for _, median, high, _ in rows)


def test_browser_is_the_given_one_or_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMT_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser_path() is None
    program = tmp_path / NAMES[-1]
    program.touch(mode=0o755)
    assert browser_path() == str(program)
    monkeypatch.setenv("TMT_CHROMIUM", "/opt/mine")
    assert browser_path() == "/opt/mine"
