"""Competing programs, measured in turn, A B C A B C …, and statistics of the results.

Alternating keeps a drift in machine speed from favouring one of them. Each runs in its own process, so that none pays
for another's memory, threads or settings.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from benchmarks import ENVIRONMENT
from transformer_mt.cli.main import set_library_options
from transformer_mt.ground.errors import MachineError

T = TypeVar("T")

SCRIPTS = Path(__file__).resolve().parents[1]
# OpenMP threads of other programs may spin for 0.2 s after their last work, on cores that the next program needs.
PAUSE = 0.3


class Contestant:
    """A program in its own process: a module of this package, with arguments, that serves turns."""

    def __init__(
        self,
        name: str,
        module: str,
        *arguments: object,
        python: str = sys.executable,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start it with these environment variables, by default `environment`'s."""
        self.name = name
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [python, "-m", f"benchmarks.{module}", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env=environment() if variables is None else variables,
        )

    def turn(self, **arguments: Any) -> dict[str, Any]:
        """Measure one turn. Raises `MachineError` if the program has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(json.dumps(arguments), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise MachineError(self.name, f"ended with {self.process.wait()}: {self._last_words()}")
        return json.loads(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self._errors.close()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def environment() -> dict[str, str]:
    """The environment at our start, plus the path of this package."""
    paths = filter(None, (str(SCRIPTS), ENVIRONMENT.get("PYTHONPATH")))
    return ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(paths)}


def tmt_environment() -> dict[str, str]:
    """The same with the options that `tmt` sets."""
    variables = environment()
    set_library_options(variables)
    return variables


def in_turn(turns: Sequence[Callable[[], T]], *, rounds: int, warmups: int = 1, pause: float = PAUSE) -> list[list[T]]:
    """The measurements of every round, as a list per contestant; warm-up rounds are dropped."""
    found: list[list[T]] = [[] for _ in turns]
    for number in range(warmups + rounds):
        for place, turn in enumerate(turns):
            time.sleep(pause)
            measured = turn()
            if number >= warmups:
                found[place].append(measured)
    return found


@dataclass(frozen=True)
class Spread:
    """The median of measurements with their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """The spread of one or more measurements."""
        low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(statistics.median(values), low, high)

    def shown(self, digits: int) -> str:
        """The numbers as text, such as `12.3 (11.9–12.8)`."""
        return f"{self.median:,.{digits}f} ({self.low:,.{digits}f}–{self.high:,.{digits}f})"


def ratio(dividends: Sequence[float], divisors: Sequence[float]) -> Spread:
    """The quotients, round by round."""
    return Spread.of([dividend / divisor for dividend, divisor in zip(dividends, divisors, strict=True)])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
