"""From a request to its response, or to a one-line error."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from transformer_mt.errors import InputError, TmtError, is_out_of_memory
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import METRICS, Run
from transformer_mt.serve.answers import ANSWERS, course, curves
from transformer_mt.serve.clients import list_languages, translate_texts
from transformer_mt.serve.guard import API, Guard, Refusal, answer, error, fault_of_ours, has_key
from transformer_mt.serve.questions import LARGEST_BODY, Attend, ClientQuestion, TranslateTexts, in_request, parse
from transformer_mt.serve.saved_answers import page_of
from transformer_mt.serve.served_runs import Runs, ServedRun, stamp
from transformer_mt.serve.worker import Gone, Worker
from transformer_mt.text.terminal import JsonObject

# The POST routes: request and answer.
POSTED = ANSWERS | {"page": (Attend, page_of)}
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_START = "index.html"
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


def page_files() -> dict[str, Response]:
    """The files of the page by name, as responses."""
    found = {}
    for file in files("transformer_mt.page").iterdir():
        if kind := _KINDS.get(Path(file.name).suffix):
            found[file.name] = Response(file.read_bytes(), media_type=kind)
    return found


class Routes:
    """The routes: each reads its request, computes in the worker's thread, and responds."""

    def __init__(self, runs: Runs, worker: Worker, *, opens: Path | None, lessons: Path | None) -> None:
        """The page opens the run at `opens`, if given; the course is in the folder `lessons`, by default ours."""
        self._runs = runs
        self._worker = worker
        self._page = page_files()
        self._opens = opens
        self._lessons = lessons

    def app(self, *, key: str) -> ASGIApp:
        """The ASGI application with all routes, behind the guard."""
        routes = [
            Route("/", partial(self._file, name=_START)),
            Route("/page/{name}", self._file),
            Route(f"{API}runs", self._list),
            Route(f"{API}curves", self._curves),
            Route(f"{API}lessons", self._course),
            Route("/health", answer({"status": "ok"}), methods=["GET"]),
            Route("/languages", partial(self._ask, ClientQuestion, list_languages, key=key)),
            Route("/translate", partial(self._ask, TranslateTexts, translate_texts, key=key), methods=["POST"]),
        ]
        for name, (kind, compute) in POSTED.items():
            routes.append(Route(f"{API}{name}", partial(self._ask, kind, compute), methods=["POST"]))
        app = Starlette(routes=routes, exception_handlers={HTTPException: _not_routed})
        app.router.redirect_slashes = False
        return Guard(app, key=key)

    async def _file(self, request: Request, name: str = "") -> Response:
        name = name or request.path_params["name"]
        return self._page.get(name) or error(404, f"{request.scope['path']}: no such page; open /")

    async def _list(self, request: Request) -> Response:
        known = request.headers.get("if-none-match")

        def listed(_: bytes) -> Response:
            names = {path: name for name, path in self._runs.find().items()}
            opens = names.get(self._opens) if self._opens else None
            content = {"version": version("transformer_mt"), "opens": opens}
            return _tagged(self._runs.tag(), known, lambda: content | {"runs": self._runs.describe()})

        return await self._answer(request, listed)

    async def _curves(self, request: Request) -> Response:
        keys = request.query_params.multi_items()
        if [key for key, _ in keys] != ["run"]:
            return error(422, "the query: must have the key run, once; give the name of a run")
        name = keys[0][1]
        known = request.headers.get("if-none-match")

        def measured(_: bytes) -> Response:
            run = Run(self._runs.path(name))
            last = stamp(run.path if run.pack else run.path / METRICS)
            if last is None:
                raise Refusal(503, f"{name}: has no measurements yet, or is gone; see /v1/runs")
            return _tagged(
                f'"{"-".join(map(str, last))}"',
                known,
                lambda: curves(run, name) | {"run": name, "step": newest_progress(run).step},
            )

        return await self._answer(request, measured)

    async def _course(self, request: Request) -> Response:
        return await self._answer(request, lambda _: answer(course(self._lessons)))

    async def _ask(
        self, kind: type[Any], compute: Callable[[ServedRun, Any], Any], request: Request, *, key: str = ""
    ) -> Response:
        """The answer to a question. With `key`, in LibreTranslate's form: forms, queries, a key in them, status 400."""

        def read(body: bytes) -> Any:
            media_type = request.headers.get("content-type", _FORM).partition(";")[0].strip().lower()
            if media_type not in (_JSON, _FORM if key else _JSON):
                raise Refusal(415, f"Content-Type: is not {_JSON}; send JSON")
            query = request.url.query if key else ""
            asked = parse(kind, body, is_form=media_type == _FORM, query=query)
            if key and not has_key(request.headers, key, api_key=asked.api_key):
                raise Refusal(403, "api_key: no valid key; send the key in the address that tmt serve printed")
            return asked

        def computed(asked: Any) -> Response:
            served = self._runs.open(asked.run)
            found = compute(served, asked)
            return answer(found if key else {"run": asked.run, "step": served.translator.model.step} | found)

        response = await self._answer(request, computed, read)
        if key and response.status_code == 422:
            response.status_code = 400
        return response

    async def _answer(
        self, request: Request, compute: Callable[[Any], Response], read: Callable[[bytes], Any] = bytes
    ) -> Response:
        """Read the body, and compute the response in the worker's thread; failures become error responses."""
        try:
            return await self._worker.run(partial(compute, read(await _body(request))), request.receive)
        except Exception as problem:
            return _problem(problem)


def _tagged(tag: str, known: str | None, content: Callable[[], JsonObject]) -> Response:
    """The response, or 304 if the client has it already."""
    headers = {"ETag": tag}
    return Response(status_code=304, headers=headers) if tag == known else answer(content(), headers=headers)


async def _body(request: Request) -> bytes:
    """Read the body. Raises `Refusal` if it is too large, without reading on, and if the client disconnects."""
    too_large = Refusal(413, f"the body: more than {LARGEST_BODY:,} bytes; send less")
    body = b""
    if int(request.headers.get("content-length", 0)) > LARGEST_BODY:
        raise too_large
    try:
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise too_large
    except ClientDisconnect:
        raise Gone from None
    return body


def _problem(problem: Exception) -> Response:
    """The error response for an exception while computing."""
    if isinstance(problem, Refusal):
        return error(problem.status, str(problem), problem.headers)
    if isinstance(problem, InputError):
        return error(422, str(in_request(problem)))
    if isinstance(problem, TmtError):
        return error(503, str(problem))
    if is_out_of_memory(problem):
        return error(503, "memory: not enough; ask for less")
    if isinstance(problem, OSError):
        return error(503, f"{problem.filename}: {problem.strerror}; check disk and permissions")
    return fault_of_ours(problem)


async def _not_routed(request: Request, problem: Any) -> Response:
    """404 and 405 as one line."""
    reasons = {404: "no such path; see /v1/runs", 405: f"does not support {request.method}; see Allow"}
    return error(problem.status_code, f"{request.scope['path']}: {reasons[problem.status_code]}", problem.headers)
