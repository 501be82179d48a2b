"""From a request to its response, or to a one-line error."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from transformer_mt.extensions.serve.answers import answer_translate, answer_view, code_of_link, history, views
from transformer_mt.extensions.serve.clients import list_languages, translate_texts
from transformer_mt.extensions.serve.guard import API, Guard, Refusal, answer, error, fault_of_ours, has_key
from transformer_mt.extensions.serve.page import KINDS, page_files
from transformer_mt.extensions.serve.questions import (
    LARGEST_BODY,
    Attend,
    ClientQuestion,
    HistoryQuestion,
    LinkQuestion,
    Translate,
    TranslateTexts,
    in_request,
    parse,
)
from transformer_mt.extensions.serve.saved_answers import page_of
from transformer_mt.extensions.serve.served_runs import Runs, ServedRun, stamp
from transformer_mt.extensions.serve.worker import Gone, Worker
from transformer_mt.ground.errors import InputError, TmtError, is_out_of_memory, write_report
from transformer_mt.ground.plugins import Route as Added
from transformer_mt.ground.plugins import extensions, fault_of, resolve
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import JsonObject

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


class Routes:
    """The routes: each reads its request, computes in the worker's thread, and responds."""

    def __init__(self, runs: Runs, worker: Worker, *, opens: Path | None) -> None:
        """The page opens the run at `opens`, if given."""
        self._runs = runs
        self._worker = worker
        self._page = {name: Response(text, media_type=KINDS[Path(name).suffix]) for name, text in page_files().items()}
        self._opens = opens

    def app(self, *, key: str) -> ASGIApp:
        """The ASGI application with all routes, behind the guard."""
        routes = [
            Route("/", partial(self._file, name="index.html")),
            Route("/page/{name}", self._file),
            Route(f"{API}runs", self._list),
            Route("/health", answer({"status": "ok"}), methods=["GET"]),
            Route("/languages", partial(self._ask, ClientQuestion, list_languages, key=key)),
            Route("/translate", partial(self._ask, TranslateTexts, translate_texts, key=key), methods=["POST"]),
        ]
        for name, (kind, compute) in posted().items():
            routes.append(Route(f"{API}{name}", partial(self._ask, kind, compute), methods=["POST"]))
        for extension in extensions().values():
            routes += [Route(f"{API}{name}", partial(self._get, one)) for name, one in extension.routes.items()]
        app = Starlette(routes=routes, exception_handlers={HTTPException: _not_routed})
        app.router.redirect_slashes = False
        return Guard(app, key=key)

    async def _file(self, request: Request, name: str = "") -> Response:
        name = name or request.path_params["name"]
        return self._page.get(name) or error(404, f"{request.scope['path']}: no such page; open /")

    async def _list(self, request: Request) -> Response:
        def listed(_: bytes) -> Response:
            opens = next((name for name, path in self._runs.find().items() if path == self._opens), None)
            return answer({"version": version("transformer_mt"), "opens": opens, "runs": self._runs.describe()})

        return await self._answer(request, listed)

    async def _get(self, route: Added, request: Request) -> Response:
        """The answer of an extension's route, about the run in the query if it needs one."""
        keys = request.query_params.multi_items()
        if [key for key, _ in keys] != ["run"] * route.needs_run:
            need = "have the key run, once; give the name of a run" if route.needs_run else "be empty; leave it out"
            return error(422, f"the query: must {need}")

        def found(_: bytes) -> Response:
            if not route.needs_run:
                return answer(resolve(route.answer)())
            name = keys[0][1]
            run = Run(self._runs.path(name))
            if stamp(run.path) is None:
                raise Refusal(503, f"{name}: is gone; see /v1/runs")
            return answer(resolve(route.answer)(run, name) | {"run": name, "step": newest_progress(run).step})

        return await self._answer(request, found)

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
        except (Exception, SystemExit) as problem:  # a plugin may call sys.exit
            return _problem(problem)


def posted() -> dict[str, tuple[type[Any], Callable[[ServedRun, Any], JsonObject]]]:
    """The POST routes: request and answer."""
    added = {name: (resolve(view.request), partial(answer_view, view)) for name, view in views().items()}
    return added | {
        "translate": (Translate, answer_translate),
        "history": (HistoryQuestion, history),
        "page": (Attend, page_of),
        "code": (LinkQuestion, code_of_link),
    }


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


def _problem(problem: BaseException) -> Response:
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
    if fault := fault_of(problem):
        return error(500, f"{': '.join(fault)}; correct the plugin ({write_report(problem)})")
    return fault_of_ours(problem)


async def _not_routed(request: Request, problem: Any) -> Response:
    """404 and 405 as one line."""
    reasons = {404: "no such path; see /v1/runs", 405: f"does not support {request.method}; see Allow"}
    return error(problem.status_code, f"{request.scope['path']}: {reasons[problem.status_code]}", problem.headers)
