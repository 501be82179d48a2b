"""Closed standard streams and broken pipes: one line and a documented exit code for every command."""

import io
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from transformer_mt.cli.terminal import literal_console, progress_bar, result

CLOSED = "tmt: error: standard output: is closed; redirect it to a file or /dev/null\n"


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_rich_does_not_exit_on_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Broken())
    monkeypatch.setattr("sys.stderr", Broken())
    for line in ("plain", Text("styled")):
        with pytest.raises(BrokenPipeError):
            result(line)
    console = literal_console(stderr=True)
    with pytest.raises(BrokenPipeError), progress_bar(console, shown=True):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["--help", "config", "translate --model {}/run a"])
def test_closed_streams(arguments: str, home: Path, tmp_path: Path) -> None:
    for closed in itertools.product(("", " <&-"), ("", " >&-"), ("", " 2>&-")):
        command = f"{sys.executable} -m transformer_mt {arguments.format(home)}{''.join(closed)}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == (3 if closed[1] else 0), closed
        assert done.stderr.endswith(CLOSED) == (closed[1] != "" and not closed[2]), closed
        assert bool(done.stdout) == (not closed[1]), closed
    assert list(tmp_path.iterdir()) == []
