"""Hostile texts are shown as text, wherever they come from."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from support.hostile_text import HOSTILE_TEXTS
from support.page import VIEWS, LoadedPage, expect
from support.serving import Served, serving

from transformer_mt.text.terminal import escape_controls

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.slow

TEXTS = (
    *HOSTILE_TEXTS,
    "</textarea><svg onload=alert(1)>",
    "<img src=x onerror=alert(1)><style>p{display:none}</style>",
    "</bdi></option></select><b>x",
    "' onfocus=alert(1) '\"><b onmouseover=alert(1)>",
    "<a href=javascript:alert(1)>x</a><iframe srcdoc='<b>x'>",
    "${alert(1)} {{7}} \\u003cscript\\u003e %3Cscript%3E",
    "\u202d\u2068\u2067שלום\u200f(1) a\u202eb x\u200by\ufeffz",
    "\u2028\u2029\x85\x7f\x9b31m",
    "__proto__ constructor toString",
)
# This many texts are put in one place at once, between marks that occur nowhere else on the page.
TOGETHER, MARK = 14, "⁂"

# The keys of answers with texts from a model, a corpus or a run, and the keys with the program's own words.
FOREIGN = {
    "run", "corpus", "source_language", "target_language", "example", "examples", "translation", "usual", "read",
    "lines", "prefix", "tokens", "token", "others", "never_seen", "source_words", "target_words", "rows", "columns",
    "of", "in_words", "guesses", "word", "paragraphs", "question", "answer", "sentence", "command",
    "formulas", "choices", "code", "part",
}  # fmt: skip
OWN = {"meaning", "words", "symbol"}
# Where they are shown: in every view, then in each view.
ALWAYS = [
    "#about bdi", "#run option", "#examples bdi", "#spoken bdi", "#translation .word bdi",
    "#translation .word + span[hidden]",
    ".as-text bdi", ".several bdi", ".remarks > .warning bdi", ".remarks > li:has(bdi:only-child) bdi", ".compared",
]  # fmt: skip
PLACES = {
    "choices": [
        ".piece bdi",
        ".choice bdi",
        ".contrast th bdi",
        ".contrast p bdi",
        ".actions bdi",
        ".start bdi",
        ".node bdi",
    ],
    "heads": ["#one-head .word bdi", "#one-head thead bdi", "#one-head tbody bdi", "#one-head .word + span[hidden]"],
    "steps": ["#explained-row option", "h3 bdi", "h3 + p bdi", "p + p > bdi", ".stage > summary bdi", ".numbers bdi"],
    "lens": [".lens td.quiet bdi", ".lens th bdi", ".guess bdi", ".guesses bdi", "#layers li bdi"],
    "learning": [".then", "#history thead bdi", "#history tbody bdi"],
}
# Routes by the place where their errors are shown, and the view that sends the request.
ERRORS = [
    ("attend", "heads"), ("losses", "heads"), ("explain", "steps"), ("lens", "lens"), ("curves", "learning"),
    ("history", "learning"), ("translate", "source"), ("translate", "beam"), ("lessons", "course"),
]  # fmt: skip
# Errors: elements created from text, texts outside <bdi> or a paragraph of SVG or MathML, and characters that reorder
# the text around them.
WRONG = """(mark) => {
  const elements = "body :is(script, img, b, a:not(.skip, [rel]), style, iframe, svg[onload])";
  const made = [...document.querySelectorAll(elements)];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const [outside, raw] = [[], []];
  const reorders = /(?![\\n\\u200c\\u200d\\xad])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]/u;
  const check = (text) => reorders.test(text) && raw.push(text);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    check(data);
    if (data.includes(mark) && !parentElement.closest("bdi, option, span[hidden], svg text, math")) {
      outside.push(data);
    }
  }
  for (const one of document.querySelectorAll("[aria-label], [title], [aria-valuetext]")) {
    ["aria-label", "title", "aria-valuetext"].forEach((name) => check(one.getAttribute(name) ?? ""));
  }
  return { made: made.map((one) => one.outerHTML), outside, raw };
}"""
NOTHING = {"made": [], "outside": [], "raw": []}


def rewritten(answer: Any, texts: Iterator[str], key: str = "", *, foreign: bool = False) -> Any:
    """The answer, with all texts of models, corpora and runs replaced by hostile ones."""
    match answer:
        case str() if foreign:
            return next(texts)
        case str() if key == "title":
            return f"Name: {next(texts)}"
        case str() if key in OWN:
            return escape_controls(next(texts)).replace(MARK, " ")
        case list():
            return [rewritten(one, texts, key, foreign=foreign) for one in answer]
        case dict():
            return {key: rewritten(one, texts, key, foreign=foreign or key in FOREIGN) for key, one in answer.items()}
    return answer


def hostile(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield all texts joined, each time in a different order: always the same length, rarely the same text."""
    for number in count():
        first = number % len(texts)
        yield MARK.join((*texts[first:], *texts[:first]))


def genuine(served: Served) -> dict[str, Any]:
    """The server's answers about two sentences, by route."""
    source = "Der Quaxl wartet. Der Hund schläft."
    asked: dict[str, Any] = {"prefix": ["▁The"], "without": ["cross.1.1"], "alternatives": 9}
    first = served.ask("translate", source=source, align=True, trace=True, **asked).json
    pair, second = {"source": source, "target": first["translation"]}, first["alternatives"][1]
    why = {"source": source, "prefix": ["▁The"], "word": second["token"], "other": second["others"][0][0]}
    questions = {"explain": pair | {"stack": "cross"}, "history": pair | {"checkpoint": 150}, "contrast": why}
    questions |= dict.fromkeys(("attend", "losses", "lens"), pair)
    answers = {"translate": first} | {route: served.ask(route, **asked).json for route, asked in questions.items()}
    for route in ("runs", "lessons", "curves?run=one"):
        answers[route.partition("?")[0]] = served.get(f"/v1/{route}").json
    answers["lens"]["words"] = [{"word": one["token"], "decided": 1} for one in answers["lens"]["positions"]]
    for place, position in enumerate(answers["lens"]["positions"]):
        position["words"] = [place]
    assert all(answer.get("error") is None for answer in answers.values())
    return answers


class Answering:
    """The page with answers made by the test, and errors for routes that should fail."""

    def __init__(self, opened: LoadedPage, served: Served) -> None:
        self.answers, self.opened = genuine(served), opened
        self.texts, self.fails, self.place = hostile(()), "", ""
        opened.page.route(lambda url: urlsplit(url).path.startswith("/v1/"), self.answer)
        opened.expected.add(500)

    def answer(self, route: "Route") -> None:
        name = urlsplit(route.request.url).path.removeprefix("/v1/")
        answer = rewritten(self.answers[name], self.texts)
        if fails := name == self.fails:
            answer = {"error": f"{self.place}: {next(self.texts)}"}
        route.fulfill(status=500 if fails else 200, content_type="application/json", body=json.dumps(answer))

    def reload(self, *texts: str) -> None:
        self.texts, self.fails = hostile(texts), ""
        self.opened.page.reload()
        self.opened.wait("#translation .words")


def check_seen(opened: LoadedPage, texts: tuple[str, ...], *places: str) -> None:
    """Check that each text is shown in each place, without errors anywhere."""
    for place in places:
        expect(opened.find(place).first).to_be_attached()
        shown = " ".join(opened.find(place).all_text_contents())
        assert not [text for text in texts if escape_controls(text) not in shown], (place, shown)
    assert opened.page.evaluate(WRONG, MARK) == NOTHING


@pytest.mark.parametrize("first", range(0, len(TEXTS), TOGETHER))
def test_texts_of_models_corpora_and_runs_are_escaped(opened: LoadedPage, served: Served, first: int) -> None:
    texts = TEXTS[first : first + TOGETHER]
    answering = Answering(opened, served)
    answering.reload(*texts)
    for view in VIEWS:
        opened.click(f"#tab-{view}")
        opened.wait(VIEWS[view])
        if view == "choices":
            opened.find(".piece").nth(1).click()
            opened.find(".choice").nth(1).click()
            opened.wait(".actions bdi")
            opened.find(".piece").nth(1).click()
            opened.find(".why").first.click()
            opened.wait(".contrast th")
        elif view == "lens":
            opened.find(".guess").first.hover()
        check_seen(opened, texts, *PLACES[view])
    check_seen(opened, texts, *ALWAYS)
    opened.click("#tab-course")
    opened.wait("#question .ways")
    check_seen(opened, texts, "#stop h3 bdi", "#stop > p bdi", "#question details bdi", "#question code bdi")
    answering.answers["translate"]["alignment"] = None
    answering.reload(MARK.join(texts))  # all texts equal
    opened.click("#tab-learning")
    check_seen(opened, texts, ".several + .words bdi", ".words + .words bdi", ".then bdi")


def test_errors_of_every_route_are_escaped(opened: LoadedPage, served: Served) -> None:
    answering = Answering(opened, served)
    answering.reload(*TEXTS)
    opened.find("#ask-losses").evaluate("(button) => button.click()")
    for number, (route, place) in enumerate(ERRORS):
        opened.click("#tab-choices")
        answering.fails, answering.place = route, "search.beam" if place == "beam" else place
        opened.fill("#source", f"Der Hund {number}.")
        if place in (*VIEWS, "course"):
            opened.wait("#translation .linked")
            opened.click(f"#tab-{place}")
        opened.expect_count(".problem:not(:empty)", 1)
        check_seen(opened, TEXTS, f"#{place}-problem bdi")
    answering.fails = "runs"
    opened.page.reload()
    check_seen(opened, TEXTS, "#problem bdi")


def test_run_of_any_name_is_shown(chromium: "Browser", home: Path, tmp_path: Path) -> None:
    names = ['"><img src=x onerror=alert(1)>', "\u202egnol\n", "__proto__"]
    for name in names:
        (tmp_path / name).symlink_to(home / "runs/one")
    runs = [tmp_path / name for name in names]
    with serving(runs) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        assert sorted(opened.find("#run option").all_text_contents()) == sorted(map(escape_controls, names))
        for name in names:
            opened.select("#run", name)
            opened.type("Der Hund wartet.")
            opened.expect_part("#translation .above", "Hund")
