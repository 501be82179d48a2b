"""uvicorn's HTTP protocol, with timeouts and a limit on connections.

uvicorn waits forever for a request to arrive and for a response to be read, and its `limit_concurrency` counts
requests, not connections.
"""

import asyncio
import sys
from functools import cache

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from transformer_mt.extensions.serve.guard import RAW_HEADERS
from transformer_mt.text.terminal import escaped_json

# Timeout for headers and body of a request, from the opening of the connection or the first byte; and for reading a
# response, from its end.
ARRIVAL_SECONDS = 10.0
MOST_CONNECTIONS = 200


@cache
def most_connections() -> int:
    """The maximum number of open connections; one more closes the one that has waited longest for its client."""
    if sys.platform == "win32":  # no limit on descriptors
        return MOST_CONNECTIONS
    import resource

    return min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)


class PunctualProtocol(H11Protocol):
    """Closes a connection if its client takes over `ARRIVAL_SECONDS` to send a request or read a response."""

    _deadline: asyncio.TimerHandle

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._cut_off)
        open_ones = [
            one for one in self.connections if isinstance(one, PunctualProtocol) and not one.transport.is_closing()
        ]
        if len(open_ones) > most_connections():
            waiting = [one for one in open_ones if one._is_arriving()]
            min(waiting, key=lambda one: one._deadline.when()).transport.abort()

    @override
    def data_received(self, data: bytes) -> None:
        if self.timeout_keep_alive_task:  # the first bytes after a response
            self._begin_anew()
        super().data_received(data)

    @override
    def on_response_complete(self) -> None:
        self._begin_anew()  # to read the response, or for the rest of this request
        super().on_response_complete()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    @override
    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP, if still possible, with the headers of every response."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = escaped_json({"error": f"the request: {msg} Send HTTP/1.1"}).encode()
            headers = [*RAW_HEADERS, (b"content-type", b"application/json"), (b"connection", b"close")]
            headers.append((b"content-length", str(len(body)).encode()))
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _begin_anew(self) -> None:
        """Restart the timeout."""
        self._deadline.cancel()
        self._deadline = self.loop.call_later(ARRIVAL_SECONDS, self._cut_off)

    def _cut_off(self) -> None:
        """Close the connection if it is waiting for the client, not for an answer still being computed."""
        if self._is_arriving() or self.transport.get_write_buffer_size():
            self.transport.abort()

    def _is_arriving(self) -> bool:
        """True while the client has not sent a whole request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
