"""The port, the address with its key, and the event loop."""

import asyncio
import errno
import logging
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from typing_extensions import override

from transformer_mt.extensions.serve.answers import answer_translate
from transformer_mt.extensions.serve.guard import Refusal
from transformer_mt.extensions.serve.protocol import PunctualProtocol, most_connections
from transformer_mt.extensions.serve.questions import first_question
from transformer_mt.extensions.serve.routes import Routes
from transformer_mt.extensions.serve.served_runs import Runs
from transformer_mt.extensions.serve.worker import Worker
from transformer_mt.ground.errors import InputError, MachineError, TmtError

# The default port, and the number of ports to try from there.
PORT = 8420
PORTS_TRIED = 10
# The environment variable with a key that survives restarts.
KEY = "TMT_KEY"
_LOG = logging.getLogger(__name__)


def listen(host: str, port: int | None) -> socket.socket:
    """Listen at an address of this machine, on the given port or the first free default port.

    Raises `InputError` if the host is not an address of this machine, `MachineError` if the port cannot be opened.
    """
    tried = range(PORT, PORT + PORTS_TRIED) if port is None else [port]
    problem = OSError()
    for number in tried:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            return socket.create_server(address, family=family, backlog=128)
        except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
            if isinstance(error, UnicodeError | socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise InputError("host", f"{host!r} is not an address of this machine", "leave it out") from None
            problem = error
    ports = "–".join(dict.fromkeys((str(tried[0]), str(tried[-1]))))
    raise MachineError(
        "port", f"{ports} cannot be opened ({os.strerror(problem.errno or 0)})", "give another, or 0 for any"
    )


def is_open_to_others(listening: socket.socket) -> bool:
    """True if other machines can reach the socket."""
    return not ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def choose_key() -> str:
    """The key in the environment, or a new one of 128 bits. Raises `InputError` for one that is not as long."""
    key = os.environ.get(KEY) or secrets.token_urlsafe(16)
    if not re.fullmatch(r"[\w-]{22,}", key, re.ASCII):
        raise InputError(KEY, "not a key", "give at least 22 random letters, digits, - and _")
    return key


class PageServer:
    """Serves the page for runs at `places`, on a listening socket."""

    def __init__(
        self,
        places: Callable[[], Sequence[Path]],
        *,
        listening: socket.socket,
        device: str,
        opens: Path | None = None,
    ) -> None:
        """The page opens the run at `opens`, if given."""
        self._listening = listening
        self.worker = Worker()
        self._key = choose_key()
        self._runs = Runs(places, device=device, opened=self.worker.stop_on_steps_of)
        config = uvicorn.Config(
            Routes(self._runs, self.worker, opens=opens).app(key=self._key),
            http=PunctualProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            backlog=min(128, most_connections()),  # this many are accepted before they are counted
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        self.loop = _Server(config)

    @property
    def address(self) -> str:
        """The address with the key in the fragment, which browsers do not send."""
        host, port = self._listening.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/#key={self._key}"

    def warm_up(self, place: object) -> list[str]:
        """Load the newest usable run and translate with it; return the problems of the runs skipped.

        Raises `InputError`, naming `place`, if no run is usable.
        """
        return self.worker.wait_for(partial(self._load_first, place))

    def _load_first(self, place: object) -> list[str]:
        problems = []
        for listed in self._runs.describe():
            if "stacks" not in listed:
                continue
            try:
                answer_translate(self._runs.open(listed["run"]), first_question(listed, listed["example"] or "."))
            except (TmtError, Refusal) as problem:
                problems.append(str(problem))
            else:
                return problems
        if problems:
            raise InputError(place, f"no trained model can be served: {problems[0]}")
        raise InputError(place, "no trained model to serve", "train one with: tmt train")

    def run(self) -> None:
        """Serve requests until a signal ends the process."""
        self.loop.run(sockets=[self._listening])


class _Server(uvicorn.Server):
    @override
    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_say_once)
        await super().serve(sockets)

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: they end the process at once, as for every command."""
        yield


def _say_once(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report a lack of descriptors only once, although the server retries every second."""
    problem = context.get("exception")
    if isinstance(problem, OSError) and problem.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        _say_exhausted(str(problem.strerror))
    else:
        loop.default_exception_handler(context)


@cache
def _say_exhausted(reason: str) -> None:
    _LOG.warning("tmt: the server: cannot accept connections for now (%s); close some, or raise ulimit -n", reason)
