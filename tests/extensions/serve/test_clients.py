"""The routes in LibreTranslate's form, as its clients use them."""

import json
import os
import shutil
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support.command_line import PAIRS
from support.serving import Answer, Served, serving
from support.tiny import write_run

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.tokenizer.tokenizer import Tokenizer

FORM = "application/x-www-form-urlencoded"
SENTENCE, TEXT = "Der Hund schläft.", "Der Hund schläft. Der alte Mann liest.\n\n  Die Frau liest.\r\nDer Hund schläft."
PATHS = ("/translate", "/languages", "/health")
# A program sends no key in a header, and no `Origin`.
PROGRAM: dict[str, str | None] = {"Authorization": None, "Origin": None, "Sec_Fetch_Site": None}


def body(served: Served, **changed: Any) -> dict[str, Any]:
    """A question with the key; None leaves a key out."""
    usual = {"q": SENTENCE, "source": "de", "target": "en", "api_key": served.key}
    return {key: value for key, value in (usual | changed).items() if value is not None}


def posted(served: Served, **changed: Any) -> Answer:
    return served.request("POST", "/translate", json.dumps(body(served, **changed)).encode(), **PROGRAM)


def form(
    served: Served, method: str = "POST", path: str = "/translate", *, headers: Any = None, **changed: Any
) -> Answer:
    sent = PROGRAM | {"Content_Type": FORM} | (headers or {})
    return served.request(method, path, urlencode(body(served, **changed), doseq=True).encode(), **sent)


def require_error(answer: Answer, status: int, place: str = "") -> None:
    """Check that the answer is one line, which begins with the place of the problem."""
    assert answer.status == status, answer
    assert list(answer.json) == ["error"]
    assert answer.json["error"].startswith(place)
    assert "\n" not in answer.json["error"]


def test_translation_is_the_one_of_v1_line_by_line(served: Served) -> None:
    for text in (SENTENCE, "", "Der Hund schläft. Der alte Mann liest."):
        own = served.ask("translate", source=text).json
        expected = {"translatedText": own["translation"], "doubtful": own["doubtful"]}
        assert posted(served, q=text).json == form(served, q=text, format="text").json == expected
    lines = posted(served, q=TEXT).json["translatedText"].split("\n")
    assert lines == [served.ask("translate", source=line).json["translation"] for line in TEXT.split("\n")]
    assert len({*lines}) == 4


def test_list_of_texts_gets_a_list(served: Served) -> None:
    texts = [SENTENCE, TEXT, "", "Die Frau liest."]
    detected = {"confidence": 0.0, "language": "de"}
    one_by_one = [posted(served, q=text, source="auto").json for text in texts]
    assert one_by_one[0]["detectedLanguage"] == detected
    for answer in (posted(served, q=texts, source="auto"), form(served, q=texts, source="auto")):
        assert answer.json == {key: [each[key] for each in one_by_one] for key in one_by_one[0]}
    assert posted(served, q=[]).json == {"translatedText": [], "doubtful": []}
    assert len(posted(served, q=[SENTENCE]).json["translatedText"]) == 1


def test_sentence_has_alternatives(served: Served) -> None:
    own = served.ask("translate", source=SENTENCE, search={"n_best": 4}, split=False).json
    best, *others = [each["text"] for each in own["n_best"]]
    assert others
    expected = {"translatedText": best, "doubtful": own["doubtful"], "alternatives": others}
    assert posted(served, alternatives=3).json == form(served, alternatives="3").json == expected
    both = posted(served, q=[TEXT, SENTENCE], alternatives=3).json
    assert (both["translatedText"][1], both["alternatives"]) == (best, [[], others])
    assert "alternatives" not in posted(served, alternatives=0).json


def test_languages_are_both_and_only_the_source_has_a_target(served: Served) -> None:
    expected = [{"code": "de", "name": "de", "targets": ["en"]}, {"code": "en", "name": "en", "targets": []}]
    assert served.get("/languages").json == expected
    asked = urlencode({"api_key": served.key}).encode()  # libretranslatepy sends a body with GET
    request = urllib.request.Request(f"http://{served.host}/languages", data=asked, method="GET")
    with urllib.request.urlopen(request, timeout=10) as response:
        assert json.load(response) == expected


# The status, the place of the problem, and what a question changes.
WRONG = """
400  source, target  {"source": "en", "target": "de"}
400  source, target  {"source": "de", "target": "fr"}
400  source, target  {"source": "auto", "target": "de"}
400  source, target  {"source": "de-DE", "target": "en"}
400  format  {"format": "html"}
400  alternatives  {"alternatives": 21}
400  alternatives  {"alternatives": "some"}
400  source  {"source": ["de", "de"]}
400  targets  {"targets": "en"}
400  q  {"q": null}
400  sentence 2  {"q": ["Der Hund.", "LONG"]}
404  run  {"run": "none"}
403  api_key  {"api_key": null}
403  api_key  {"api_key": "", "source": "fr"}
403  api_key  {"api_key": "é"}
"""


def test_wrong_question_gets_its_status_and_place(served: Served) -> None:
    for line in WRONG.replace("LONG", "Hund " * 200).split("\n")[1:-1]:
        status, place, changed = line.split("  ")
        for ask in (posted, form):
            require_error(ask(served, **json.loads(changed)), int(status), f"{place}: ")
    for key in (None, "", "x"):
        require_error(
            form(served, "GET", "/languages", q=None, source=None, target=None, api_key=key), 403, "api_key: "
        )


def test_wrong_types_and_bytes_get_400(served: Served) -> None:
    for q in (5, {"a": "b"}, ["a", 5], [["a"]]):
        require_error(posted(served, q=q), 400)
    require_error(form(served, api_key=[served.key] * 2), 400)
    for text in (b"%ff", b"\xff", b"%ed%a0%80"):
        asked = urlencode(body(served, q=None)).encode() + b"&q=" + text
        own = PROGRAM | {"Content_Type": FORM}
        require_error(served.request("POST", "/translate", asked, **own), 400)
        assert served.request("POST", "/translate", asked.replace(text, b"a"), **own).status == 200
    for query, status in {"rnu=one": 400, "run=one&run=one": 400, "run=%ff": 400, "run=none": 404, "run": 404}.items():
        require_error(served.get(f"/languages?{query}"), status)


@pytest.mark.parametrize(
    ("header", "key", "status"),
    [("Bearer {}", None, 200), ("Bearer {}", "x", 200), ("Bearer x", "{}", 403), ("{}", None, 403), ("", "{}", 200)],
)
def test_key_in_the_header_comes_first(header: str, key: str | None, status: int, served: Served) -> None:
    headers = {"Authorization": header.format(served.key)}
    assert form(served, headers=headers, api_key=key and key.format(served.key)).status == status


def test_foreign_page_is_refused(served: Served) -> None:
    for path in (*PATHS, *(f"{path}%0A" for path in PATHS)):
        require_error(form(served, "GET", path, headers={"Sec_Fetch_Site": "cross-site"}), 403)


def test_only_json_and_forms_are_read(served: Served) -> None:
    for kind in ("multipart/form-data; boundary=x", "application/jsonp", ""):
        require_error(form(served, headers={"Content_Type": kind}), 415)
    asked = urlencode({"run": "one", "source": SENTENCE}).encode()
    require_error(served.request("POST", "/v1/translate", asked, Content_Type=FORM), 415)
    require_error(served.get("/translate"), 405)


def test_busy_server_is_well_and_refuses_a_key_at_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.worker, "under_way", 100)
    require_error(form(served, api_key=None), 403)
    require_error(form(served), 503)
    answer = served.get("/health", **PROGRAM)
    assert (answer.status, answer.json) == (200, {"status": "ok"})


def test_newest_run_with_a_model_answers_unless_another_is_named(own_runs: Path) -> None:
    two = write_run(own_runs / "two", "data.source_language=nds", "data.target_language=en")
    (own_runs / "zero").mkdir()
    shutil.copy(two / "config.toml", own_runs / "zero")  # the newest, but without a model
    for path in (own_runs / "one").rglob("*"):
        os.utime(path, (1e9, 1e9))
    with serving(own_runs) as served:
        for run, language in ((None, "nds"), ("one", "de"), ("two", "nds")):
            query = urlencode({"run": run} if run else {})
            assert served.get(f"/languages?{query}").json[0]["code"] == language
            assert posted(served, source=language, run=run).status == 200
            answer = form(served, path=f"/translate?{query}", source="de")
            assert answer.status == (200 if language == "de" else 400)
        for path in own_runs.iterdir():
            shutil.rmtree(path)
        require_error(posted(served), 404)


def test_model_with_several_target_languages_translates_into_each(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(
        [text for pair in PAIRS for text in pair], TokenizerConfig(vocabulary_size=320), tags=["<2en>", "<2fr>"]
    )
    mixture = 'data.mixture.french={corpus="none", target_language="fr"}'
    languages = ("data.source_language=de", "data.target_language=en")
    write_run(tmp_path / "one", *languages, mixture, tokenizer=tokenizer)
    with serving(tmp_path) as served:
        expected = [("de", ["en", "fr"]), ("en", []), ("fr", [])]
        assert [(one["code"], one["targets"]) for one in served.get("/languages").json] == expected
        sources = [source for source, _ in PAIRS]
        english, french = (posted(served, q=sources, target=to).json["translatedText"] for to in ("en", "fr"))
        assert english == [served.ask("translate", source=source).json["translation"] for source in sources] != french
        require_error(posted(served, target="es"), 400, "source, target: ")
