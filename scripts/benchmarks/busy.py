"""Training and translation beside busy processes and without them, each with OpenMP's own waiting and with `tmt`'s."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial

from benchmarks.contest import Contestant, Spread, in_turn, markdown, ratio, tmt_environment
from benchmarks.reference import Sizes, describe
from benchmarks.translation import Task
from transformer_mt.cli.main import WAITS

BUSY = 2
STEPS = 3  # of training, in a turn
OWN, OURS = "OpenMP's default", "as tmt sets it"
LOADS = {"quiet": 0, f"beside {BUSY} busy processes": BUSY}


def busy_table(sizes: Sizes, task: Task, *, rounds: int = 5) -> str:
    """Measure both jobs in turn with both ways of waiting, and return Markdown."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for _ in range(rounds):  # restarts all, since identical processes differ
        with ExitStack() as stack:
            turns = {
                (job, load, waiting): partial(under, load, turn)
                for waiting, variables in environments().items()
                for job, turn in jobs(sizes, task, variables, stack).items()
                for load in LOADS
            }
            for key, [speed] in zip(turns, in_turn(list(turns.values()), rounds=1), strict=True):
                found.setdefault(key, []).append(speed)
    rows = []
    for job, load in dict.fromkeys((job, load) for job, load, _ in found):
        own, ours = (found[job, load, waiting] for waiting in (OWN, OURS))
        rows.append([f"{job}, {load}", Spread.of(own).shown(0), Spread.of(ours).shown(0), ratio(ours, own).shown(2)])
    said = f"training: {sizes.words}; translation: {task.description}, greedy, batches of 64"
    text = f"{describe()}; {said}; median (quartiles) of {rounds} rounds"
    return "\n\n".join((text, markdown(["job", OWN, OURS, "ratio"], rows)))


def environments() -> dict[str, Mapping[str, str]]:
    """The environment variables for each way of waiting."""
    ours = tmt_environment()
    return {OWN: {name: value for name, value in ours.items() if name not in WAITS}, OURS: ours}


def jobs(sizes: Sizes, task: Task, variables: Mapping[str, str], stack: ExitStack) -> dict[str, Callable[[], float]]:
    """Start training and translation; a function for each that measures its speed per second."""
    settings = json.dumps(asdict(sizes))
    trains = stack.enter_context(Contestant("training", "our_training", settings, "auto", variables=variables))
    place = ("our_translation", task.run.path, task.path, "auto", "torch")
    translates = stack.enter_context(Contestant("translation", *place, variables=variables))

    def tokens() -> float:
        steps = [trains.turn() for _ in range(STEPS)]
        return sum(step["tokens"] for step in steps) / sum(step["seconds"] for step in steps)

    def sentences() -> float:
        turn = translates.turn(beam=1, batch=64, every=1, longest=task.longest)
        return len(turn["texts"]) / turn["seconds"]

    return {"training, tokens/s": tokens, "translation, sentences/s": sentences}


def under(load: str, turn: Callable[[], float]) -> float:
    """Measure a turn under a load."""
    with busy_processes(LOADS[load]):
        return turn()


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that compute without end, each on one processor, inside the block."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
