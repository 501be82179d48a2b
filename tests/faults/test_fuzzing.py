"""A short run of `scripts/fuzz.py`: no hostile file of any kind breaks the contract of a command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from robustness.fuzzing import BLESSED, CHECKPOINT_FILES, RUN_FILES

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz.py"
OTHERS = ("another kind of file", "cache", "python call", "corpus", "lines to translate", "configuration")
KINDS = (
    *RUN_FILES,
    *(f"{name} with right sums" for name in BLESSED),
    *(f"checkpoint {name}" for name in CHECKPOINT_FILES),
    *OTHERS,
)


def test_hostile_files_end_commands_with_one_line() -> None:
    """Uses its own process, because cases are forked and need a parent without other threads."""
    command = [sys.executable, str(SCRIPT), "--cases", "100", "--seed", "1524"]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ended.stdout.endswith("100 cases, 0 broke the contract\n"), ended.stdout + ended.stderr
    assert ended.returncode == 0
    kinds = re.findall(r"^\| ([a-z][^|]*) \| \d+ \|", ended.stdout, re.MULTILINE)
    assert len(kinds) > 9
    assert set(kinds) <= set(KINDS)
