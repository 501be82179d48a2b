"""View 1: typing, translations, links, several sentences, the key, and what happens when the server fails."""

from typing import Any

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

pytestmark = pytest.mark.slow

BUSY = {"error": "the server: 16 requests are waiting; try again in a second"}


def test_no_address_of_the_page_has_the_key(opened: LoadedPage, served: Served) -> None:
    opened.page.add_init_script("""
      globalThis.addresses = [];
      const replaced = history.replaceState.bind(history);
      history.replaceState = (state, title, address) => {
        addresses.push(address);
        replaced(state, title, address);
      };
    """)
    opened.page.goto("about:blank")
    opened.page.goto(f"{served.server.address}&stop=3&view=course")
    opened.expect_part("#stop h3", "3 of ")
    opened.click("[data-place=next]")
    opened.page.wait_for_url("**stop=4*")
    addresses = opened.page.evaluate("addresses")
    assert len(addresses) >= 2
    assert addresses[0].endswith("#stop=3&view=course")
    assert not [address for address in addresses if "key" in address]
    opened.page.reload()
    opened.wait("#question .ways")  # the key survives


def test_typed_text_is_translated_and_linked(opened: LoadedPage, served: Served) -> None:
    opened.type("Der Baum fällt.")
    opened.expect_text("#translation .above .word bdi", ["Der", "Baum", "fällt", "."])
    found = served.ask("translate", source="Der Baum fällt.", align=True).json
    opened.expect_text("#translation .below .word bdi", found["alignment"]["target_words"])
    opened.expect_text("#spoken", found["translation"])
    opened.expect_attribute("#spoken bdi", "lang", "en")
    source, target = found["alignment"]["links"][0]
    number = f"{found['alignment']['shares'][target][source]:.2f}".lstrip("0")
    word = opened.find("#translation .below .word").nth(target)
    for light in (word.hover, word.focus):
        opened.find("h1").hover()
        opened.expect_count(".lit", 0)
        light()
        opened.expect_part("#translation .link-number.lit >> nth=0", number)
        expect(opened.find("#translation .above .word").nth(source)).to_have_class("word lit")


def test_several_sentences_are_offered(opened: LoadedPage) -> None:
    opened.type("Der Hund wartet. Der Mann schläft.")
    opened.expect_part(".several", "2 sentences")
    opened.find(".several button").nth(1).click()
    opened.expect_value("#source", "Der Mann schläft.")
    opened.expect_count(".several", 0)
    opened.expect_part("#translation .above", "Mann")


def test_long_sentence_is_reported_next_to_it(opened: LoadedPage) -> None:
    opened.expected = {422}
    opened.fill("#source", "Hund " * 200)
    opened.expect_part("#source-problem", "the model takes at most")
    opened.expect_attribute("#source", "aria-invalid", "true")
    opened.fill("#source", "Der Hund wartet.")
    opened.expect_text("#source-problem", "")
    opened.expect_part("#translation .above", "wartet")


def test_missing_key_is_explained_until_an_address_has_it(opened: LoadedPage, served: Served) -> None:
    opened.expected = {401}
    opened.page.evaluate("sessionStorage.clear()")
    opened.page.reload()
    opened.expect_part("#problem", "open the address that tmt serve printed again")
    opened.page.evaluate("document.body.dataset.opened = 'once'")
    opened.page.goto(served.server.address)
    opened.expect_text("#problem", "")
    opened.wait("#translation .linked")
    assert "key" not in opened.page.url
    opened.expect_attribute("body", "data-opened", "once")  # the page was not reloaded


def test_invalid_requests_are_not_repeated(opened: LoadedPage) -> None:
    asked = list[str]()
    opened.hold_clock()
    opened.reply("translate", {"error": "source: too long; shorten it"}, status=422)
    opened.fill("#source", "Der Vogel wartet.")
    opened.page.clock.run_for(100)
    opened.expect_text("#source-problem", "source: too long; shorten it")
    opened.page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))
    opened.pass_by(10)
    assert "runs" in asked
    assert "translate" not in asked


def test_failed_requests_are_retried(opened: LoadedPage) -> None:
    asked = list[str]()
    opened.hold_clock()
    opened.reply("translate", {"error": "a bug in tmt"}, status=500, times=1)
    opened.fill("#source", "Der Vogel wartet.")
    opened.page.clock.run_for(100)
    opened.expect_text("#source-problem", "a bug in tmt")
    opened.pass_by(10)
    opened.expect_text("#source-problem", "")
    opened.expect_part("#translation .above", "Vogel")
    opened.page.on("request", lambda sent: asked.append(sent.url))
    opened.pass_by(10)
    assert not [url for url in asked if url.endswith("translate")], "a successful request was repeated"


def test_only_a_stable_translation_is_announced(opened: LoadedPage) -> None:
    opened.hold_clock()
    expect(opened.find("#spoken")).not_to_be_empty()
    before = opened.find("#spoken").inner_text()
    with opened.page.expect_response("**/v1/translate"):
        opened.fill("#source", "Der Vogel wartet.")
        opened.page.clock.run_for(100)
    opened.expect_part("#translation .above", "Vogel")
    opened.page.clock.run_for(900)
    opened.page.route("**/v1/translate", lambda route: None)  # never answered
    opened.fill("#source", "Der Mann schläft.")
    opened.page.clock.run_for(2_000)
    opened.expect_text("#spoken", before)
    opened.page.unroute("**/v1/translate")
    with opened.page.expect_response("**/v1/translate"):
        opened.fill("#source", "Der Baum fällt.")
        opened.page.clock.run_for(100)
    opened.expect_part("#translation .above", "Baum")
    opened.page.clock.run_for(1_000)
    expect(opened.find("#spoken")).not_to_have_text(before)
    opened.fill("#source", "")
    opened.page.clock.run_for(100)
    opened.expect_text("#spoken", "")


def test_lost_server_is_reported(opened: LoadedPage) -> None:
    opened.page.route("**/v1/*", lambda route: route.abort())
    opened.fill("#source", "Der Hund wartet.")
    opened.expect_part("#source-problem", "start tmt serve again")
    assert all("ERR_FAILED" in problem for problem in opened.problems)
    opened.problems.clear()


def test_busy_server_is_reported_and_retried(opened: LoadedPage) -> None:
    asked = list[str]()
    opened.hold_clock()
    opened.page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))
    opened.reply("translate", BUSY, status=503, times=1, retry="2")
    opened.fill("#source", "Der Vogel wartet.")
    opened.page.clock.run_for(100)
    opened.expect_part("#source-problem", "16 requests are waiting")
    opened.expect_attribute("#source", "aria-invalid", "false")
    opened.expect_attribute("#translation", "aria-busy", "true")
    opened.page.clock.run_for(1_999)
    opened.settle()
    assert asked.count("translate") == 1
    opened.page.clock.run_for(1)
    opened.expect_part("#translation .above", "Vogel")
    opened.expect_text("#source-problem", "")


def test_aborted_retry_ends_at_once(opened: LoadedPage) -> None:
    opened.hold_clock()
    opened.reply("runs", BUSY, status=503, retry="60")
    opened.page.evaluate("""async () => {
      const { ask } = await import("/page/server.js");
      [globalThis.ends, globalThis.stop] = ["waits", new AbortController()];
      ask("runs", null, { signal: stop.signal }).catch(({ name }) => { globalThis.ends = name; });
    }""")
    opened.settle()
    assert opened.page.evaluate("ends") == "waits"
    opened.page.evaluate("stop.abort()")
    opened.settle()
    assert opened.page.evaluate("ends") == "AbortError"


def test_invalid_response_is_reported_next_to_the_sentence(opened: LoadedPage) -> None:
    answers: list[tuple[int, Any, str]] = [
        (503, {"error": "not today"}, "not today"), (200, '{"fine": ', "translate: the answer was cut off; try again"),
    ]  # fmt: skip
    for status, content, said in answers:
        opened.reply("translate", content, status=status)
        opened.fill("#source", said)
        opened.expect_text("#source-problem", said)


def test_newest_sentence_wins(opened: LoadedPage) -> None:
    for sentence in ("Der Mann.", "Der Mann wartet.", "Der Vogel fällt."):
        opened.fill("#source", sentence)
        opened.page.wait_for_timeout(90)
    opened.expect_part("#translation .above", "Vogel")
    opened.settle()
    opened.expect_text("#translation .above .word bdi", ["Der", "Vogel", "fällt", "."])


def test_timers_fire_on_time(opened: LoadedPage) -> None:
    """80 ms from the last key to the request, 10,000 ms between two lists."""
    opened.hold_clock()
    asked: list[str] = []
    opened.page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))
    for after, wanted in ((10_000, "runs"), (80, "translate")):
        if wanted == "translate":
            opened.fill("#source", "Der Vogel wartet.")
        opened.page.clock.run_for(after - 1)
        opened.settle()
        assert wanted not in asked, f"{wanted} before {after} ms"
        opened.page.clock.run_for(1)
        opened.settle()
        assert wanted in asked, f"{wanted} not after {after} ms"
