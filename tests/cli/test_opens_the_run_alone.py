"""Inspecting a run opens no other files, whatever its configuration names, and makes no connections."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import present
from support.forked import start, tmt

SYSTEM = ("/dev", "/etc", "/proc", "/sys", sys.prefix, sys.base_prefix)
LOST = ("alignment.json", "doubt.json", "metrics.jsonl", "words.tsv", "data.json")
CONNECTING = {"socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "os.system"}


def watched(command: Callable[[], int], opened: Path) -> Callable[[], int]:
    """Make the command log opened files and connections to a file."""
    descriptor = os.open(opened, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            os.write(descriptor, os.fsencode(os.path.realpath(arguments[0])) + b"\n")
        elif event in CONNECTING:
            os.write(descriptor, f"{event} {arguments}\n".encode())

    def run() -> int:
        sys.addaudithook(hook)
        return command()

    return run


@pytest.mark.parametrize("lost", [(), pytest.param(LOST, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        *((command, 0) for command in present("attend", "attend --method erasure", "explain", "lens")),
        *((command, 0) for command in present("align", "translate Ja.", "runs", "plot")),
        *((command, 2) for command in present("evaluate", "heads")),
    ],
)
def test_opens_only_the_run(command: str, code: int, lost: tuple[str, ...], own_run: Path) -> None:
    for name in lost:
        (own_run / name).unlink()
    name, *options = command.split()
    run = {"runs": ["."], "plot": [str(own_run)]}.get(name, ["--model", str(own_run)])
    opened = Path("opened")
    with open(os.devnull, "wb") as null:
        child = start(watched(tmt(name, *run, *options), opened), out=null.fileno(), err=null.fileno())
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert lost or ended == code
    paths = opened.read_text().splitlines()
    own, package = str(own_run.resolve()), str(Path(sys.modules["transformer_mt"].__file__ or "").parent)
    others = [path for path in paths if not (path.startswith((own, package, *SYSTEM)) or "__editable__" in path)]
    assert paths or lost
    assert others == []
