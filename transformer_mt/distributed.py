"""The processes that train one model together, seen from one of them: sums, exchanges, and gradients over all.

`torchrun` starts them, and says in the environment which is which.
"""

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from typing_extensions import override

from transformer_mt.errors import InputError, MachineError, TmtError

T = TypeVar("T")
Number = TypeVar("Number", int, float, Tensor)

# How long a step, or a share of a validation, may let the others wait before they take it for dead.
PATIENCE = timedelta(minutes=15)
# How long the others wait where the first loads, encodes or writes for all.
LONG_PATIENCE = timedelta(hours=24)

# What gloo, NCCL and torch's store say when another process has gone or does not answer; they have no common class.
_LOST = re.compile(r"gloo|NCCL|[Cc]onnection (closed|reset|refused)|Broken pipe|[Tt]imed out|ProcessGroup|TCPStore")


class Processes(ABC):
    """The processes that train one model together, seen from one of them: number `rank` of `count`, counted from 0.

    `local_rank` counts those of this machine. Every method is to be called by all of them, in the same order.
    """

    rank: int
    count: int
    local_rank: int

    # Whether this one may leave what it is doing by an exception: no other waits for it but to hear of just that.
    may_leave: bool = True

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes for all."""
        return self.rank == 0

    @abstractmethod
    def sum(self, value: Number) -> Number:
        """The sum of every process's value, the same in all of them. A tensor stays on its device."""

    @abstractmethod
    def gather(self, make: Callable[[], T]) -> list[T]:
        """What every process makes, by rank, in all of them.

        A `TmtError`, or an interruption, in the making of one is raised in all.
        """

    @abstractmethod
    def from_first(self, make: Callable[[], T]) -> T:
        """What the first process makes, in all of them; its `TmtError` too. The others wait, however long it takes."""

    @abstractmethod
    def first_before_others(self, make: Callable[[], T]) -> T:
        """What each process makes for itself, after the first of its machine, whose caches it then finds filled."""

    def join(self, model: nn.Module) -> nn.Module:
        """The model to train with: its gradients are the sums of every process's."""
        return model

    def apart(self, joined: nn.Module) -> AbstractContextManager[object]:
        """Here the gradients of a joined model wait: they are summed with those of a later backward pass."""
        del joined
        return nullcontext()


class SingleProcess(Processes):
    """There is no other: its own value is the sum."""

    rank, count, local_rank = 0, 1, 0

    @override
    def sum(self, value: Number) -> Number:
        return value

    @override
    def gather(self, make: Callable[[], T]) -> list[T]:
        return [make()]

    @override
    def from_first(self, make: Callable[[], T]) -> T:
        return make()

    @override
    def first_before_others(self, make: Callable[[], T]) -> T:
        return make()


class ProcessGroup(Processes):
    """Processes joined by `torch.distributed`: by gloo for what lies in main memory, by NCCL for Nvidia's GPUs."""

    def __init__(self, *, local_rank: int, patience: timedelta = PATIENCE) -> None:
        self.rank, self.count, self.local_rank = dist.get_rank(), dist.get_world_size(), local_rank
        self.may_leave = False
        self._group = dist.new_group(backend="gloo", timeout=patience)
        self._patient = dist.new_group(backend="gloo", timeout=LONG_PATIENCE)

    @override
    def sum(self, value: Number) -> Number:
        if isinstance(value, Tensor):
            total = value.detach().clone()
            dist.all_reduce(total)
            return total
        number = torch.tensor(value, dtype=torch.int64 if isinstance(value, int) else torch.float64)
        dist.all_reduce(number, group=self._group)
        return type(value)(number.item())

    @override
    def gather(self, make: Callable[[], T]) -> list[T]:
        return self._gather(make, self._group)

    @override
    def from_first(self, make: Callable[[], T]) -> T:
        made: list[Any] = [None]
        self._make_some(made, make, self.is_first)
        dist.broadcast_object_list(made, group=self._patient)
        return made[0]

    @override
    def first_before_others(self, make: Callable[[], T]) -> T:
        made: list[Any] = [None]
        self._make_some(made, make, self.local_rank == 0)
        self._make_some(made, make, self.local_rank != 0)
        return made[0]

    @override
    def join(self, model: nn.Module) -> nn.Module:
        device = next(model.parameters()).device
        with warnings.catch_warnings():
            # Torch 2.13 has begun to replace this argument, and 2.11 knows no other.
            warnings.simplefilter("ignore", FutureWarning)
            joined = DistributedDataParallel(
                model,
                device_ids=[device] if device.type == "cuda" else None,
                broadcast_buffers=False,
                gradient_as_bucket_view=True,
            )
        joined.register_comm_hook(None, _sum_gradients)
        return joined

    @override
    def apart(self, joined: nn.Module) -> AbstractContextManager[object]:
        assert isinstance(joined, DistributedDataParallel)
        return joined.no_sync()

    def _make_some(self, made: list[T], make: Callable[[], T], here: bool) -> None:
        """Have it made where `here` is true; return when it has been, in all of them."""

        def make_here() -> None:
            if here:
                made[0] = make()

        self._gather(make_here, self._patient)

    def _gather(self, make: Callable[[], T], group: Any) -> list[T]:
        made, error = None, None
        try:
            self.may_leave = True
            made = make()
            self.may_leave = False
        except BaseException as problem:
            self.may_leave = False
            if isinstance(problem, Exception) and not isinstance(problem, TmtError):
                raise  # a fault of this process, of which the others hear when it has ended
            error = problem
        found: list[Any] = [None] * self.count
        dist.all_gather_object(found, (made, error), group=group)
        for _, elsewhere in found:
            if elsewhere is not None:
                raise error or elsewhere
        return [value for value, _ in found]


def _sum_gradients(_: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:  # type: ignore[name-defined]
    """In place of DDP's mean: what is summed is each process's share of one mean over the tokens of all."""
    summed = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return summed.then(lambda done: done.value()[0])


@contextmanager
def launched_processes() -> Iterator[Processes]:
    """The processes that the launcher has started together with this one; only this one where there was no launcher.

    Inside, the loss of another process is a `MachineError`.
    """
    count = _number("WORLD_SIZE", 1)
    if count == 1:
        yield SingleProcess()
        return
    try:
        # Both where there are GPUs: numbers of the main memory then never wait for one.
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
        yield ProcessGroup(local_rank=_number("LOCAL_RANK", 0))
    except ValueError as error:
        if "environment variable" not in str(error):
            raise
        raise InputError(f"WORLD_SIZE: is {count}, but {error}; start the processes with torchrun") from None
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        reason = str(error).strip().splitlines()[0]
        raise MachineError(
            f"processes: the connection to another was lost ({reason:.200}); what was saved stays, and the same "
            "command continues"
        ) from None
    dist.destroy_process_group()


def _number(variable: str, default: int) -> int:
    """A number that the launcher left in the environment."""
    text = os.environ.get(variable, str(default))
    if not text.isdecimal():
        raise InputError(f"{variable}: {text!r} is no number; unset it, or start with torchrun")
    return int(text)
