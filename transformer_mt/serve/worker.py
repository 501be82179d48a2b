"""The one thread that computes. Heads are switched off on the model itself, so two requests at once would mix."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from starlette.types import Receive

from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.progress import shown_by, working
from transformer_mt.serve.guard import Refusal

Result = TypeVar("Result")

# Requests that wait for the thread, and seconds that one may compute.
WAITING, LONGEST_SECONDS = 16, 30.0


class Gone(Refusal):
    """Nobody waits for the answer any more, and nobody gets this one."""

    def __init__(self) -> None:
        super().__init__(499, "the request: nobody waits for the answer")


@dataclass(eq=False)
class _Job:
    """A request while it waits and computes: when it must be done, and whether its answer is still wanted."""

    deadline: float = inf
    wanted: bool = True


class Worker:
    """Runs one function at a time, in the order of the requests; whoever leaves is passed over.

    `under_way` counts the requests that wait or compute.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compute")
        self.under_way = 0
        self._current = _Job()

    def stop_on_steps_of(self, model: Seq2Seq) -> None:
        """Have the model stop where each step of a search ends, at its output layer, once nobody wants the answer.

        Work without a model stops where it calls `advance`.
        """
        model.output.register_forward_pre_hook(self._check)

    def wait_for(self, compute: Callable[[], Result]) -> Result:
        """The result of a function, before there are any requests."""
        return self._thread.submit(self._compute, _Job(), compute).result()

    async def run(self, compute: Callable[[], Result], receive: Receive) -> Result:
        """The result of a function. `receive` is that of a request whose body has been read.

        Raises `Refusal` where too many wait, where it takes too long, and where the client has left; and whatever the
        function does.
        """
        if self.under_way > WAITING:
            message = f"the server: {WAITING} others wait already; ask again in a second"
            raise Refusal(503, message, {"Retry-After": "1"})
        self.under_way += 1
        job = _Job()
        computing = self._thread.submit(self._compute, job, compute)
        done, gone = asyncio.wrap_future(computing), asyncio.ensure_future(receive())
        try:
            while not done.done():
                if gone.done():
                    raise Gone
                if (left := job.deadline - time.monotonic()) <= 0.0:
                    raise Refusal(504, f"the request: more than {LONGEST_SECONDS:g} seconds of computing; ask for less")
                await asyncio.wait(
                    (done, gone), timeout=min(left, LONGEST_SECONDS), return_when=asyncio.FIRST_COMPLETED
                )
            return done.result()
        finally:
            job.wanted = False
            self.under_way -= 1
            gone.cancel()
            done.cancel()  # passed over if it has not begun

    def _compute(self, job: _Job, compute: Callable[[], Result]) -> Result:
        job.deadline = time.monotonic() + LONGEST_SECONDS
        self._current = job
        with shown_by(lambda *_: nullcontext(self._check)), working(""):
            return compute()

    def _check(self, *_: Any) -> None:
        if not self._current.wanted:
            raise Gone
