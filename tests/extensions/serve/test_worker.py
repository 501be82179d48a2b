"""The compute thread: waiting, disconnecting, and timeouts."""

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.serving import Served, read_answer, serving, wait_until

from transformer_mt.extensions.serve import worker
from transformer_mt.extensions.serve.worker import WAITING
from transformer_mt.ground.progress import advance
from transformer_mt.models.transformer import Transformer

SENTENCE = {"run": "one", "source": "Der Hund schläft."}


class Slow:
    """Makes every step of the model wait, and counts the steps."""

    def __init__(self, patch: pytest.MonkeyPatch, seconds: float = 0.0) -> None:
        self.steps, self.seconds, self._go = 0, seconds, threading.Event()
        self._go.set()
        read = Transformer.read

        def slow(model: Transformer, *arguments: Any) -> Any:
            self.steps += 1
            self._go.wait(20)
            time.sleep(self.seconds)
            return read(model, *arguments)

        patch.setattr(Transformer, "read", slow)

    def stop(self) -> None:
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    slow = Slow(monkeypatch)
    yield slow
    slow.go_on()


def test_disconnecting_stops_a_view(served: Served, slow: Slow) -> None:
    asked = SENTENCE | {"target": "The dog sleeps.", "method": "erasure"}
    before = slow.steps
    assert served.ask("attend", **asked).status == 200
    assert slow.steps - before > 2
    slow.stop()
    before = slow.steps
    with closing(served.connect()) as connection:
        connection.sendall(served.written("POST", "/v1/attend", json.dumps(asked).encode()))
        wait_until(lambda: slow.steps == before + 1)
    wait_until(lambda: not served.server.worker.under_way)
    slow.go_on()
    served.get("/v1/runs")
    assert slow.steps - before == 1


def test_disconnected_waiting_request_is_skipped(served: Served, slow: Slow) -> None:
    assert served.ask("translate", **SENTENCE).status == 200
    needed, before = slow.steps, slow.steps
    slow.stop()
    request = served.written("POST", "/v1/translate", json.dumps(SENTENCE).encode())
    with closing(served.connect()) as first:
        first.sendall(request)
        wait_until(lambda: slow.steps == before + 1)
        for _ in range(WAITING):
            with closing(served.connect()) as other:
                other.sendall(request)
                wait_until(lambda: served.server.worker.under_way == 2)
            wait_until(lambda: served.server.worker.under_way == 1)
        slow.go_on()
        assert read_answer(first).status == 200
    served.get("/v1/runs")
    assert slow.steps - before == needed


def test_seventeenth_waiting_request_gets_503(served: Served, slow: Slow) -> None:
    slow.stop()
    before = slow.steps
    request = served.written("POST", "/v1/translate", json.dumps(SENTENCE).encode())
    connections = [served.connect() for _ in range(1 + WAITING)]
    try:
        connections[0].sendall(request)
        wait_until(lambda: slow.steps == before + 1)
        for connection in connections[1:]:
            connection.sendall(request)
        wait_until(lambda: served.server.worker.under_way == 1 + WAITING)
        refused = served.raw(request)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json == {"error": "the server: 16 requests are waiting; try again in a second"}
        assert served.get("/").status == 200
        slow.go_on()
        assert [read_answer(connection).status for connection in connections] == [200] * (1 + WAITING)
    finally:
        for connection in connections:
            connection.close()
    assert served.raw(request).status == 200


def test_long_computation_gets_504_and_stops(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(home / "runs") as served:
        slow = Slow(monkeypatch, seconds=0.1)
        monkeypatch.setattr(worker, "LONGEST_SECONDS", 0.25)
        answer = served.ask("translate", **SENTENCE)
        assert answer.status == 504
        assert answer.json == {"error": "the request: took over 0.25 seconds to compute; ask for less"}
        assert slow.steps <= 4  # of about ten
        monkeypatch.setattr(worker, "LONGEST_SECONDS", 20.0)
        assert served.ask("translate", **SENTENCE).status == 200


def test_concurrent_requests_do_not_mix(served: Served) -> None:
    short = SENTENCE | {"search": {"beam": 1, "max_length": 5}}
    asked = [short, short | {"without": ["cross.1.1"]}, short | {"without": ["encoder.1.1", "encoder.1.2"]}]
    expected = [served.ask("translate", **one).json for one in asked]
    assert len({one["log_probability"] for one in expected}) == 3

    def ask(number: int) -> tuple[int, bool]:
        answer = served.ask("translate", **asked[number % 3])
        return answer.status, answer.status == 503 or answer.json == expected[number % 3]

    with ThreadPoolExecutor(12) as pool:
        found = {*pool.map(ask, range(36))}
    assert (200, True) in found <= {(200, True), (503, True)}


def test_internal_error_is_one_line_and_a_report(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from transformer_mt.extensions.serve import routes

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    wrong = Mock(side_effect=ZeroDivisionError("secret"))
    with monkeypatch.context() as patch:
        patch.setattr(routes, "parse", wrong)
        answer = served.ask("translate", **SENTENCE)
    (report,) = tmp_path.glob("tmt-*.txt")
    assert answer.status == 500
    assert str(report) in answer.json["error"]
    assert "\n" not in answer.json["error"]
    assert "secret" not in answer.json["error"]
    assert "secret" in report.read_text()
    assert served.key not in report.read_text()
    with monkeypatch.context() as patch, suppress(ConnectionError):
        patch.setattr(routes, "_body", wrong)
        assert served.ask("translate", **SENTENCE).status == 500
    assert served.ask("translate", **SENTENCE).status == 200


def test_system_error_is_not_an_internal_error(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer_mt.extensions.serve import routes

    for problem, place in (
        (MemoryError(), "memory: "),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "memory: "),
        (PermissionError(13, "Permission denied", "runs"), "runs: "),
    ):  # fmt: skip
        monkeypatch.setattr(routes, "parse", Mock(side_effect=problem))
        answer = served.ask("translate", **SENTENCE)
        assert answer.status == 503
        assert answer.json["error"].startswith(place)


def test_disconnecting_stops_work_without_a_model(served: Served) -> None:
    begun, ended, end = threading.Event(), threading.Event(), time.monotonic() + 30

    def describe() -> None:
        begun.set()
        try:
            while time.monotonic() < end:
                advance(0)
        finally:
            ended.set()

    with pytest.MonkeyPatch.context() as patch, closing(served.connect()) as connection:
        patch.setattr(served.server._runs, "describe", describe)
        connection.sendall(served.written("GET", "/v1/runs"))
        assert begun.wait(10)
        assert not ended.is_set()
        connection.close()
        assert ended.wait(10)
    assert served.get("/v1/runs").status == 200


def test_long_pair_is_refused_first(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    never = Mock(side_effect=AssertionError("looked at"))
    monkeypatch.setattr("transformer_mt.tokenizer.prepared.words_of_places", never)
    monkeypatch.setattr("transformer_mt.extensions.serve.served_runs.Runs._open_checkpoint", never)
    for route in ("losses", "explain", "lens", "attend", "history"):
        for side in ("source", "target"):
            asked = {"source": "Ja.", "target": "Yes.", side: "der Hund " * 6_000}
            answer = served.ask(route, **asked, **({"checkpoint": 4} if route == "history" else {}))
            assert answer.status == 422
            assert re.match(rf"{side}: \d+ tokens, ", answer.json["error"])
