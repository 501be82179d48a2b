"""The benchmark of the page prints its table."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[4] / "scripts/benchmark.py"


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_every_action_is_measured(home: Path) -> None:
    command = [sys.executable, str(SCRIPT), "page", "--model", "runs/one", "--sentences", "2"]
    printed = subprocess.run(command, cwd=home, capture_output=True, check=True, text=True).stdout
    rows = re.findall(r"^\| (.+?) +\| +(\d+) +\| +(\d+) +\| +\d+ \|$", printed, re.MULTILINE)
    assert [name.split()[0] for name, *_ in rows] == ["tmt", "opening,", "typing", "typing", "choosing", "switching"]
    assert all(int(median) <= int(high) for _, median, high in rows)
