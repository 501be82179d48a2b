"""Timeouts for sending a request and reading a response, but not for computing."""

import asyncio
import errno
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.serving import Served, read_answer, serving, wait_until

from transformer_mt.extensions.serve import protocol, server
from transformer_mt.extensions.serve.served_runs import Runs

BODY = b'{"run": "one", "source": "Der Hund schlaft."}'
SECONDS = 0.3


@pytest.fixture
def hasty(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(protocol, "ARRIVAL_SECONDS", SECONDS)
    with serving(home / "runs") as served:
        yield served


@pytest.mark.parametrize("length", [0, 1, 30, -len(BODY) - 2, -len(BODY), -1])
def test_slow_request_times_out(length: int, hasty: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    request = hasty.written("POST", "/v1/translate", BODY)
    with closing(hasty.connect()) as connection:
        start = time.monotonic()
        connection.sendall(request[:length])
        assert read_answer(connection).status == 0
        assert SECONDS - 0.05 < time.monotonic() - start < 20 * SECONDS
    assert hasty.get("/v1/runs").status == 200
    assert list(tmp_path.iterdir()) == []  # no report: not an internal error


def test_trickling_request_times_out(hasty: Served) -> None:
    request = hasty.written("POST", "/v1/translate", BODY)
    with closing(hasty.connect()) as connection, pytest.raises(ConnectionError):  # noqa: PT012 - closed at some byte
        for byte in request:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)
        raise AssertionError("all of it arrived")


def test_unread_body_times_out(hasty: Served) -> None:
    with closing(hasty.connect()) as connection:
        connection.sendall(hasty.written("POST", "/v1/translate", BODY, Content_Length="60000", Authorization=None))
        assert read_answer(connection).status == 401
        assert read_answer(connection).status == 0


def test_each_request_on_a_connection_has_its_own_timeout(hasty: Served) -> None:
    request = hasty.written("POST", "/v1/translate", BODY)
    with closing(hasty.connect()) as connection:
        for _ in range(4):
            time.sleep(SECONDS / 2)
            connection.sendall(request)
            assert read_answer(connection).status == 200
        connection.sendall(request[:-1])
        assert read_answer(connection).status == 0


def test_timeout_does_not_apply_to_computing(hasty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Runs.open
    monkeypatch.setattr(Runs, "open", lambda *asked: (time.sleep(3 * SECONDS), opened(*asked))[1])
    assert hasty.request("POST", "/v1/translate", BODY).status == 200


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_unread_response_times_out(connection: str, hasty: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    large = [{"run": "x" * 20_000_000}]  # more than the system's buffers take
    monkeypatch.setattr(Runs, "describe", lambda self: large)
    with closing(hasty.connect()) as client:
        client.sendall(2 * hasty.written("GET", "/v1/runs", Connection=connection))
        waiting = hasty.server.loop.server_state.connections
        wait_until(lambda: any(one.transport.get_write_buffer_size() for one in waiting))
        wait_until(lambda: not waiting)
    monkeypatch.undo()
    assert hasty.get("/v1/runs").status == 200


def test_extra_connection_closes_the_longest_idle_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "most_connections", lambda: 5)
    with serving(home / "runs") as served, ExitStack() as stack:
        silent = [stack.enter_context(closing(served.connect())) for _ in range(5)]
        for oldest in silent[:2]:
            assert served.get("/").status == 200
            assert read_answer(oldest).status == 0
            silent.append(stack.enter_context(closing(served.connect())))
        for connection in silent[2:]:
            connection.sendall(served.written("GET", "/"))
            assert read_answer(connection).status == 200


def test_lack_of_descriptors_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    server._say_exhausted.cache_clear()
    loop = Mock(spec=asyncio.AbstractEventLoop)
    for number in (errno.EMFILE, errno.ENFILE):
        server._say_once(loop, {"exception": OSError(number, "Too many open files")})
    assert caplog.messages == [
        "tmt: the server: cannot accept connections for now (Too many open files); close some, or raise ulimit -n"
    ]
    server._say_once(loop, {})
    loop.default_exception_handler.assert_called_once()
