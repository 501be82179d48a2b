"""Peak memory of training and translation, each in its own process; needs Linux."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

from benchmarks.contest import Contestant, Spread, markdown, ratio
from benchmarks.reference import Sizes, describe, reference_batches
from benchmarks.training import PLAIN, our_training, save
from benchmarks.translation import Task, ctranslate2, ours
from transformer_mt.ground.device import choose_device, choose_precision
from transformer_mt.ground.errors import MachineError

# Seconds between two samples of a process.
INTERVAL = 0.01


@dataclass
class Peak:
    """The peak memory of a process so far, in MB: anonymous, and resident including mapped files."""

    anonymous: float = 0.0
    resident: float = 0.0


def memory_table(sizes: Sizes, task: Task, folder: Path, *, rounds: int = 3, steps: int = 8) -> str:
    """Measure training and translation, ours and others', and return Markdown; writes files to the folder."""
    if not Path("/proc/self/status").exists():
        raise MachineError("memory", "this system has no /proc", "measure on Linux")
    saved = save(list(islice(reference_batches(sizes), steps)), folder / "batches.pt")
    settings, device = json.dumps(asdict(sizes)), choose_device("auto")
    auto = str(choose_precision("auto", device)).removeprefix("torch.")
    training: dict[str, Callable[[], Contestant]] = {
        f"training, ours, {name}": partial(our_training, "ours", settings, name)
        for name in dict.fromkeys((auto, "float32"))
    }
    plain = f"training, {PLAIN}, float32"
    training[plain] = partial(Contestant, PLAIN, "plain_training", settings, saved, device.type, "everywhere")
    search = {"beam": 4, "batch": 64, "every": 1, "longest": task.longest}
    translating: dict[str, Callable[[], Contestant]] = {"translation, ours": partial(ours, task)}
    other = "translation, CTranslate2"
    if starts := ctranslate2(task, folder, ["float32"]):
        translating[other] = starts["float32"]
    peaks: dict[str, list[Peak]] = {name: [] for name in (*training, *translating)}
    for _ in range(rounds):
        for name, start in training.items():
            peaks[name].append(peak(start, [{}] * steps))
        for name, start in translating.items():
            peaks[name].append(peak(start, [search | ({"shortest": task.shortest} if name == other else {})]))
    base = {name: plain if name in training else other for name in peaks}
    rows = [row(name, found, peaks.get(base[name])) for name, found in peaks.items()]
    head = ["most memory", "anonymous, MB", "ratio", "resident, MB", "ratio"]
    return "\n\n".join((f"{describe()}; {said(sizes, task, steps=steps, rounds=rounds)}", markdown(head, rows)))


def row(name: str, found: Sequence[Peak], base: Sequence[Peak] | None) -> list[str]:
    """The medians, and their ratios to the base."""
    cells = [name]
    for kind in ("anonymous", "resident"):
        values = [getattr(one, kind) for one in found]
        others = [getattr(one, kind) for one in base or ()]
        cells += [Spread.of(values).shown(0), ratio(values, others).shown(2) if others and others != values else ""]
    return cells


def said(sizes: Sizes, task: Task, *, steps: int, rounds: int) -> str:
    """A description of the measurements."""
    return (
        f"training: {steps} steps, {sizes.words}; translation: {task.description}, beam 4, batches of 64; whole "
        f"processes, looked at every {1000 * INTERVAL:.0f} ms; median (quartiles) of {rounds} processes each; ratios "
        f"to {PLAIN} and to CTranslate2"
    )


def peak(start: Callable[[], Contestant], turns: Sequence[dict[str, Any]]) -> Peak:
    """The peak memory of a program for these turns, after which it is killed."""
    with start() as contestant, watched(contestant.process.pid) as found:
        for arguments in turns:
            contestant.turn(**arguments)
    return found


@contextmanager
def watched(process: int) -> Iterator[Peak]:
    """The memory of a process, sampled inside the block."""
    found, over = Peak(), Event()
    status = Path(f"/proc/{process}/status")

    def look() -> None:
        text = status.read_text()
        found.anonymous = max(found.anonymous, megabytes("RssAnon", text))
        found.resident = max(found.resident, megabytes("VmHWM", text))

    def keep_looking() -> None:
        while not over.wait(INTERVAL):
            look()

    thread = Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield found
        look()
    finally:
        over.set()
        thread.join()


def megabytes(name: str, status: str) -> float:
    """A number of /proc/PID/status; 0 once the process has ended."""
    found = re.search(rf"^{name}:\s+(\d+) kB", status, flags=re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0
