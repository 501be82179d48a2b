"""Request filter and response headers: blocks foreign pages and DNS rebinding; `/v1` needs the key.

`routes` checks the key of `/languages` and `/translate`, because it may be in the body.
"""

import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transformer_mt.ground.errors import write_report
from transformer_mt.text.terminal import escaped_json, message_line

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# The headers of one response.
OwnHeaders = Mapping[str, str] | None
# For every response. no-store: the browser must not mix versions of tmt.
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
API = "/v1/"
# The routes in LibreTranslate's form.
CLIENT_API = ("/health", "/languages", "/translate")
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9a-zA-Z.-]+))(?::\d{1,5})?", re.ASCII)


class Refusal(Exception):  # noqa: N818 - a regular response, not an error of ours
    """A refused request: a status, one line of explanation, and extra headers."""

    def __init__(self, status: int, message: str, headers: OwnHeaders = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


def answer(content: Any, status: int = 200, headers: OwnHeaders = None) -> Response:
    """A JSON response, with control characters escaped for terminals."""
    return Response(escaped_json(content), status, headers, media_type="application/json")


def error(status: int, message: str, headers: OwnHeaders = None) -> Response:
    """An error response with a one-line reason."""
    return answer({"error": message_line(message)}, status, headers)


class Guard:
    """ASGI middleware: passes only permitted requests to the application, and adds `HEADERS` to every response."""

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; an internal error becomes one line and a report file."""
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message["headers"], *RAW_HEADERS]}
            await send(message)

        try:
            await (self.refusal(scope) or self._app)(scope, receive, guarded)
        except Exception as fault:
            if started:
                raise
            await fault_of_ours(fault)(scope, receive, guarded)

    def refusal(self, scope: Scope) -> Response | None:
        """The error response to a forbidden request; None if it may pass."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_own_host(hosts[0]):
            return error(421, "Host: is not an address of this machine; open the address that tmt serve printed")
        # No foreign page can come from such a host, so its origin is ours.
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in headers.getlist("origin")):
            return error(403, "Origin: the request is from another page; open the address that tmt serve printed")
        is_own = scope["path"].startswith(API)
        if not is_own and scope["path"].strip() not in CLIENT_API:  # starlette ignores a newline at the end
            return None
        if any(site not in ("same-origin", "none") for site in headers.getlist("sec-fetch-site")):
            return error(
                403, "Sec-Fetch-Site: the request is from another page; open the address that tmt serve printed"
            )
        if is_own and not has_key(headers, self._key):
            remedy = "send Authorization: Bearer with the key in the address that tmt serve printed"
            return error(401, f"Authorization: no valid key; {remedy}", {"WWW-Authenticate": "Bearer"})
        return None


def has_key(headers: Headers, key: str, *, api_key: str | None = None) -> bool:
    """True if the only `Authorization` header, or without one `api_key`, is the key; compared in constant time."""
    given = ", ".join(headers.getlist("authorization")) or f"Bearer {api_key}"
    return hmac.compare_digest(given.encode(), f"Bearer {key}".encode())


def is_own_host(host: str) -> bool:
    """True for an IP address or `localhost`, with or without a port. Any other name may be rebound to this machine."""
    found = _HOST.fullmatch(host)
    if not found:
        return False
    name = found[1] or found[2]
    with suppress(ValueError):
        return ip_address(name).version == (6 if found[1] else 4)
    return name.lower() == "localhost"


def fault_of_ours(fault: BaseException) -> Response:
    """The response to an internal error; writes the traceback to a file."""
    what = f"internal error ({type(fault).__name__})"
    return error(500, f"{what}: this is a bug in tmt; {write_report(fault)}; please report it")
