"""Cold start of `tmt translate`, compared with importing torch, its minimum without CTranslate2."""

import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial

from benchmarks.contest import Spread, environment, in_turn, markdown
from benchmarks.reference import describe
from benchmarks.translation import Task
from transformer_mt.ground.errors import MachineError

IMPORT = 'python -c "import torch"'


def start_table(task: Task, *, rounds: int = 9) -> str:
    """Measure cold processes in turn, and return Markdown."""
    sentence = sorted(task.sentences, key=len)[len(task.sentences) // 2]
    translate = ["-m", "transformer_mt", "translate", "--model", str(task.run.path), sentence]
    commands = {
        'python -c "pass"': ["-c", "pass"],
        IMPORT: ["-c", "import torch"],
        "tmt --help": ["-m", "transformer_mt", "--help"],
        'tmt translate "…"': translate,
    }
    if importlib.util.find_spec("ctranslate2"):
        commands['tmt translate --engine ctranslate2 "…"'] = [*translate, "--engine", "ctranslate2"]
    found = in_turn([partial(seconds, command) for command in commands.values()], rounds=rounds, pause=0.1)
    times = {name: [wall for wall, _ in own] for name, own in zip(commands, found, strict=True)}
    processor = {name: [spent for _, spent in own] for name, own in zip(commands, found, strict=True)}
    rows = []
    for name, own in times.items():
        beyond = [one - other for one, other in zip(own, times[IMPORT], strict=True)]
        cells = [Spread.of(beyond).shown(2) if name != IMPORT else "", Spread.of(processor[name]).shown(2)]
        rows.append([name, Spread.of(own).shown(2), *cells])
    head = ["from cold", "seconds", "beyond importing torch", "of processor time"]
    text = f"{describe()}; {len(sentence.split())} words; median (quartiles) of {rounds}"
    return "\n\n".join((text, markdown(head, rows)))


def seconds(arguments: Sequence[str]) -> tuple[float, float]:
    """The wall and processor seconds of Python with these arguments."""
    # Keep compiled modules, as an installed package does.
    compiled = {name: value for name, value in environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    start, before = time.perf_counter(), processor_time()
    process = subprocess.run([sys.executable, *arguments], capture_output=True, env=compiled, encoding="utf-8")
    elapsed = time.perf_counter() - start
    if process.returncode:
        last = process.stderr.strip().rpartition("\n")[2]
        raise MachineError(" ".join(arguments[:3]), f"ended with {process.returncode}: {last}")
    return elapsed, processor_time() - before


def processor_time() -> float:
    """Processor seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
