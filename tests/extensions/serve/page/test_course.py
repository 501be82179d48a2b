"""The course: every stop by mouse and keyboard, its texts, what it lets you try, and its place in the address."""

import re
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

from transformer_mt.extensions.lessons.course import read_course

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

STOPS = read_course().stops


@pytest.fixture
def course(opened: LoadedPage) -> LoadedPage:
    opened.click("#tab-course")
    opened.wait("#question .ways")
    return opened


def settled(opened: LoadedPage) -> None:
    """Wait until the picture of the stop is drawn."""
    opened.expect_attribute("#course", "aria-busy", "false")
    expect(opened.find("#picture > *").first).to_be_attached()


def test_every_stop_has_its_text_picture_and_answer(course: LoadedPage) -> None:
    for number, stop in enumerate(STOPS, start=1):
        course.expect_text("#stop h3", f"{number} of {len(STOPS)}: {stop.title}")
        course.expect_text("#stop > p", [re.sub(r"[*`]", "", text) for text in stop.paragraphs])
        course.expect_text("#stop code", re.findall(r"`([^`]+)`", " ".join(stop.paragraphs)))
        settled(course)
        expect(course.find("#question details > p")).to_be_hidden()
        course.click("#question summary")
        course.expect_text("#question details > p", re.sub(r"[*`]", "", stop.answer))
        course.expect_attribute(f"[data-place='stop {number}']", "aria-current", "step")
        course.expect_attribute("[data-place=next]", "aria-disabled", str(number == len(STOPS)).lower())
        course.find("[data-place=next]").click(force=True)
    course.expect_part("#stop h3", f"{len(STOPS)} of ")


def test_arrow_keys_move_between_stops_except_in_controls(course: LoadedPage) -> None:
    course.find("[data-place=next]").focus()
    for keys, stop in (("Right Right", 3), ("Left", 2), ("Left Left", 1)):
        course.press(*(f"Arrow{key}" for key in keys.split()))
        course.expect_part("#stop h3", f"{stop} of ")
        expect(course.find("[data-place=next]")).to_be_focused()
    course.press("Control+ArrowRight")
    course.click("[data-place='stop 5']")
    course.find("#temperature-power").focus()
    course.press("ArrowRight")
    course.find("#tab-course").focus()
    course.press("ArrowLeft")
    course.expect_part("#stop h3", "5 of ")
    course.click("[data-place=next]")
    course.click("[data-place=back]")
    course.expect_value("#temperature-power", "2")


def test_try_it_sets_sentence_view_and_head(course: LoadedPage) -> None:
    number, stop = next((n, one) for n, one in enumerate(STOPS, 1) if one.head == "decoder.1.1")
    course.click(f"[data-place='stop {number}']")
    course.click("[data-place=try]")
    course.expect_value("#source", stop.sentence or "")
    course.expect_attribute("#tab-heads", "aria-selected", "true")
    expect(course.find("#tab-heads")).to_be_focused()
    course.expect_text("#one-head h3", stop.head or "")
    course.click("#back button")
    course.expect_part("#stop h3", f"{number} of ")
    expect(course.find("#back button")).to_have_count(0)


def test_pictures_follow_the_model(course: LoadedPage, served: Served) -> None:
    course.type("Der Baum fällt.")
    target = served.ask("translate", source="Der Baum fällt.").json["translation"]
    pair = {"source": "Der Baum fällt.", "target": target}
    cross = served.ask("attend", **pair, method="weights").json["stacks"]["cross"]
    heads = [f"cross.{served.ask('explain', **pair).json['layer']}.{number}" for number in (1, 2)]
    for picture, selector, shown in (
        ("misleading", "#picture td:nth-of-type(1)", [f"{one:.2f}".lstrip("0") for one in cross["weights"][0][0][0]]),
        ("misleading", "#picture thead th:last-child", ["as bars, too"]),
        ("sum-of-heads", "#picture tbody th", heads),
        ("cross-attention", "#picture .matrix thead th", cross["columns"]),
    ):
        course.click(f"[data-place='stop {[stop.picture for stop in STOPS].index(picture) + 1}']")
        expect(course.find(selector)).to_have_text(shown)
    course.click(f"[data-place='stop {[stop.picture for stop in STOPS].index('beam') + 1}']")
    course.wait("#picture .node.best")


def test_address_has_the_state_but_no_key(course: LoadedPage, served: Served) -> None:
    course.click("[data-place='stop 5']")
    course.page.wait_for_url("**stop=5*")
    course.type("Der Vogel wartet.")
    course.click("#tab-heads")
    course.select("#unit", "pieces")
    course.click("[data-place='pick decoder.2.1']")
    course.click("[data-place='switch cross.1.2']")
    course.click("#class-mode")
    course.page.wait_for_url("**class=1*")
    course.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    course.click("#copy-link")
    course.expect_text("#copy-link", "Copied")
    link = course.page.evaluate("navigator.clipboard.readText()")
    assert link == course.page.url
    assert not {served.key, "key"} & {*re.split("[#&=]", link)}
    course.page.reload()
    course.expect_text("#one-head h3", "decoder.2.1")
    course.expect_value("#source", "Der Vogel wartet.")
    course.expect_value("#unit", "pieces")
    for place in ("[data-place='switch cross.1.2'][aria-pressed=false]", "#class-mode[aria-pressed=true]"):
        course.wait(place)
    course.click("#back button")
    course.expect_part("#stop h3", "5 of ")


def test_link_opens_in_a_page_that_is_open(opened: LoadedPage) -> None:
    opened.page.evaluate("location.hash = 'source=Der+Hund+wartet.&view=lens'")
    expect(opened.find(".lens")).to_be_visible()
    opened.expect_value("#source", "Der Hund wartet.")
    for stop, shown in (("&stop=3", 3), ("", 1), ("&stop=999", len(STOPS))):
        opened.page.evaluate(f"location.hash = 'view=course{stop}'")
        opened.expect_part("#stop h3", f"{shown} of ")


def test_senseless_address_is_ignored(chromium: "Browser", served: Served) -> None:
    parts = "run=none&view=constructor&head=x&method=toString&without=cross.9.9,x&stop=-1&unit=%00&class=%ff"
    with LoadedPage.opened(chromium, f"{served.server.address}&{parts}") as opened:
        opened.expect_attribute("#tab-choices", "aria-selected", "true")
        opened.click("#tab-heads")
        opened.expect_value("#method", "weights")
        opened.expect_count(".switch[aria-pressed=false]", 0)
        opened.expect_text("#one-head h3", "cross.1.1")
        opened.click("#tab-course")
        opened.expect_part("#stop h3", "1 of ")
