"""The single compute thread: turning heads off changes the model itself, so requests must not run concurrently."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from starlette.types import Receive

from transformer_mt.extensions.serve.guard import Refusal
from transformer_mt.ground.progress import shown_by, working
from transformer_mt.models.seq2seq import Seq2Seq

Result = TypeVar("Result")

# Limits: requests waiting for the thread, and seconds of computing per request.
WAITING = 16
LONGEST_SECONDS = 30.0


class Gone(Refusal):
    """The client has disconnected; nobody receives this response."""

    def __init__(self) -> None:
        super().__init__(499, "the request: the client has disconnected")


@dataclass(eq=False)
class _Job:
    """A waiting or running request: its deadline, and whether its answer is still wanted."""

    deadline: float = inf
    wanted: bool = True


class Worker:
    """Runs one function at a time, in the order of requests; skips those whose client has left.

    `under_way` is the number of waiting and running requests.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compute")
        self.under_way = 0
        self._current = _Job()

    def stop_on_steps_of(self, model: Seq2Seq) -> None:
        """Make the model check for cancellation at its output layer, so a search stops at its next step.

        Other work stops where it calls `advance`.
        """
        model.output.register_forward_pre_hook(self._check)

    def wait_for(self, compute: Callable[[], Result]) -> Result:
        """Run a function before the server takes requests; return its result."""
        return self._thread.submit(self._compute, _Job(), compute).result()

    async def run(self, compute: Callable[[], Result], receive: Receive) -> Result:
        """Run a function and return its result; `receive` belongs to a request whose body has been read.

        Raises `Refusal` if too many requests wait, on timeout, and if the client disconnects, and errors of the
        function.
        """
        if self.under_way > WAITING:
            message = f"the server: {WAITING} requests are waiting; try again in a second"
            raise Refusal(503, message, {"Retry-After": "1"})
        self.under_way += 1
        job = _Job()
        computing = self._thread.submit(self._compute, job, compute)
        done = asyncio.wrap_future(computing)
        gone = asyncio.ensure_future(receive())
        try:
            while not done.done():
                if gone.done():
                    raise Gone
                if (left := job.deadline - time.monotonic()) <= 0.0:
                    raise Refusal(504, f"the request: took over {LONGEST_SECONDS:g} seconds to compute; ask for less")
                await asyncio.wait(
                    (done, gone), timeout=min(left, LONGEST_SECONDS), return_when=asyncio.FIRST_COMPLETED
                )
            return done.result()
        finally:
            job.wanted = False
            self.under_way -= 1
            gone.cancel()
            done.cancel()  # skipped if it has not started

    def _compute(self, job: _Job, compute: Callable[[], Result]) -> Result:
        job.deadline = time.monotonic() + LONGEST_SECONDS
        self._current = job
        with shown_by(lambda *_: nullcontext(self._check)), working(""):
            return compute()

    def _check(self, *_: Any) -> None:
        if not self._current.wanted:
            raise Gone
