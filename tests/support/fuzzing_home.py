"""The small trained run and the corpus whose copies are damaged."""

import contextlib
import io
import os
from pathlib import Path

import torch

from support.command_line import settings, write_corpus
from support.fuzzing import READERS
from transformer_mt.cli.main import run


def make_home(home: Path) -> tuple[str, ...]:
    """Train a run on a few pairs; returns the options with which training goes on."""
    torch.set_num_threads(1)
    options = tuple(settings(training__steps="8", training__checkpoint_every="2"))
    home.mkdir()
    (home / "outside").write_text("not ours")
    before = Path.cwd()
    os.chdir(home)
    try:
        write_corpus(Path("data"))
        shorter = settings(training__checkpoint_every="2")
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            assert run(["train", "--data", "data", "--run-dir", "run", *shorter]) == 0
            for command in READERS:
                assert run([*command]) == 0  # so that children find everything imported
    finally:
        os.chdir(before)
    return options


def memory_of_reading() -> int:
    """The address space of this process, which has done what the children do: bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
