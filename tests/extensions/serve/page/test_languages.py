"""The page in other languages: no text is forgotten, none is left over, and numbers and the course follow."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.command_line import Tmt
from support.page import VIEWS, LoadedPage, expect
from support.page_texts import of_html, spaced, texts_of, words_of
from support.serving import serving

import transformer_mt
from transformer_mt.extensions.lessons.course import course_file, read_course
from transformer_mt.extensions.serve.page import LANGUAGE, LANGUAGES, page_files, page_language
from transformer_mt.extensions.serve.page.saved_page import saved_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FILES = page_files()
# Prose to the eye, but names, examples and commands.
NO_TEXTS = {
    "AbortError", "Bearer {0}", "Content-Type", "Escape", "Hello", "Retry-After", "The", "branch best",
    "guess shade-{0}{1}", "ln p {0}{1}", "piece chosen", "tmt", "tmt key", "tmt run",
    "tmt train --set training.keep_checkpoints=weights",
}  # fmt: skip
# Shown where no script runs.
WITHOUT_SCRIPTS = "This page needs JavaScript."
CODES = sorted(path.stem for path in LANGUAGES.glob("*.toml") if path.stem != "en")
PLACEHOLDER = re.compile(r"\{\d(?::n)?\}")


@pytest.fixture(params=CODES)
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv(LANGUAGE, request.param)
    return page_language()


def test_every_text_is_translated_and_every_translation_used(language: dict[str, Any]) -> None:
    parts = {stop.part for stop in read_course(course_file("en")).stops if stop.part}
    shown = (texts_of(FILES) | parts) - NO_TEXTS - {WITHOUT_SCRIPTS}
    assert sorted(shown - {*language["texts"]}) == []
    words = words_of(FILES) | of_html(FILES["index.html"]) | shown
    keys = {key for name, text in FILES.items() if name.endswith(".js") for key in re.findall(r"\b(\w+): ", text)}
    assert sorted({*language["texts"]} - words - keys) == []


def test_every_sentence_of_the_server_is_still_said(language: dict[str, Any]) -> None:
    said = " ".join(texts_in_python())
    for sentence in language["sentences"]:
        for part in PLACEHOLDER.split(sentence):
            assert part.strip(" .,:%") in said, sentence


def texts_in_python() -> Iterator[str]:
    """The texts in our own code."""
    for path in sorted(Path(transformer_mt.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield spaced(node.value)


def test_translations_have_the_values_of_their_texts(language: dict[str, Any]) -> None:
    for table in ("texts", "sentences"):
        for english, own in language[table].items():
            assert sorted(PLACEHOLDER.findall(own)) == sorted(PLACEHOLDER.findall(english)), english


def test_saved_page_has_the_texts_too(language: dict[str, Any]) -> None:
    page = saved_page([]).decode()
    assert all(json.dumps(own, ensure_ascii=False) in page for own in language["texts"].values())


def test_unknown_language_is_refused(tmt: Tmt, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LANGUAGE, "en")
    refused = tmt("serve", str(home / "runs"), "--port", "0", "--language", "xx")
    assert refused.code == 2
    assert "--language: 'xx' is unknown; choose one of de, en" in refused.err


# In brackets: what went through the language file.
WRAPPED = "⟦{}⟧"
# All texts and labels of the page, without what comes from models, users and runs, and without what is in brackets.
LEFT = """() => {
  const page = document.documentElement.cloneNode(true);
  const others = "bdi, code, math, script, style, noscript, textarea, .words [hidden], .stage strong, .token, "
    + "#run, #explained-row, #misleading-word";
  page.querySelectorAll(others).forEach((one) => one.remove());
  page.querySelectorAll("option, td, th, li, p, summary, button, text").forEach((one) => one.append(" "));
  const labels = [...page.querySelectorAll("*")].flatMap((one) =>
    ["aria-label", "aria-valuetext", "label", "title"].map((name) => one.getAttribute(name) ?? ""));
  return [page.textContent, ...labels].map((text) => {
    while (/⟦[^⟦⟧]*⟧/.test(text)) {
      text = text.replaceAll(/⟦[^⟦⟧]*⟧/g, " ");
    }
    return text;
  }).join(" ");
}"""
# Names of metrics, heads, scores, graphs and variables; and words of examples.
NAMES = {
    "tmt", "BLEU", "cross", "encoder", "decoder", "mean", "additive", "bilinear", "dot",
    "head", "share",
    "Hello", "shiny", "sun", "dog", "runs", "the", "park", "The",
}  # fmt: skip


def check(opened: LoadedPage, left: set[str]) -> None:
    """Collect the words outside of brackets, once nothing is waited for."""
    opened.settle()
    opened.expect_count("[aria-busy=true]:visible", 0)
    found = re.findall(r"[^\W\d_]{3,}", opened.page.evaluate(LEFT))
    left.update(word for word in found if word not in NAMES)


@pytest.mark.slow
def test_every_text_shown_goes_through_the_language_file(chromium: "Browser", home: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LANGUAGE, CODES[0])
        known = page_language()
    wrapped = {
        table: {english: WRAPPED.format(english) for english in known[table]} for table in ("texts", "sentences")
    }
    language = {"code": "en"} | wrapped
    left: set[str] = set()
    with serving(home / "runs") as served, chromium.new_context() as context:
        context.route(
            "**/page/language.js",
            lambda sent: sent.fulfill(
                body=f"export const LANGUAGE = {json.dumps(language)};", content_type="text/javascript"
            ),
        )
        opened = LoadedPage(context.new_page())
        opened.page.goto(served.server.address)
        opened.wait(".linked")
        for view, drawn in VIEWS.items():
            opened.click(f"#tab-{view}")
            opened.wait(drawn)
            check(opened, left)
        look_closer(opened, left)
        opened.click("#tab-course")
        for _ in read_course(course_file()).stops:
            check(opened, left)
            opened.find("[data-place=next]").click(force=True)
    assert " ".join(sorted(left)) == ""


def look_closer(opened: LoadedPage, left: set[str]) -> None:
    """Show the QR code, ask for alternatives and the reason for one, turn a head off, and choose other numbers."""
    opened.click("#show-code")
    opened.wait("#code svg")
    check(opened, left)
    opened.click("[data-place='close code']")
    opened.click("#tab-choices")
    opened.click("[data-place='piece 0']")
    opened.click("[data-place='why 1']")
    opened.wait(".contrast th")
    check(opened, left)
    opened.click("[data-place='choice 1']")
    check(opened, left)
    opened.click("[data-place=undo]")
    opened.fill("#source", "Der Hund schläft. Die Xylophonkatze wartet.")
    opened.wait(".several")
    opened.click("#tab-heads")
    opened.click("#ask-losses")
    opened.click("[data-place='switch cross.1.1']")
    opened.select("#unit", "pieces")
    for method in ("gradient", "erasure", "weights"):
        opened.select("#method", method)
        check(opened, left)
    opened.click("[data-place='pick cross.1.mean']")
    check(opened, left)
    opened.click("#translation [data-place='all on']")


@pytest.mark.slow
def test_german_page_has_german_texts_numbers_and_course_but_leaves_foreign_texts_alone(
    chromium: "Browser", home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANGUAGE, "de")
    with serving(home / "runs") as served, LoadedPage.opened(chromium, served.server.address) as opened:
        opened.expect_attribute("html", "lang", "de")
        opened.expect_part("#purpose", "Schreiben Sie einen Satz auf Deutsch.")
        opened.expect_text("#tabs button >> nth=0", "Was es noch sagen könnte")
        expect(opened.find(".piece .below-word").first).to_have_text(re.compile(r"\d,\d\d"))
        opened.expect_attribute("#examples", "aria-label", "Beispiele")
        opened.click("#tab-steps")
        opened.expect_part("#all-steps", "Der Score jedes Keys: ")
        expect(opened.find("#all-steps > p").nth(1)).to_have_text(re.compile(" gibt \\d+ % von dem, was Kopf "))
        opened.click("#tab-course")
        first = read_course(course_file("de")).stops[0]
        opened.expect_text("#stop h3", f"1 von 21: {first.title}")
        shown = opened.page.evaluate("""async () => {
          const { element, foreign, literal, math, mixed } = await import("/page/dom.js");
          return [element("p", {}, "Undo"), foreign("Undo"), element("p", {}, literal("Undo")), math("mi", {}, "Undo"),
            mixed("Undo; Undo")].map((one) => one.textContent);
        }""")
        assert shown == ["Rückgängig", "Undo", "Undo", "Undo", "Undo; Undo"]
