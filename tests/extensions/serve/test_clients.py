"""The routes in LibreTranslate's form, as its clients use them."""

import json
import os
import random
import shutil
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from support.command_line import PAIRS
from support.sentences import small_tokenizer
from support.serving import Answer, Served, serving, write_run
from support.tiny import SIZES, TRANSFORMER_SIZES, varied_model
from support.variants import with_sizes

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.extensions.serve import guard
from transformer_mt.extensions.serve.questions import LARGEST_BODY
from transformer_mt.tokenizer.tokenizer import Tokenizer

FORM = "application/x-www-form-urlencoded"
SENTENCE, TEXT = "Der Hund schläft.", "Der Hund schläft. Der alte Mann liest.\n\n  Die Frau liest.\r\nDer Hund schläft."
PAIR = {"source": "de", "target": "en"}
NO_KEY = "api_key: no valid key; send the key in the address that tmt serve printed"
OTHERS = "source, target: not the languages of the model; ask for de to en"
FOREIGN = [{"Origin": "http://evil.example"}, {"Origin": "null"}, *({"Sec_Fetch_Site": site} for site in (
    "cross-site", "same-site", "none, cross-site"))]  # fmt: skip
PATHS = ("/translate", "/languages", "/health")


def posted(served: Served, asked: Any, **headers: str | None) -> Answer:
    """The response to JSON from a program: no key in a header, no `Origin`."""
    own = {"Authorization": None, "Origin": None, "Sec_Fetch_Site": None} | headers
    return served.request("POST", "/translate", json.dumps(asked).encode(), **own)


def form(served: Served, asked: Any, method: str = "POST", path: str = "/translate", **headers: str | None) -> Answer:
    """The same for a form."""
    own = {"Authorization": None, "Origin": None, "Sec_Fetch_Site": None, "Content_Type": FORM} | headers
    return served.request(method, path, urlencode(asked, doseq=True).encode(), **own)


def with_key(served: Served, **asked: Any) -> dict[str, Any]:
    return PAIR | {"api_key": served.key} | asked


def own_translation(served: Served, source: str) -> str:
    found = served.ask("translate", source=source).json["translation"]
    assert isinstance(found, str)
    return found


def require_error(answer: Answer, status: int, message: str | None = None) -> None:
    assert answer.status == status, answer
    assert list(answer.json) == ["error"]
    assert "\n" not in answer.json["error"]
    assert message is None or answer.json["error"] == message


@pytest.mark.parametrize("text", [SENTENCE, "", " ", "Der Hund schläft. Der alte Mann liest."])
def test_translation_is_the_one_of_v1(text: str, served: Served) -> None:
    own = served.ask("translate", source=text).json
    expected = {"translatedText": own["translation"], "doubtful": own["doubtful"]}
    assert posted(served, with_key(served, q=text)).json == expected
    assert form(served, with_key(served, q=text, format="text")).json == expected


def test_lines_stay_lines(served: Served) -> None:
    lines = posted(served, with_key(served, q=TEXT)).json["translatedText"].split("\n")
    assert lines == [own_translation(served, line) for line in TEXT.split("\n")]
    assert lines[0] != lines[3]
    assert lines[1] == ""
    for text in ("", SENTENCE):
        assert posted(served, with_key(served, q=f"\n{text}")).json["doubtful"] == bool(text)


def test_list_of_texts_gets_a_list(served: Served) -> None:
    texts = [SENTENCE, TEXT, "", "Die Frau liest."]
    for answer in (posted(served, with_key(served, q=texts)), form(served, with_key(served, q=texts))):
        one_by_one = [posted(served, with_key(served, q=text)).json for text in texts]
        assert answer.json == {key: [each[key] for each in one_by_one] for key in one_by_one[0]}
    assert posted(served, with_key(served, q=[])).json == {"translatedText": [], "doubtful": []}
    one = {"translatedText": [own_translation(served, SENTENCE)], "doubtful": [True]}
    assert posted(served, with_key(served, q=[SENTENCE])).json == one


def test_sentence_has_alternatives(served: Served) -> None:
    ranked = served.ask("translate", source=SENTENCE, search={"n_best": 4}, split=False).json["n_best"]
    best, *others = [each["text"] for each in ranked]
    assert others
    expected = {"translatedText": best, "doubtful": True, "alternatives": others}
    assert posted(served, with_key(served, q=SENTENCE, alternatives=3)).json == expected
    assert form(served, with_key(served, q=SENTENCE, alternatives="3")).json == expected
    both = posted(served, with_key(served, q=[TEXT, SENTENCE], alternatives=3)).json
    assert both["translatedText"][1] == best
    assert both["alternatives"] == [[], others]
    assert both["translatedText"][0].count("\n") == TEXT.count("\n")
    assert "alternatives" not in posted(served, with_key(served, q=SENTENCE, alternatives=0)).json


def test_auto_is_the_source_language_with_no_confidence(served: Served) -> None:
    detected = {"confidence": 0.0, "language": "de"}
    one = posted(served, with_key(served, q=SENTENCE, source="auto")).json
    assert one == {"translatedText": own_translation(served, SENTENCE), "doubtful": True, "detectedLanguage": detected}
    many = form(served, with_key(served, q=[SENTENCE, TEXT], source="auto")).json
    assert many["detectedLanguage"] == [detected, detected]


def test_languages_are_both_and_only_the_source_has_a_target(served: Served) -> None:
    expected = [{"code": "de", "name": "de", "targets": ["en"]}, {"code": "en", "name": "en", "targets": []}]
    assert served.get("/languages").json == expected
    asked = urlencode({"api_key": served.key}).encode()  # libretranslatepy sends a body with GET
    request = urllib.request.Request(f"http://{served.host}/languages", data=asked, method="GET")
    with urllib.request.urlopen(request, timeout=10) as response:
        assert json.load(response) == expected


def test_health_needs_no_key(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.worker, "under_way", 100)
    answer = served.get("/health", Authorization=None, Origin=None, Sec_Fetch_Site=None)
    assert (answer.status, answer.json) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "pair",
    [
        ("en", "de"),
        ("en", "en"),
        ("de", "de"),
        ("de", "fr"),
        ("fr", "en"),
        ("auto", "de"),
        ("de", "auto"),
        ("de-DE", "en"),
        ("", ""),
    ],
)
def test_other_languages_get_400_with_the_pair_that_works(pair: tuple[str, str], served: Served) -> None:
    require_error(form(served, with_key(served, q=SENTENCE, source=pair[0], target=pair[1])), 400, OTHERS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": "html"}, "format: input should be 'text'; correct it"),
        ({"alternatives": 21}, "alternatives: input should be less than or equal to 20; correct it"),
        ({"alternatives": -1}, "alternatives: input should be greater than or equal to 0; correct it"),
        ({"alternatives": "some"}, None),
        ({"source": ["de", "de"]}, "source: input should be a valid string; correct it"),
        ({"targets": "en"}, "targets: unknown key; did you mean target?"),
    ],
)
def test_wrong_value_gets_400_and_its_key(changed: dict[str, Any], message: str | None, served: Served) -> None:
    for ask in (posted, form):
        answer = ask(served, with_key(served, q=SENTENCE) | changed)
        require_error(answer, 400, message)
        assert answer.json["error"].startswith(*changed)


@pytest.mark.parametrize("key", ["q", "source", "target"])
def test_missing_value_gets_400(key: str, served: Served) -> None:
    asked = with_key(served, q=SENTENCE)
    del asked[key]
    require_error(posted(served, asked), 400, f"{key}: field required; correct it")


@pytest.mark.parametrize("q", [5, None, {"a": "b"}, ["a", 5], [["a"]]])
def test_other_types_of_text_get_400(q: Any, served: Served) -> None:
    require_error(posted(served, with_key(served, q=q)), 400)


def test_too_long_sentence_gets_400(served: Served) -> None:
    answer = posted(served, with_key(served, q=[SENTENCE, "Hund " * 200]))
    require_error(answer, 400)
    assert answer.json["error"].startswith("sentence 2: ")


def test_body_that_is_not_utf8_gets_400(served: Served) -> None:
    own = {"Authorization": None, "Content_Type": FORM}
    for text in (b"%ff", b"\xff", b"%ed%a0%80"):
        body = urlencode(with_key(served)).encode() + b"&q=" + text
        require_error(served.request("POST", "/translate", body, **own), 400)
        assert served.request("POST", "/translate", body.replace(text, b"a"), **own).status == 200


@pytest.mark.parametrize("key", [None, "", "x", "{}x", "None", "é", "Bearer {}"])
def test_missing_or_wrong_key_gets_403(key: str | None, served: Served) -> None:
    for asked in (PAIR | {"q": SENTENCE}, PAIR | {"q": SENTENCE, "source": "fr"}):
        given = asked if key is None else asked | {"api_key": key.format(served.key)}
        for answer in (posted(served, given), form(served, given)):
            require_error(answer, 403, NO_KEY)
    given = {} if key is None else {"api_key": key.format(served.key)}
    require_error(form(served, given, "GET", "/languages"), 403, NO_KEY)


@pytest.mark.parametrize(
    ("header", "key", "status"),
    [("Bearer {}", None, 200), ("Bearer {}", "x", 200), ("Bearer x", "{}", 403), ("{}", None, 403), ("", "{}", 200)],
)
def test_key_in_the_header_comes_first(header: str, key: str | None, status: int, served: Served) -> None:
    asked = PAIR | {"q": SENTENCE} | ({"api_key": key.format(served.key)} if key else {})
    assert posted(served, asked, Authorization=header.format(served.key)).status == status


def test_repeated_key_is_refused(served: Served) -> None:
    require_error(form(served, with_key(served, q=SENTENCE, api_key=[served.key] * 2)), 400)
    request = served.written("GET", "/languages")
    again = b"\r\nAuthorization: Bearer " + served.key.encode() + b"\r\n\r\n"
    require_error(served.raw(request.replace(b"\r\n\r\n", again)), 403, NO_KEY)


@pytest.mark.parametrize(
    ("query", "status"), [("run=none", 404), ("rnu=one", 400), ("run=one&run=one", 400), ("run=%ff", 400), ("run", 404)]
)
def test_a_wrong_query_is_never_ignored(query: str, status: int, served: Served) -> None:
    require_error(served.get(f"/languages?{query}"), status)


def test_keys_are_compared_in_constant_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, key: bytes) -> bool:
        compared.append((given, key))
        return False

    monkeypatch.setattr(guard.hmac, "compare_digest", compare)
    require_error(posted(served, with_key(served, q=SENTENCE)), 403)
    require_error(served.get("/v1/runs"), 401)
    assert compared == 2 * [(f"Bearer {served.key}".encode(),) * 2]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda headers: "".join(headers.values()))
def test_form_from_a_foreign_page_is_refused(foreign: dict[str, str], served: Served) -> None:
    asked = with_key(served, q=SENTENCE)
    assert form(served, asked).status == 200
    for path in (*PATHS, *(f"{path}%0A" for path in PATHS)):
        for method in ("GET", "POST"):
            require_error(form(served, asked, method, path, **foreign), 403)
    for path in PATHS:
        require_error(served.get(path, **foreign), 403)


@pytest.mark.parametrize("path", PATHS)
def test_foreign_host_gets_421(path: str, served: Served) -> None:
    require_error(form(served, with_key(served, q=SENTENCE), path=path, Host="evil.example"), 421)


@pytest.mark.parametrize("path", PATHS[:2])
def test_path_with_a_newline_needs_the_key(path: str, served: Served) -> None:
    method = "POST" if path == "/translate" else "GET"
    for header in (None, "Bearer x"):
        asked = PAIR | {"q": SENTENCE} if method == "POST" else {}
        answer = form(served, asked, method, f"{path}%0A", Authorization=header)
        require_error(answer, 403, NO_KEY)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("multipart/form-data; boundary=x", 415), ("text/plain", 415), ("application/jsonp", 415), ("", 415),
        ("application/JSON; charset=utf-8", 200),
    ],
)  # fmt: skip
def test_other_content_type_gets_415(kind: str, status: int, served: Served) -> None:
    assert posted(served, with_key(served, q=SENTENCE), Content_Type=kind).status == status


def test_v1_takes_no_forms(served: Served) -> None:
    asked = urlencode({"run": "one", "source": SENTENCE}).encode()
    require_error(served.request("POST", "/v1/translate", asked, Content_Type=FORM), 415)


def test_large_body_gets_413(served: Served) -> None:
    asked = with_key(served, q="")
    room = LARGEST_BODY - len(urlencode(asked))
    assert form(served, asked | {"q": " " * room}).status == 200
    require_error(form(served, asked | {"q": " " * (room + 1)}), 413)


def test_wrong_method_gets_405(served: Served) -> None:
    for method, path in (("GET", "/translate"), ("POST", "/languages"), ("POST", "/health")):
        require_error(served.request(method, path), 405)


def test_requests_without_the_key_do_not_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.worker, "under_way", 100)
    require_error(form(served, PAIR | {"q": SENTENCE}), 403)
    require_error(form(served, with_key(served, q=SENTENCE)), 503)


def make_newest(run: Path) -> None:
    """Make a run ten minutes old, and every other one years."""
    for path in run.parent.rglob("*"):
        os.utime(path, 2 * (time.time() - 600 if path.is_relative_to(run) else 1e9,))


def test_newest_run_with_a_model_answers_unless_another_is_named(own_runs: Path) -> None:
    tokenizer = small_tokenizer()
    sizes = (
        *with_sizes((), SIZES, transformer=TRANSFORMER_SIZES),
        "data.source_language=nds",
        "data.target_language=en",
    )
    write_run(own_runs / "two", varied_model(vocabulary=tokenizer.size), tokenizer, *sizes)
    (own_runs / "zero").mkdir()
    with serving(own_runs) as served:
        for newest, language, other in (("one", "de", "two"), ("two", "nds", "one")):
            make_newest(own_runs / newest)
            shutil.copy(own_runs / newest / "config.toml", own_runs / "zero")  # newer, but without a model
            assert [one["code"] for one in served.get("/languages").json] == [language, "en"]
            asked = with_key(served, q=SENTENCE, source=language)
            assert posted(served, asked).status == 200
            assert posted(served, asked | {"run": newest}).status == 200
            require_error(posted(served, asked | {"run": other}), 400)
            for run, code in ((newest, language), (other, "nds" if language == "de" else "de")):
                assert served.get(f"/languages?run={run}").json[0]["code"] == code
                query = urlencode(with_key(served, q=SENTENCE, source=code, run=run))
                headers = {"Authorization": None, "Content_Type": FORM}
                assert served.request("POST", f"/translate?{query}", **headers).status == 200
        for path in own_runs.iterdir():
            shutil.rmtree(path)
        require_error(posted(served, asked), 404)


HOSTILE: list[Any] = [
    *("", "\0", "\x1b[2J", "\u202e", "é" * 50, "𝕏", "a\nb", "<b>x</b>", "' OR 1=1", "../../etc/passwd", "%", "{}"),
    *("auto", "de", "en", "text", "html", "one", "Hund " * 300),
    *(-1, 0, 1, 21, 10**30, 0.5, True, None, [], ["a"], {}, {"a": ["b"]}, [[]]),
]
NAMES = ["q", "source", "target", "format", "alternatives", "api_key", "run", "Q", "source[]", "\0", "key"]
CODES = {200, 400, 403, 404, 405, 413, 415, 503, 504}


def hostile_request(draw: random.Random, served: Served) -> tuple[bytes, bool]:
    """A request, and whether it has the key."""
    asked: dict[str, Any] = PAIR | {"q": SENTENCE}
    for _ in range(draw.randrange(4)):
        asked[draw.choice(NAMES)] = draw.choice(HOSTILE)
    asked["api_key"] = draw.choice([served.key, served.key, served.key[:-1], *HOSTILE])
    if draw.random() < 0.1:
        del asked["api_key"]
    is_json = draw.random() < 0.5
    text = json.dumps(asked, ensure_ascii=draw.random() < 0.5) if is_json else urlencode(asked, doseq=True)
    body = bytearray(text.encode())
    for _ in range(draw.choice([0, 0, 0, 1, 5])):
        place = draw.randrange(len(body))
        body[place : place + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
    kinds = {True: "application/json", False: FORM}
    headers: dict[str, str | None] = {"Content_Type": kinds[is_json if draw.random() < 0.9 else not is_json]}
    headers["Authorization"] = draw.choice([None, None, None, "", "Bearer x", "Basic eDp4", f"Bearer {served.key}"])
    path = draw.choice(["/translate"] * 6 + ["/languages", "/translate/", "/translate%0a", "/translate?q=x", "/detect"])
    method = draw.choice(["POST"] * 6 + ["GET", "PUT"])
    has_key = any(key in bytes(body) for key in (served.key.encode(), quote_plus(served.key).encode()))
    in_header = headers["Authorization"] == f"Bearer {served.key}"
    return served.written(method, path, bytes(body), **headers), in_header or has_key


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.slow)])
def test_hostile_requests_get_one_line_and_no_answer_without_the_key(
    count: int, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    draw, statuses = random.Random(count), []
    for _ in range(count):
        request, has_key = hostile_request(draw, served)
        answer = served.raw(request)
        statuses.append(answer.status)
        assert answer.status in CODES, (request, answer)
        if answer.status != 200:
            require_error(answer, answer.status)
        assert has_key or (answer.status != 200 and served.key.encode() not in answer.body), request
    assert {200, 400, 403} <= set(statuses)
    assert not list(tmp_path.iterdir())  # no report of an internal error
    assert posted(served, with_key(served, q=SENTENCE)).status == 200


def test_model_with_several_target_languages_translates_into_each(tmp_path: Path) -> None:
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocabulary_size=320), tags=["<2en>", "<2fr>"])
    mixture = 'data.mixture.french={corpus="none", target_language="fr"}'
    languages = ("data.source_language=de", "data.target_language=en")
    sizes = with_sizes((*languages, mixture), SIZES, transformer=TRANSFORMER_SIZES)
    write_run(tmp_path / "one", varied_model(vocabulary=tokenizer.size), tokenizer, *sizes)
    with serving(tmp_path) as served:
        expected = [("de", ["en", "fr"]), ("en", []), ("fr", [])]
        assert [(one["code"], one["targets"]) for one in served.get("/languages").json] == expected
        sources = [source for source, _ in PAIRS]
        english, french = (
            posted(served, with_key(served, q=sources, target=to)).json["translatedText"] for to in ("en", "fr")
        )
        assert english == [own_translation(served, source) for source in sources]
        assert english != french
        other = posted(served, with_key(served, q=SENTENCE, target="es"))
        require_error(other, 400, "source, target: not the languages of the model; ask for de to en or de to fr")
