"""Data-parallel training, seen from one process: sums, exchanges, gradients.

`torchrun` starts the processes and puts rank and world size in the environment.
"""

import multiprocessing
import os
import re
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.pool import ThreadPool
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from typing_extensions import override

from transformer_mt.ground.errors import MachineError, TmtError

T = TypeVar("T")

# Timeouts for a lost process: within a step or a validation, and while it loads, encodes or writes for all.
TIMEOUT = timedelta(minutes=15)
LONG_TIMEOUT = timedelta(hours=24)
# Timeout for the rendezvous. Processes start together, but one may take long to load torch. torch tries twice.
MEETING = timedelta(seconds=30)

_REMEDY = "start all processes together with torchrun, or unset WORLD_SIZE to train with one"

# Messages of gloo, NCCL and torch's store about a dead or silent process. They share no exception class.
_LOST = re.compile(r"gloo|NCCL|[Cc]onnection (closed|reset|refused)|Broken pipe|[Tt]imed out|ProcessGroup|TCPStore")


class Distributed:
    """Process `rank` of `world_size`, number `local_rank` on this machine. This base class is a single process.

    Methods are collective: every process calls them in the same order. With one process, each is the identity.
    """

    rank = 0
    world_size = 1
    local_rank = 0
    # Whether an exception may interrupt the current work: true while the others wait only for its outcome.
    can_interrupt = True

    @property
    def is_main(self) -> bool:
        """True in the process that writes files and messages."""
        return self.rank == 0

    def all_reduce(self, value: Tensor) -> Tensor:
        """Return the sum of all processes' tensors to every process, on its device."""
        return value

    def all_gather(self, make: Callable[[], T]) -> list[T]:
        """Return every process's value, by rank. A `TmtError` or an interrupt in one process is raised in all."""
        return [make()]

    def broadcast_from_main(self, make: Callable[[], T]) -> T:
        """Return the main process's value, or raise its `TmtError`, in all. The others wait up to `LONG_TIMEOUT`."""
        return make()

    def main_first(self, make: Callable[[], T]) -> T:
        """Call `make` in the first process of each machine, then in the others, so that they find its caches filled."""
        return make()

    def wrap(self, model: nn.Module) -> nn.Module:
        """Wrap the model for training: gradients are summed over all processes."""
        return model


class ProcessGroup(Distributed):
    """Processes joined by `torch.distributed`: gloo for main memory, NCCL for Nvidia's GPUs."""

    def __init__(self, local_rank: int) -> None:
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.local_rank = local_rank
        self.can_interrupt = False
        # torch's stubs differ between versions about the type of a group.
        self._group: Any = dist.new_group(backend="gloo", timeout=TIMEOUT)
        self._patient_group: Any = dist.new_group(backend="gloo", timeout=LONG_TIMEOUT)

    @override
    def all_reduce(self, value: Tensor) -> Tensor:
        total = value.detach().clone()
        dist.all_reduce(total)
        return total

    @override
    def all_gather(self, make: Callable[[], T], group: Any = None) -> list[T]:
        value = None
        error = None
        try:
            self.can_interrupt = True
            value = make()
            self.can_interrupt = False
        except BaseException as problem:
            self.can_interrupt = False
            if isinstance(problem, Exception) and not isinstance(problem, TmtError):
                raise  # a bug in this process; the others notice when it ends
            error = problem
        outcomes: list[Any] = [None] * self.world_size
        dist.all_gather_object(outcomes, (value, error), group=group or self._group)
        for _, other_error in outcomes:
            if other_error is not None:
                raise error or other_error
        return [outcome for outcome, _ in outcomes]

    @override
    def broadcast_from_main(self, make: Callable[[], T]) -> T:
        value = [self._make_where(self.is_main, make)]
        dist.broadcast_object_list(value, group=self._patient_group)
        return value[0]

    @override
    def main_first(self, make: Callable[[], T]) -> T:
        first = self._make_where(self.local_rank == 0, make)
        later = self._make_where(self.local_rank != 0, make)
        return first if self.local_rank == 0 else later

    @override
    def wrap(self, model: nn.Module) -> nn.Module:
        device = next(model.parameters()).device
        gpus = [device] if device.type == "cuda" else None
        # torch 2.13 deprecates `device_ids`; 2.11 knows nothing else.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            wrapped = DistributedDataParallel(model, gpus, broadcast_buffers=False, gradient_as_bucket_view=True)
        wrapped.register_comm_hook(None, _sum_gradients)
        return wrapped

    def _make_where(self, is_here: bool, make: Callable[[], T]) -> Any:
        """Return the value where `is_here` is true, else None, once all these processes have made theirs."""
        made: list[T] = []
        self.all_gather(lambda: made.append(make()) if is_here else None, self._patient_group)
        return made[0] if is_here else None


def _sum_gradients(_: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:  # type: ignore[name-defined]
    """Sum gradients instead of DDP's mean: each process's gradient is already its share of the mean over all tokens."""
    summed = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return summed.then(lambda done: done.value()[0])


@contextmanager
def join_processes() -> Iterator[Distributed]:
    """Join the processes that `torchrun` started, or run as a single process without `torchrun`.

    Raises `MachineError` if they cannot meet, and inside the block if another process is lost.
    """
    world_size = _from_environment("WORLD_SIZE", range(1, 10**6), "1")
    if world_size == 1:
        yield Distributed()
        return
    rank = _from_environment("RANK", range(world_size))
    local_rank = _from_environment("LOCAL_RANK", range(world_size), "0")
    host = os.environ.get("MASTER_ADDR", "")
    port = _from_environment("MASTER_PORT", range(1, 2**16))
    try:
        with ThreadPool(1) as thread:  # torch waits forever if another program owns the port
            thread.apply_async(_meet, (host, port, rank, world_size)).get(3 * MEETING.total_seconds())
    except (multiprocessing.TimeoutError, OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0][:200] or "no answer"
        raise MachineError("MASTER_ADDR", f"not all processes met at {host}:{port} ({reason})", _REMEDY) from None
    try:
        yield ProcessGroup(local_rank)
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        reason = str(error).strip().splitlines()[0][:200]
        raise MachineError("processes", f"the connection to another was lost ({reason})", "start them again") from None
    dist.destroy_process_group()


def _meet(host: str, port: int, rank: int, world_size: int) -> None:
    """Join the other processes. On a single machine, listen only on the loopback address."""
    serves, fd = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True", None  # else torchrun serves
    if host in ("localhost", "127.0.0.1", "::1"):
        loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
        os.environ.setdefault("NCCL_SOCKET_IFNAME", loopback)
        if serves:
            fd = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).detach()
    store = dist.TCPStore(host, port, world_size, serves, MEETING, master_listen_fd=fd)  # type: ignore[attr-defined]
    store.set_timeout(TIMEOUT)
    # gloo even with GPUs, so that exchanging plain numbers never waits for one.
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=TIMEOUT)


def _from_environment(variable: str, numbers: range, default: str = "") -> int:
    text = os.environ.get(variable) or default
    if not (re.fullmatch(r"[0-9]{1,9}", text) and int(text) in numbers):
        raise MachineError(variable, f"{text[:40]!r} is not a number from {numbers[0]} to {numbers[-1]}", _REMEDY)
    return int(text)
