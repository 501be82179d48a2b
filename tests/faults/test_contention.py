"""A short run of `scripts/contention.py`: concurrent commands in one run directory lose and mix nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "contention.py"


def test_concurrent_commands_lose_and_mix_nothing() -> None:
    command = [sys.executable, str(SCRIPT), "--rounds", "3", "--seed", "50"]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ended.stdout.endswith("3 rounds, 0 with something lost or mixed\n"), ended.stdout + ended.stderr
    assert ended.returncode == 0
    read = re.search(r"states read: (\d+)", ended.stdout)
    assert read is not None
    assert int(read[1]) > 0
