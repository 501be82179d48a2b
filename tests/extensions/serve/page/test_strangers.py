"""A page from another origin gets nothing from the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from support.serving import Served
from typing_extensions import override

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

# The response or error: without the key, with it, and for a simple request without preflight.
ASK = """async ([address, key]) => {
  const tries = [{}, { headers: { Authorization: `Bearer ${key}` } }, { mode: "no-cors" }];
  return Promise.all(tries.map((options) => fetch(`${address}/v1/runs`, options).then(
    async (answer) => `${answer.status} ${await answer.text()}`, (error) => error.name)));
}"""


class Stranger(BaseHTTPRequestHandler):
    @override
    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>a stranger</title>")


@contextmanager
def stranger() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_page_from_another_origin_gets_nothing(chromium: "Browser", served: Served) -> None:
    context = chromium.new_context()
    with stranger() as address:
        page = context.new_page()
        page.goto(address)
        # Not even an opaque response arrives, because of Cross-Origin-Resource-Policy.
        assert page.evaluate(ASK, [f"http://{served.host}", served.key]) == ["TypeError", "TypeError", "TypeError"]
    context.close()
