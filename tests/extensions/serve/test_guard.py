"""Refused requests, over real sockets: each row of the documented table."""

import json
import random
import re
import socket
import ssl
from contextlib import closing

import pytest
from support.serving import Answer, Served, read_answer

from transformer_mt.extensions.serve.guard import HEADERS, is_own_host

SENTENCE = {"source": "Der Hund schläft."}
BODY = json.dumps({"run": "one"} | SENTENCE).encode()


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
    answers = [
        page,
        served.get("/v1/runs"),
        served.get("/v1/none"),
        served.get("/none"),
        served.raw(b"nonsense\r\n\r\n"),
    ]
    for answer in [*answers, served.get("/v1/runs", Authorization=None), served.get("/", Host="evil.example")]:
        for name, value in HEADERS.items():
            assert answer.headers[name.lower()] == value
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1/x?", "127.0.0.1@evil.example", "", "localhost.", "[::1",
     "::1", "127.0.0.1:123456", "[127.0.0.1]", "1.2.3", "0x7f000001", "2130706433", "localhost:8420:1"],
)  # fmt: skip
def test_foreign_host_gets_421(host: str, served: Served) -> None:
    for path in ("/", "/v1/runs"):
        require_one_line(served.get(path, Host=host, Origin=None), 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:8420", "192.168.1.7:8420", "0.0.0.0"])
def test_addresses_and_localhost_are_accepted(host: str, served: Served) -> None:
    assert is_own_host(host)
    origin = f"http://{host}"
    assert served.get("/v1/runs", Host=host, Origin=origin.upper().replace("HTTP", "http")).status == 200


def test_http_1_0_needs_a_host(served: Served) -> None:
    require_one_line(served.raw(b"GET / HTTP/1.0\r\n\r\n"), 421)
    assert served.raw(f"GET / HTTP/1.0\r\nHost: {served.host}\r\n\r\n".encode()).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{}", "http://{}/", "", "{}"]
)
def test_foreign_origin_gets_403(origin: str, served: Served) -> None:
    for path in ("/", "/v1/runs"):
        require_one_line(served.get(path, Origin=origin.format(served.host)), 403)


@pytest.mark.parametrize(
    ("site", "status"),
    [
        (None, 200),
        ("none", 200),
        ("same-origin", 200),
        ("cross-site", 403),
        ("same-site", 403),
        ("none, cross-site", 403),
    ],
)
def test_foreign_site_gets_403_under_v1(site: str | None, status: int, served: Served) -> None:
    assert served.get("/v1/runs", Sec_Fetch_Site=site, Origin=None).status == status


@pytest.mark.parametrize("key", [None, "", "Bearer", "Bearer x", "Basic {}", "{}", "bearer {}", "Bearer {}x"])
@pytest.mark.parametrize("path", ["/v1/runs", "/v1/nothing", "/v1/../v1/runs", "/v1/"])
def test_missing_key_gets_401(key: str | None, path: str, served: Served) -> None:
    require_one_line(served.get(path, Authorization=key and key.format(served.key)), 401)


@pytest.mark.parametrize(
    ("more", "status"), [("Authorization: Bearer {}", 401), ("Authorization: Bearer x", 401), ("Origin: null", 403)]
)
def test_repeated_headers_are_refused(more: str, status: int, served: Served) -> None:
    line = more.format(served.key).encode()
    request = served.written("GET", "/v1/runs").replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n")
    require_one_line(served.raw(request), status)


def test_key_has_128_bits(served: Served) -> None:
    assert re.fullmatch(r"[\w-]{22}", served.key, re.ASCII)


@pytest.mark.parametrize(
    "path",
    ["/v1/nothing", "/v1", "/v1/runs/", "/v1/translate/x", "//v1/runs", "/page/", "/page", "/page/nothing.js",
     "/index.html", "/page/../__init__.py", "/page/%2e%2e/__init__.py", "/page/..%2f__init__.py",
     "/page/__init__.py", "/page/%00", "/%00", "/page/index.html%00.js",
     "/../../etc/passwd", "/page/%2Fetc%2Fpasswd", "http://127.0.0.1/v1/runs", "*"],
)  # fmt: skip
def test_unknown_path_gets_404(path: str, served: Served) -> None:
    require_one_line(served.get(path), 404)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
@pytest.mark.parametrize(
    ("path", "allowed"), [("/", {"GET", "HEAD"}), ("/v1/runs", {"GET", "HEAD"}), ("/v1/translate", {"POST"})]
)
def test_unsupported_method_gets_405(method: str, path: str, allowed: set[str], served: Served) -> None:
    if method in allowed:
        return
    answer = served.request(method, path)
    assert answer.status == 405
    assert {*answer.headers["allow"].split(", ")} == allowed


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *((kind, 415) for kind in (None, "text/plain", "application/jsonp", "multipart/form-data")),
        ("Application/JSON; charset=utf-8", 200),
    ],
)
def test_other_content_type_gets_415(kind: str | None, status: int, served: Served) -> None:
    assert served.request("POST", "/v1/translate", BODY, Content_Type=kind).status == status


def test_large_body_gets_413(served: Served) -> None:
    largest = BODY + b" " * (65_536 - len(BODY))
    assert served.request("POST", "/v1/translate", largest).status == 200
    body = largest + b" "
    require_one_line(served.request("POST", "/v1/translate", body), 413)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:60_000], body[60_000:])) + b"0\r\n\r\n"
    kind = {"Content_Type": "application/json"}
    head = served.written("POST", "/v1/translate", **kind, Transfer_Encoding="chunked")
    require_one_line(served.raw(head + chunks), 413)
    declared = served.written("POST", "/v1/translate", **kind, Content_Length=str(len(body)))
    require_one_line(served.raw(declared), 413)  # before the body is sent


@pytest.mark.parametrize(
    "body",
    [b"\xff", b'{"run": "one", "source": "\xff"}', b"{", b"nonsense", b"[" * 30_000, b'{"a":' * 10_000, b'{"run": NaN}',
     b'{"run": Infinity}', b'{"run": "\\ud800"}', b"{} {}", b" ", b'{"run": "a\x00b"}'],
)  # fmt: skip
def test_invalid_json_gets_400(body: bytes, served: Served) -> None:
    require_one_line(served.request("POST", "/v1/translate", body), 400)


def test_invalid_http_gets_400(served: Served) -> None:
    host = b"Host: localhost\r\n"
    request = served.written("POST", "/v1/translate", BODY)
    for wrong in (
        served.written("GET", "/", X_Long="a" * 200_000),
        served.written("GET", "/", **{f"X_{number}": "a" * 90 for number in range(2_000)}),
        request.replace(b"Content-Length", b"Content-Length: 1\r\nContent-Length"),
        b"nonsense\r\n\r\n",
        b"GET /\x80 HTTP/1.1\r\n" + host + b"\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + host + host + b"\r\n",
    ):
        require_one_line(served.raw(wrong), 400)
    with closing(served.connect()) as connection, pytest.raises((ssl.SSLError, ConnectionError)):
        ssl._create_unverified_context().wrap_socket(connection)


def test_server_survives_any_bytes(served: Served) -> None:
    draw = random.Random(1)
    whole = served.written("POST", "/v1/translate", BODY)
    for _ in range(150):
        request = bytearray(whole)
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(request))
            request[place : place + draw.randrange(3)] = bytes(draw.randrange(256) for _ in range(draw.randrange(3)))
        with closing(served.connect()) as connection:
            connection.sendall(request)
            connection.settimeout(0.05)
            try:
                answer = read_answer(connection)
            except TimeoutError:
                continue
        assert answer.status != 500
    assert served.ask("translate", **SENTENCE).status == 200


def test_connection_is_kept_alive(served: Served) -> None:
    with closing(served.connect()) as connection:
        for _ in range(3):
            connection.sendall(served.written("POST", "/v1/translate", BODY))
            assert read_answer(connection).status == 200
        connection.sendall(served.written("GET", "/v1/runs", Authorization=None))
        assert read_answer(connection).status == 401


def test_server_listens_only_on_loopback(served: Served) -> None:
    assert socket.gethostbyname("localhost") == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", served.port), timeout=1).close()
