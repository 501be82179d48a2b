import ctypes
import platform
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer_mt.ground.device import choose_device, choose_precision, compute_in
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.memory import free_memory, require, return_freed

CPU = torch.device("cpu")


@pytest.mark.parametrize(("cuda", "expected"), [(True, "cuda"), (False, "cpu")])
def test_auto_takes_cuda_but_never_mps(monkeypatch: pytest.MonkeyPatch, cuda: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr("transformer_mt.ground.device._exists", lambda name: True)
    assert choose_device("auto").type == expected
    assert choose_device("mps").type == "mps"


@pytest.mark.parametrize(
    ("name", "local_rank", "expected"),
    [
        ("auto", None, "cuda"),
        ("auto", 0, "cuda:0"),
        ("auto", 3, "cuda:3"),
        ("cuda", 2, "cuda:2"),
        ("cpu", 2, "cpu"),
    ],
)
def test_each_process_takes_the_gpu_of_its_local_rank(
    monkeypatch: pytest.MonkeyPatch, name: str, local_rank: int | None, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("transformer_mt.ground.device._exists", lambda name: True)
    assert choose_device(name, local_rank=local_rank) == torch.device(expected)


def test_several_processes_cannot_share_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cuda:1", "mps"):
        with pytest.raises(InputError, match=f"^device: {name} is not for several processes; use auto, cpu or"):
            choose_device(name, local_rank=0)
    with pytest.raises(MachineError, match=r"^device: .*'cuda:99'.*; start no more processes than there"):
        choose_device("cuda", local_rank=99)


@pytest.mark.parametrize("name", ["cuda:99", "nonsense", "meta"])
def test_a_missing_device_is_an_error(name: str) -> None:
    assert choose_device("cpu") == CPU
    with pytest.raises(MachineError, match=f"^device: this machine has no '{name}'; use auto or cpu$"):
        choose_device(name)


@pytest.mark.parametrize("fast", [False, True])
def test_auto_precision_follows_the_processor(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": fast})
    assert choose_precision("auto", CPU) == (torch.bfloat16 if fast else torch.float32)
    assert choose_precision("float32", CPU) == torch.float32
    assert choose_precision("bfloat16", CPU) == torch.bfloat16


def test_products_use_the_chosen_precision() -> None:
    x = torch.ones(2, 3)
    for precision in (torch.float32, torch.bfloat16):
        with compute_in(precision, CPU):
            assert (x @ x.T).dtype == precision
    assert (x @ x.T).dtype == torch.float32


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((6, 1), torch.float32),
        ((7, 5), torch.float32),
        ((8, 0), torch.bfloat16),
        ((8, 9), torch.bfloat16),
        ((12, 0), torch.bfloat16),
    ],
)
def test_auto_precision_on_cuda_follows_the_matrix_units(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_, **__: True)  # torch's answer even if emulated
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    assert choose_precision("auto", torch.device("cuda")) == expected
    assert choose_precision("auto", torch.device("mps")) == torch.float32


def test_too_large_a_request_is_an_error() -> None:
    require(1_000, free_memory, what="model", remedy="lower it")
    with pytest.raises(InputError) as caught:
        require(10**15, free_memory, what="model", remedy="lower it")
    expected = r"model: needs 1000000\.0 GB of memory, \d+\.\d GB are free; lower it"
    assert re.fullmatch(expected, str(caught.value))


def test_compares_with_the_free_memory_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: "MemTotal: 3000 kB\nMemAvailable:       2000 kB\n")
    require(2_048_000, free_memory, what="model", remedy="lower it")
    with pytest.raises(InputError):
        require(2_048_001, free_memory, what="model", remedy="lower it")


def test_small_requests_do_not_query_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: pytest.fail("asks"))
    require(2**20, free_memory, what="model", remedy="lower it")


def test_unknown_free_memory_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: "MemTotal: 3 kB\n")
    require(10**15, free_memory, what="model", remedy="lower it")

    def missing(self: Path) -> str:
        raise FileNotFoundError(self)

    monkeypatch.setattr(Path, "read_text", missing)
    require(10**15, free_memory, what="model", remedy="lower it")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_memory_returns_to_the_system() -> None:
    def resident() -> int:
        return 1024 * int(re.findall(r"RssAnon:\s*(\d+) kB", Path("/proc/self/status").read_text())[0])

    blocks = [np.ones(8_000) for _ in range(2_000)]  # small enough for the heap, where blocks in use hold free ones
    kept = blocks[::100]
    before = resident()
    del blocks
    return_freed()
    assert resident() < before - 64_000 * 1_500
    assert len(kept) == 20


def test_another_c_library_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    return_freed()
