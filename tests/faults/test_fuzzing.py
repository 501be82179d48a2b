"""A small size of what `scripts/fuzz.py` does at night: hostile files of every kind break no command's promise."""

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


def test_no_hostile_file_does_more_than_end_a_command_with_one_line() -> None:
    """In a process of its own, whose threads are known: cases are children of it."""
    command = [sys.executable, str(SCRIPT), "--cases", "100", "--seed", "1524"]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ended.stdout.endswith("100 cases, 0 broke the contract\n"), ended.stdout + ended.stderr
    assert ended.returncode == 0
    kinds = re.findall(r"^\| ([a-z][^|]*) \| \d+ \|", ended.stdout, re.MULTILINE)
    assert len(kinds) > 9
    assert set(kinds) <= set(KINDS)
