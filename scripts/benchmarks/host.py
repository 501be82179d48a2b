"""The measured end of a contest: waits for its turn, and answers what it has measured.

Needs nothing but Python, so that it runs beside any other program.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# The least duration of a turn of translations.
SECONDS = 0.5


class Host:
    """Turns come as lines of stdin, each an object of arguments; answers go to stdout, and nothing else does."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what the program itself prints is no answer

    def turns(self) -> Iterator[dict[str, Any]]:
        """The arguments of one turn after another."""
        return map(json.loads, iter(sys.stdin.readline, ""))

    def answer(self, **measured: Any) -> None:
        """The measurement of the turn."""
        print(json.dumps(measured), file=self._answers, flush=True)


def timed(translate: Callable[[], list[str]]) -> dict[str, Any]:
    """The texts, and the seconds that translating them takes: the mean over as many times as fill `SECONDS`."""
    times, start = 1, time.perf_counter()
    texts = translate()
    while (seconds := time.perf_counter() - start) < SECONDS:
        times, texts = times + 1, translate()
    return {"seconds": seconds / times, "texts": texts}


def serve(turn: Callable[..., dict[str, Any]]) -> None:
    """Take turns until there are no more."""
    host = Host()
    for arguments in host.turns():
        host.answer(**turn(**arguments))
