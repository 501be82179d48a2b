"""The requests: JSON objects with exact keys, and one-line errors for invalid ones."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.serve.guard import Refusal
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS
from transformer_mt.ground.registry import suggest
from transformer_mt.text.terminal import JsonObject, without_capital
from transformer_mt.views.request import PairRequest, SentenceRequest

# Limit for a request body in bytes: models take a few hundred tokens.
LARGEST_BODY = 65_536
# Alternatives per token, as in the page's requests.
OTHERS = 9


class Translate(SentenceRequest):
    """A request for `tmt translate`: `search` has keys of that section, `prefix` tokens, `without` heads.

    `split` and `sentence` are as on the command line; everything except a plain translation is for one sentence.
    """

    split: bool = True
    sentence: int = 1
    search: JsonObject = Field({})
    prefix: list[str] = Field([])
    without: list[str] = Field([])
    alternatives: Annotated[int, Field(ge=0, le=20)] = 0
    trace: bool = False
    align: bool = False


def first_question(listed: Mapping[str, Any], source: str, **more: Any) -> Translate:
    """The page's first request for a listed run: `translation` of `QUESTIONS` in `app.js`."""
    has_beam = not listed["search"]["sample"]
    return Translate(
        run=listed["run"], source=source, alternatives=OTHERS, trace=has_beam, align=listed["has_links"], **more
    )


class Attend(PairRequest):
    """A request for `tmt attend`."""

    method: str = "weights"
    words: bool = True
    stacks: list[str] = Field(list(STACKS))
    without: list[str] = Field([])


class ClientQuestion(BaseModel):
    """A request in LibreTranslate's form: a run, by default the newest, and the key, unless a header has it."""

    model_config = SentenceRequest.model_config

    run: str | None = None
    api_key: str | None = None


class TranslateTexts(ClientQuestion):
    """A text or several, their languages, and the number of other translations; in a form, it is text."""

    q: str | list[str]
    source: str
    target: str
    format: Literal["text"] = "text"
    alternatives: Annotated[int, Field(ge=0, le=20, strict=False)] = 0


class HistoryQuestion(PairRequest):
    """A request for the attention of a checkpoint."""

    words: bool = True
    checkpoint: Annotated[int, Field(ge=0)]


class LinkQuestion(BaseModel):
    """A request for the QR code of a link to the page; a longer one would not fit into the largest code."""

    model_config = SentenceRequest.model_config

    run: str
    link: Annotated[str, Field(pattern="^[!-~]{1,2000}$")]


AnyQuestion = TypeVar("AnyQuestion", bound=BaseModel)


def parse(kind: type[AnyQuestion], body: bytes, *, is_form: bool = False, query: str = "") -> AnyQuestion:
    """Parse a request body: JSON, or a form, whose repeated keys become lists. Keys may be in the query instead.

    Raises `Refusal` for invalid JSON, text that is not UTF-8 and unknown keys, `InputError` for invalid values.
    """
    try:
        content = _read_form(body) if is_form else from_json(body, allow_inf_nan=False)
        asked = _read_form(query.encode())
    except ValueError as error:
        raise Refusal(400, f"the body: invalid ({error}); correct it") from None
    if not isinstance(content, dict):
        raise InputError("the body", "not an object", "send one with the keys of the request")
    content = asked | content
    for key in content:
        if key not in kind.model_fields:
            raise Refusal(422, f"{key}: unknown key; {suggest(key, kind.model_fields)}")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(place, without_capital(first["msg"]), "correct it") from None


def _read_form(body: bytes) -> JsonObject:
    fields = parse_qs(body.decode(), keep_blank_values=True, errors="strict")
    return {key: values if len(values) > 1 else values[0] for key, values in fields.items()}


def in_request(error: InputError) -> InputError:
    """The error with the key of the request in place of an argument's name: `search.beam` for `beam`."""
    key = f"search.{error.key}" if error.key in SearchConfig.model_fields else error.key
    return InputError(key, error.problem, error.remedy)
