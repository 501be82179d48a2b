"""A server of runs in a thread, queried over real sockets."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from transformer_mt.extensions.serve.server import PageServer, listen
from transformer_mt.runs.listing import list_runs


@dataclass(frozen=True)
class Answer:
    """The first response on a connection; status 0 if the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A running server."""

    server: PageServer

    @property
    def port(self) -> int:
        return int(self.server.address.partition("/#")[0].rpartition(":")[2])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return self.server.address.partition("#key=")[2]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def raw(self, request: bytes) -> Answer:
        """The response to these bytes."""
        with closing(self.connect()) as connection:
            connection.sendall(request)
            return read_answer(connection)

    def request(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
        """The response to a request as the page sends it, with changed headers; None omits one."""
        return self.raw(self.written(method, path, body, **headers))

    def written(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> bytes:
        usual: dict[str, str | None] = {
            "Host": self.host,
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Authorization": f"Bearer {self.key}",
        }
        if body:
            usual |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in (usual | own).items() if value is not None]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.request("GET", path, **headers)

    @property
    def runs(self) -> list[Any]:
        """The listed runs."""
        listed: list[Any] = self.get("/v1/runs").json["runs"]
        return listed

    def ask(self, route: str, *, run: str = "one", **asked: Any) -> Answer:
        """The response to a question about a run."""
        return self.request("POST", f"/v1/{route}", json.dumps({"run": run, **asked}).encode())


def read_answer(connection: socket.socket) -> Answer:
    """The next response on a connection."""
    try:
        response = HTTPResponse(connection)
        response.begin()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    except ConnectionError:
        return Answer(0, {}, b"")


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds. Raises `AssertionError` after ten seconds."""
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came")


@contextmanager
def serving(
    folder: Path | Sequence[Path], *, opens: Path | None = None, lessons: Path | None = None
) -> Iterator[Served]:
    """Serve the runs in a folder, or these runs; `opens` is that of `PageServer`, `lessons` a file with a course."""
    listening = listen("127.0.0.1", 0)

    def places() -> Sequence[Path]:
        return list_runs(folder) if isinstance(folder, Path) else folder

    server = PageServer(places, listening=listening, device="cpu", opens=opens)
    server.warm_up("runs")
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            if lessons:
                patch.setenv("TMT_LESSONS", str(lessons))
            yield Served(server)
    finally:
        server.loop.should_exit = server.loop.force_exit = True  # also closes connections left open by a failed test
        thread.join(10)
        listening.close()
        assert not thread.is_alive()
