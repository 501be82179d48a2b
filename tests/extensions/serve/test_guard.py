"""Refused requests, over real sockets: each row of the documented table."""

import json
import random
import re
import socket
import ssl
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from support.serving import Answer, Served, read_answer

from transformer_mt.extensions.serve.guard import HEADERS, is_own_host

SENTENCE = {"source": "Der Hund schläft."}
BODY = json.dumps({"run": "one"} | SENTENCE).encode()
ASK = ("POST", "/v1/translate")


def require_one_line(answer: Answer, status: int) -> None:
    assert answer.status == status, answer
    assert list(answer.json) == ["error"]
    (line,) = answer.json.values()
    assert "\n" not in line
    assert "Traceback" not in line


def test_page_needs_no_key_and_responses_have_security_headers(served: Served) -> None:
    page = served.get("/", Authorization=None, Origin=None, Sec_Fetch_Site="cross-site")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.body.startswith(b"<!doctype html>")
    assert served.get("/page/index.html").body == page.body
    answers = [page, served.raw(b"nonsense\r\n\r\n"), served.get("/", Host="evil.example")]
    answers += [served.get("/v1/runs", Authorization=None), *map(served.get, ("/v1/runs", "/v1/none", "/none"))]
    for answer in answers:
        assert {name.lower(): value for name, value in HEADERS.items()}.items() <= answer.headers.items()
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not {"server", "access-control-allow-origin", "set-cookie"} & {*answer.headers}


def test_foreign_host_gets_421(served: Served) -> None:
    for host in (
        "evil.example", "localhost.evil.example", "127.0.0.1/x?", "127.0.0.1@evil.example", "", "localhost.", "[::1",
        "::1", "127.0.0.1:123456", "[127.0.0.1]", "1.2.3", "0x7f000001", "2130706433", "localhost:8420:1",
    ):  # fmt: skip
        for path in ("/", "/v1/runs"):
            require_one_line(served.get(path, Host=host, Origin=None), 421)
    require_one_line(served.raw(b"GET / HTTP/1.0\r\n\r\n"), 421)
    assert served.raw(f"GET / HTTP/1.0\r\nHost: {served.host}\r\n\r\n".encode()).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:8420", "192.168.1.7:8420", "0.0.0.0"])
def test_addresses_and_localhost_are_accepted(host: str, served: Served) -> None:
    assert is_own_host(host)
    origin = f"http://{host}"
    assert served.get("/v1/runs", Host=host, Origin=origin.upper().replace("HTTP", "http")).status == 200


def test_foreign_origin_and_site_get_403(served: Served) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://{}", "http://{}/", "", "{}"):
        for path in ("/", "/v1/runs"):
            require_one_line(served.get(path, Origin=origin.format(served.host)), 403)
    for site in ("cross-site", "same-site", "none, cross-site"):
        require_one_line(served.get("/v1/runs", Sec_Fetch_Site=site, Origin=None), 403)
    for site in (None, "none", "same-origin"):
        assert served.get("/v1/runs", Sec_Fetch_Site=site, Origin=None).status == 200


def test_missing_key_gets_401(served: Served) -> None:
    assert re.fullmatch(r"[\w-]{22}", served.key, re.ASCII), "128 bits"
    for key in (None, "", "Bearer", "Bearer x", "Basic {}", "{}", "bearer {}", "Bearer {}x"):
        for path in ("/v1/runs", "/v1/nothing", "/v1/../v1/runs", "/v1/"):
            require_one_line(served.get(path, Authorization=key and key.format(served.key)), 401)


@pytest.mark.parametrize(
    ("more", "status"), [("Authorization: Bearer {}", 401), ("Authorization: Bearer x", 401), ("Origin: null", 403)]
)
def test_repeated_headers_are_refused(more: str, status: int, served: Served) -> None:
    line = more.format(served.key).encode()
    request = served.written("GET", "/v1/runs").replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n")
    require_one_line(served.raw(request), status)


def test_unknown_path_gets_404(served: Served) -> None:
    for path in (
        "/v1/nothing", "/v1", "/v1/runs/", "/v1/translate/x", "//v1/runs", "/page/", "/page", "/page/nothing.js",
        "/index.html", "/page/../__init__.py", "/page/%2e%2e/__init__.py", "/page/..%2f__init__.py",
        "/page/__init__.py", "/page/%00", "/%00", "/page/index.html%00.js", "/../../etc/passwd",
        "/page/%2Fetc%2Fpasswd", "http://127.0.0.1/v1/runs", "*",
    ):  # fmt: skip
        require_one_line(served.get(path), 404)


@pytest.mark.parametrize(("path", "allowed"), [("/", "GET HEAD"), ("/v1/runs", "GET HEAD"), ("/v1/translate", "POST")])
def test_unsupported_method_gets_405(path: str, allowed: str, served: Served) -> None:
    for method in {"GET", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"} - {*allowed.split()}:
        answer = served.request(method, path)
        assert (answer.status, {*answer.headers["allow"].split(", ")}) == (405, {*allowed.split()})


def test_other_content_type_gets_415(served: Served) -> None:
    for kind in (None, "text/plain", "application/jsonp", "multipart/form-data"):
        require_one_line(served.request(*ASK, BODY, Content_Type=kind), 415)
    assert served.request(*ASK, BODY, Content_Type="Application/JSON; charset=utf-8").status == 200


def test_large_body_gets_413(served: Served) -> None:
    largest = BODY + b" " * (65_536 - len(BODY))
    assert served.request(*ASK, largest).status == 200
    body = largest + b" "
    require_one_line(served.request(*ASK, body), 413)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:60_000], body[60_000:])) + b"0\r\n\r\n"
    kind = {"Content_Type": "application/json"}
    require_one_line(served.raw(served.written(*ASK, **kind, Transfer_Encoding="chunked") + chunks), 413)
    declared = served.written(*ASK, **kind, Content_Length=str(len(body)))
    require_one_line(served.raw(declared), 413)  # before the body is sent


def test_invalid_json_gets_400(served: Served) -> None:
    for body in (
        b"\xff", b'{"run": "one", "source": "\xff"}', b"{", b"nonsense", b"[" * 30_000, b'{"a":' * 10_000,
        b'{"run": NaN}', b'{"run": Infinity}', b'{"run": "\\ud800"}', b"{} {}", b" ", b'{"run": "a\x00b"}',
    ):  # fmt: skip
        require_one_line(served.request(*ASK, body), 400)


def test_invalid_http_gets_400(served: Served) -> None:
    host = b"Host: localhost\r\n"
    for wrong in (
        served.written("GET", "/", X_Long="a" * 200_000),
        served.written("GET", "/", **{f"X_{number}": "a" * 90 for number in range(2_000)}),
        served.written(*ASK, BODY).replace(b"Content-Length", b"Content-Length: 1\r\nContent-Length"),
        b"nonsense\r\n\r\n",
        b"GET /\x80 HTTP/1.1\r\n" + host + b"\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + host + host + b"\r\n",
    ):
        require_one_line(served.raw(wrong), 400)
    with closing(served.connect()) as connection, pytest.raises((ssl.SSLError, ConnectionError)):
        ssl._create_unverified_context().wrap_socket(connection)


HOSTILE = (
    "",
    "\0",
    "\x1b[2J",
    "\u202e",
    "é" * 50,
    "𝕏",
    "a\nb",
    "{}",
    -1,
    10**30,
    0.5,
    True,
    None,
    [],
    {"a": ["b"]},
    [[]],
)
KEYS = ("source", "run", "search", "prefix", "without", "q", "target", "alternatives", "\0")


def test_server_survives_any_question_and_any_bytes(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    draw, usual = random.Random(1), {"run": "one", **SENTENCE, "q": "a", "target": "en"}
    for number in range(300):
        asked = usual | {draw.choice(KEYS): draw.choice(HOSTILE) for _ in range(draw.randrange(3))}
        body = (urlencode(asked, doseq=True) if number % 2 else json.dumps(asked)).encode()
        kind = {"Content_Type": "application/x-www-form-urlencoded"} if number % 2 else {}
        request = bytearray(served.written("POST", ["/v1/translate", "/translate"][number % 2], body, **kind))
        for _ in range(draw.choice([0, 0, 2, 5])):
            place = draw.randrange(len(request))
            request[place : place + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
        with closing(served.connect()) as connection:
            connection.sendall(request)
            connection.settimeout(0.05)
            try:
                assert read_answer(connection).status != 500
            except TimeoutError:
                continue
    assert not list(tmp_path.iterdir())  # no report of an internal error
    assert served.ask("translate", **SENTENCE).status == 200


def test_server_listens_only_on_loopback(served: Served) -> None:
    assert socket.gethostbyname("localhost") == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", served.port), timeout=1).close()
