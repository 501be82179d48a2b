"""The command: its port, address and end, and its documentation."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch
from support.command_line import PROGRAM, Tmt
from support.serving import Served, serving

from transformer_mt.cli.main import run
from transformer_mt.extensions.serve import server
from transformer_mt.extensions.serve.server import listen
from transformer_mt.runs.directory import READY

README = (Path(__file__).parents[3] / "transformer_mt/extensions/serve/serve.md").read_text("utf-8")
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#key=([\w-]{22})\n")


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*PROGRAM, "serve", *arguments], env=environment, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def busy() -> Iterator[int]:
    """A port in use."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        yield other.getsockname()[1]


def test_default_port_is_the_next_free_one(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PORT", busy)
    with closing(listen("127.0.0.1", None)) as found:
        assert busy < found.getsockname()[1] < busy + server.PORTS_TRIED


def test_port_in_use_is_refused(busy: int) -> None:
    with closing(listen("127.0.0.1", 0)) as first, pytest.raises(Exception, match="cannot be opened"):
        listen("127.0.0.1", first.getsockname()[1])


# Arguments, the exit code, and the place of the problem.
WRONG = [
    ("{runs} --port {busy}", 3, "--port: {busy} "),
    *((f"{{runs}} --host {host}", 2, f"--host: '{host.strip(chr(39))}' ")
      for host in ("192.0.2.1", "'no host'", "127..1", 64 * "a")),
    ("nowhere", 2, "nowhere: "), ("{empty}", 2, "{empty}: "), ("--model {empty}", 2, "{empty}: "),
    ("{runs} --model {runs}/one", 2, "--model: "), ("{runs} --device abacus", 3, "--device: "),
]  # fmt: skip


def test_invalid_arguments_are_one_line_errors(home: Path, busy: int, tmp_path: Path, tmt: Tmt) -> None:
    names = {"busy": busy, "empty": tmp_path, "runs": home / "runs"}
    for arguments, code, place in WRONG:
        outcome = tmt("serve", *shlex.split(arguments.format(**names)))
        assert (outcome.code, outcome.out) == (code, ""), arguments
        assert outcome.err.startswith(f"tmt: error: {place.format(**names)}")
        assert outcome.err.count("\n") == 1


def test_key_in_the_environment_survives_restarts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMT_KEY", key := "a-b_C" * 5)
    for _ in range(2):
        with serving(home / "runs") as served:
            assert served.server.address.endswith(f"/#key={key}")
            assert served.get("/v1/runs", Authorization=f"Bearer {key}").status == 200
            assert served.get("/v1/runs", Authorization="Bearer x").status == 401


def test_unsafe_key_in_the_environment_is_refused(home: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.PageServer, "run", lambda self: None)
    for key in ("x" * 21, "x" * 21 + "é", "x" * 30 + "#", "x" * 30 + "\n"):
        monkeypatch.setenv("TMT_KEY", key)
        assert tmt("serve", str(home / "runs"), "--port", "0").mistake.startswith("TMT_KEY: not a key")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_command_prints_its_address_serves_and_ends(number: signal.Signals, code: int, home: Path) -> None:
    with started(str(home / "runs"), "--port", "0") as process:
        found = ADDRESS.fullmatch(process.stdout.readline())
        assert found
        port, key = found.groups()
        head = f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        body = json.dumps({"run": "one", "source": "Der Hund schläft.", "search": {"beam": 1000, "n_best": 500}})
        with closing(socket.create_connection(("127.0.0.1", int(port)))) as connection:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall((head + body).encode())
            time.sleep(0.3)  # while it computes
            start = time.monotonic()
            process.send_signal(number)
            assert process.wait(10) == code
            assert time.monotonic() - start < 2.0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "0.0.0.0 --quiet"])
def test_serving_other_machines_prints_a_warning(
    host: str, home: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(server.PageServer, "run", lambda self: None)
    outcome = tmt("serve", "--model", str(home / "runs/one"), "--port", "0", "--open", "--host", *host.split())
    warning = "tmt: --host 0.0.0.0: open to other machines, and unencrypted: "
    assert outcome.err.count("\n") == outcome.err.startswith(warning) == host.startswith("0")
    assert opened == [outcome.out.strip()]


def test_ready_model_is_always_offered_last(
    own_runs: Path, home: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[list[str]] = []
    monkeypatch.setattr(server.PageServer, "warm_up", lambda self, place: [])
    monkeypatch.setattr(server.PageServer, "run", lambda self: listed.append([x["run"] for x in self._runs.describe()]))
    os.utime(READY)
    for arguments in ((), (str(own_runs),), ("--model", str(own_runs / "one"))):
        monkeypatch.chdir(own_runs.parent)
        assert tmt("serve", "--port", "0", *arguments).code == 0
    assert listed == [["one", "ready"], ["one", "ready"], ["one"]]


@pytest.mark.parametrize(("before", "served"), [(8, 7), (2, 1), (1, 1)])
def test_one_cpu_is_left_to_the_browser(before: int, served: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deeds: list[int | str] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: before)
    monkeypatch.setattr(torch, "set_num_threads", deeds.append)
    monkeypatch.setattr(server.PageServer, "warm_up", lambda self, place: deeds.append("first translation") or [])
    monkeypatch.setattr(server.PageServer, "run", lambda self: None)
    assert run(["serve", "--model", str(home / "runs/one"), "--port", "0"]) == 0
    assert deeds == [served, "first translation"]


def test_run_that_cannot_be_loaded_is_skipped(own_runs: Path, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.PageServer, "run", lambda self: None)
    (own_runs / "one").rename(own_runs / "good")
    shutil.copytree(own_runs / "good", own_runs / "bad")
    bad = own_runs / "bad/model.safetensors"
    bad.write_bytes(b"damaged")
    for path in (own_runs / "good").rglob("*"):
        os.utime(path, (1e9, 1e9))
    serve = ("serve", str(own_runs), "--port", "0")
    assert tmt(*serve).err.startswith(f"tmt: left out: {bad}: ")
    bad.parent.joinpath("config.toml").unlink()
    (own_runs / "good/model.safetensors").write_bytes(b"damaged")
    assert "good/model.safetensors: " in tmt(*serve).err


def test_documented_curl_lines_work(served: Served) -> None:
    lines = re.findall(r"^curl .+$", README, re.MULTILINE)
    routes = set(re.findall(r"^\| `(?:GET|POST) (/[\w/]+)", README, re.MULTILINE))
    asked = set()
    for line in lines:
        words = shlex.split(line.replace("$SERVER", f"http://{served.host}").replace("$KEY", served.key))
        url = next(word for word in words if word.startswith("http"))
        path = url.partition(served.host)[2].replace("builtin", "one")
        asked.add(path.partition("?")[0])
        body = words[words.index("--json") + 1] if "--json" in words else ""
        for theirs, ours in {"builtin": "one", "400": "50", "cross.2.1": "cross.1.1", "▁Could": "▁The"}.items():
            body = body.replace(theirs, ours)
        headers = dict(word.split(": ", 1) for option, word in pairwise(words) if option == "-H")
        fields = [tuple(word.split("=", 1)) for option, word in pairwise(words) if option in ("-d", "--data-urlencode")]
        if fields:
            body, headers["Content_Type"] = urlencode(fields), "application/x-www-form-urlencoded"
        sent = {"Authorization": None} | headers
        answer = served.request("POST" if body else "GET", path, body.encode(), **sent)
        assert answer.status == 200, (line, answer)
    assert asked == routes
    assert len(lines) == len(routes) + 2  # /v1/translate and /translate have two
