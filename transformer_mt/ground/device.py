"""Device and number format: where a model runs, and the precision of its matrix products."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.memory import free_memory
from transformer_mt.ground.registry import Table

DEVICES = ("cpu", "cuda", "mps")

PRECISIONS = Table("training.precision", {"float32": torch.float32, "bfloat16": torch.bfloat16})


def choose_device(name: str, *, local_rank: int | None = None, key: str = "device") -> torch.device:
    """Return the device of that name. `auto` picks CUDA, or else the CPU: nobody has tried Apple's MPS with it yet.

    With several processes per machine, pass `local_rank`: each process takes the GPU with that number. Raises
    `InputError` for a device that several processes cannot share, and `MachineError` if this machine lacks the device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
        if local_rank is None:
            return torch.device(name)
    if local_rank is not None and name not in ("cpu", "cuda"):
        raise InputError(key, f"{name} is not for several processes", "use auto, cpu or cuda")
    if local_rank is not None and name == "cuda":
        name = f"cuda:{local_rank}"
    if not _exists(name):
        remedy = "use auto or cpu" if local_rank is None else "start no more processes than there are GPUs, or use cpu"
        raise MachineError(key, f"this machine has no {name!r}", remedy)
    return torch.device(name)


def _exists(name: str) -> bool:
    if name.partition(":")[0] not in DEVICES:  # torch has more, such as `meta`, whose tensors hold no values
        return False
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError):  # which one depends on the device
        return False
    return True


def free_memory_of(device: torch.device) -> int | None:
    """Free bytes on the device, or None if the system does not say."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else free_memory()


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the number format of that name. `auto` picks bfloat16 where it is faster than float32.

    Nvidia since Ampere, AMD since Zen 4 and Intel with AMX have instructions for it; elsewhere it is emulated. Raises
    `InputError` for an unknown name.
    """
    if name != "auto":
        return PRECISIONS.find(name)
    if device.type == "cuda":
        fast = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        fast = device.type == "cpu" and torch.cpu.get_capabilities().get("avx512_bf16", False)
    return torch.bfloat16 if fast else torch.float32


def compute_in(precision: torch.dtype, device: torch.device) -> AbstractContextManager[object]:
    """A context that computes matrix products in `precision`. Weights and sums stay in float32."""
    if precision == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=precision)


def as_computed(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Convert tensors to the number format of the surrounding `compute_in`."""
    kind = tensors[0].device.type
    if kind not in DEVICES or not torch.is_autocast_enabled(kind):
        return tensors
    return tuple(tensor.to(torch.get_autocast_dtype(kind)) for tensor in tensors)


def describe_machine(device: torch.device, *, processes: int) -> str:
    """Build, processor, threads and processes. Bit-exact training depends on these and the configuration."""
    processor = torch.backends.cpu.get_cpu_capability()
    if device.type == "cuda":
        processor = torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"torch {torch.__version__}, {device.type} {processor}, threads: {threads}, processes: {processes}"


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The states of torch's default generators that training on this device uses."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Restore generator states from `random_states`."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    if "mps" in states and device.type == "mps":
        torch.mps.set_rng_state(states["mps"])
