import os
import socket
from datetime import timedelta

import pytest
from support.processes import OneOf

from transformer_mt.ground import distributed
from transformer_mt.ground.distributed import Distributed, join_processes
from transformer_mt.ground.errors import MachineError

# As `torchrun` sets them. No process listens on this port.
ENVIRONMENT = {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):  # registers them for cleanup
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(distributed, "MEETING", timedelta(seconds=0.3))
    return monkeypatch


def problem() -> str:
    with pytest.raises(MachineError) as caught, join_processes():
        pass
    message = str(caught.value)
    assert message.endswith("; start all processes together with torchrun, or unset WORLD_SIZE to train with one")
    return message


def test_only_the_main_process_writes() -> None:
    assert Distributed().is_main
    assert [OneOf(3, rank).is_main for rank in range(3)] == [True, False, False]


@pytest.mark.parametrize("size", [None, "", "1"])
def test_ignores_the_rank_of_a_single_process(size: str | None, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("RANK", "nonsense")
    environment.delenv("WORLD_SIZE") if size is None else environment.setenv("WORLD_SIZE", size)
    with join_processes() as alone:
        assert (alone.rank, alone.world_size) == (0, 1)


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        *[("WORLD_SIZE", value, "1 to 999999") for value in ("0", "-2", "x", "²", "٢", "1e1", "9" * 30, "9" * 5000)],
        *[("RANK", value, "0 to 1") for value in ("", "x", "-1", "2", "\x1b[31m")],
        *[("LOCAL_RANK", value, "0 to 1") for value in ("x", "2")],
        *[("MASTER_PORT", value, "1 to 65535") for value in ("", "x", "0", "65536")],
    ],
)
def test_an_invalid_variable_is_an_error(
    variable: str, value: str, wanted: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv(variable, value)
    assert problem().startswith(f"{variable}: {value[:40]!r} is not a number from {wanted}; ")


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "no.such.host.invalid", ""])
def test_waits_only_briefly_for_missing_processes(host: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MASTER_ADDR", host)
    assert problem().startswith(f"MASTER_ADDR: not all processes met at {host}:1 (")
    for library in ("GLOO", "NCCL"):  # restricted to the loopback interface only for a loopback host
        assert os.environ.get(f"{library}_SOCKET_IFNAME", "").startswith("lo") == (host in ("127.0.0.1", "localhost"))


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "reason"), [("0", "Address already in use"), ("1", "no answer")])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", socket.gethostname()])
def test_another_program_on_the_port_is_an_error(
    host: str, rank: str, reason: str, environment: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("", 0)) as other:
        environment.setenv("RANK", rank)
        environment.setenv("MASTER_ADDR", host)
        environment.setenv("MASTER_PORT", str(other.getsockname()[1]))
        assert reason.lower() in problem().lower()
