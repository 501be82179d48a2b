"""The measured side of a contest: waits for turns and answers with measurements.

Needs only the standard library, so that it runs next to any other program.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# Minimum duration of a turn of translations.
SECONDS = 0.5


class Host:
    """Reads turns from stdin, one JSON object of arguments per line, and writes only answers to stdout."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # the program's own output goes to stderr

    def turns(self) -> Iterator[dict[str, Any]]:
        """The arguments of each turn."""
        return map(json.loads, iter(sys.stdin.readline, ""))

    def answer(self, **measured: Any) -> None:
        """Send the measurement of the turn."""
        print(json.dumps(measured), file=self._answers, flush=True)


def timed(translate: Callable[[], list[str]]) -> dict[str, Any]:
    """The texts and the seconds to translate them: the mean over enough repetitions to fill `SECONDS`."""
    times, start = 1, time.perf_counter()
    texts = translate()
    while (seconds := time.perf_counter() - start) < SECONDS:
        times, texts = times + 1, translate()
    return {"seconds": seconds / times, "texts": texts}


def serve(turn: Callable[..., dict[str, Any]]) -> None:
    """Serve turns until there are no more."""
    host = Host()
    for arguments in host.turns():
        host.answer(**turn(**arguments))
