"""View 1: typing, translations, links, unseen words, several sentences, errors."""

from pathlib import Path

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def translator(home: Path) -> Translator:
    return Translator.load(home / "runs/one")


def words(opened: LoadedPage, line: str) -> list[str]:
    return opened.find(f"#translation .{line} .word bdi").all_inner_texts()


def test_key_leaves_the_address_bar_and_survives_a_reload(opened: LoadedPage) -> None:
    assert "key" not in opened.page.url
    opened.page.reload()
    opened.wait("#translation .linked")


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


def test_typed_text_is_translated(opened: LoadedPage, translator: Translator) -> None:
    sentence = "Der Vogel wartet."
    opened.type(sentence)
    opened.expect_part("#translation .above", "Vogel")
    assert words(opened, "above") == ["Der", "Vogel", "wartet", "."]
    [[found]] = translator.translate([sentence])
    assert "".join(words(opened, "below")) == found.text.replace(" ", "")
    opened.expect_text("#spoken", found.text)
    assert opened.find("#spoken bdi").get_attribute("lang") == "en"
    assert opened.find("#translation .above").get_attribute("lang") == "de"


@pytest.mark.parametrize("light", ["hover", "focus"])
def test_links_are_highlighted_by_pointer_and_keyboard(opened: LoadedPage, served: Served, light: str) -> None:
    opened.type("Der Baum fällt.")
    opened.expect_part("#translation .above", "Baum")
    alignment = served.ask("translate", source="Der Baum fällt.", align=True).json["alignment"]
    source, target = alignment["links"][0]
    number = f"{alignment['shares'][target][source]:.2f}".lstrip("0")
    getattr(opened.find("#translation .below .word").nth(target), light)()
    lit = opened.find("#translation .link-number.lit")
    assert number in lit.all_text_contents()
    expect(opened.find("#translation .above .word").nth(source)).to_have_class("word lit")
    opened.expect_count("#translation path.link.lit", lit.count())


def test_links_are_available_as_text(opened: LoadedPage) -> None:
    opened.click(".as-text > summary")
    first, *others = opened.find(".as-text li").first.locator("bdi").all()
    assert first.get_attribute("lang") == "en"
    assert {other.get_attribute("lang") for other in others} == {"de"}


def test_unseen_words_are_marked_and_listed(opened: LoadedPage) -> None:
    opened.type("Der Quaxl wartet.")
    opened.expect_text("#translation .unseen bdi", "Quaxl")
    opened.expect_part(".remarks .warning", ["Quaxl"])
    opened.expect_attribute(".remarks .warning bdi", "lang", "de")
    opened.type("der quaxl wartet.")
    read = opened.find(".remarks li").filter(has_text="Read with capitals")
    expect(read.locator("bdi")).to_have_attribute("lang", "de")


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


def test_missing_key_is_explained(opened: LoadedPage) -> None:
    opened.expected = {401}
    opened.page.evaluate("sessionStorage.clear()")
    opened.page.reload()
    opened.expect_part("#problem", "open the address that tmt serve printed again")


def test_opening_a_new_address_renews_the_key(opened: LoadedPage, served: Served) -> None:
    opened.expected = {401}
    opened.page.evaluate("sessionStorage.setItem('tmt key', 'key of an earlier server')")
    opened.fill("#source", "Der Vogel wartet.")
    opened.expect_part("#source-problem", "no valid key")
    opened.page.evaluate("document.body.dataset.opened = 'once'")
    opened.page.goto(served.server.address)
    opened.expect_part("#translation .above", "Vogel")
    opened.expect_text("#source-problem", "")
    assert "key" not in opened.page.url
    assert opened.find("body").get_attribute("data-opened") == "once", "the page was reloaded"


def test_failed_requests_are_retried(opened: LoadedPage) -> None:
    opened.expected, asked = {500}, list[str]()
    opened.hold_clock()
    fault = {"status": 500, "content_type": "application/json", "body": '{"error": "a bug in tmt"}'}
    opened.page.route("**/v1/translate", lambda route: route.fulfill(**fault), times=1)  # type: ignore[arg-type]
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
    opened.expected, asked = {503}, list[str]()
    opened.hold_clock()
    opened.page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))
    answer = busy_response("2")
    opened.page.route("**/v1/translate", lambda route: route.fulfill(**answer), times=1)  # type: ignore[arg-type]
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


def busy_response(seconds: str) -> dict[str, object]:
    """The response of a busy server: 16 requests are waiting, retry after some seconds."""
    body = '{"error": "the server: 16 requests are waiting; try again in a second"}'
    return {"status": 503, "headers": {"Retry-After": seconds}, "content_type": "application/json", "body": body}


def test_aborted_retry_ends_at_once(opened: LoadedPage) -> None:
    opened.expected = {503}
    opened.hold_clock()
    opened.page.route("**/v1/runs", lambda route: route.fulfill(**busy_response("60")))  # type: ignore[arg-type]
    opened.module("server", """[
      globalThis.ends = "waits",
      globalThis.stop = new AbortController(),
      void m.ask("runs", null, { signal: stop.signal }).catch(({ name }) => { globalThis.ends = name; }),
    ].length""")  # fmt: skip
    opened.settle()
    assert opened.page.evaluate("ends") == "waits"
    opened.page.evaluate("stop.abort()")
    opened.settle()
    assert opened.page.evaluate("ends") == "AbortError"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 503, "body": '{"error": "not today"}'}, "not today"),
        ({"status": 200, "body": '{"fine": '}, "translate: the answer was cut off; try again"),
    ],
)
def test_invalid_response_is_reported_next_to_the_sentence(
    opened: LoadedPage, answer: dict[str, object], said: str
) -> None:
    opened.expected = {503}
    opened.page.route("**/v1/translate", lambda route: route.fulfill(**answer))  # type: ignore[arg-type]
    opened.fill("#source", "Der Vogel wartet.")
    opened.expect_text("#source-problem", said)


def test_newest_sentence_wins(opened: LoadedPage) -> None:
    field = opened.find("#source")
    for sentence in ("Der Mann.", "Der Mann wartet.", "Der Vogel fällt."):
        field.fill(sentence)
        opened.page.wait_for_timeout(90)
    opened.expect_part("#translation .above", "Vogel")
    opened.page.wait_for_load_state("networkidle")
    assert words(opened, "above") == ["Der", "Vogel", "fällt", "."]


def test_timers_fire_on_time(opened: LoadedPage) -> None:
    """80 ms from the last key to the request, 10,000 ms between two lists."""
    opened.hold_clock()
    asked: list[str] = []
    opened.page.on("request", lambda sent: asked.append(sent.url.rpartition("/")[2]))

    def due(after: int, wanted: str) -> None:
        opened.page.clock.run_for(after - 1)
        opened.settle()
        assert wanted not in asked, f"{wanted} before {after} ms"
        opened.page.clock.run_for(1)
        opened.settle()
        assert wanted in asked, f"{wanted} not after {after} ms"

    due(10_000, "runs")
    opened.fill("#source", "Der Vogel wartet.")
    due(80, "translate")
