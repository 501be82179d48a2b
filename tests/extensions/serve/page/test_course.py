"""The course: every stop by mouse and keyboard, its texts, what it lets you try, and its place in the address."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect, small_texts, violations
from support.serving import Served, serving

from transformer_mt.extensions.lessons.course import LESSONS, lessons

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

STOPS = lessons()
HOSTILE = "<img src=x onerror=alert(1)> \u202e </script> __proto__"
LESSON = f"""# {HOSTILE}

{HOSTILE} *<b>{HOSTILE}* `<i>`

## Picture

constructor

## Question

{HOSTILE}

## Answer

{HOSTILE}

## Try it

Sentence: {HOSTILE}
View: constructor
Head: constructor.prototype.1
Command: {HOSTILE}
"""


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
        plain = [re.sub(r"[*`]", "", text) for text in stop.paragraphs]
        course.expect_text("#stop > p", plain)
        for mark, name in (("*", "em"), ("`", "code")):
            marked = re.findall(rf"\{mark}([^{mark}]+)\{mark}", " ".join(stop.paragraphs))
            course.expect_text(f"#stop {name}", marked)
        settled(course)
        expect(course.find("#question details > p")).to_be_hidden()
        course.click("#question summary")
        course.expect_text("#question details > p", re.sub(r"[*`]", "", stop.answer))
        course.expect_attribute(f"[data-place='stop {number}']", "aria-current", "step")
        course.expect_attribute("[data-place=next]", "aria-disabled", str(number == len(STOPS)).lower())
        course.find("[data-place=next]").click(force=True)
    course.expect_part("#stop h3", f"{len(STOPS)} of ")


def test_arrow_keys_move_between_stops(course: LoadedPage) -> None:
    course.find("[data-place=next]").focus()
    course.press("ArrowRight", "ArrowRight")
    course.expect_part("#stop h3", "3 of ")
    expect(course.find("[data-place=next]")).to_be_focused()
    course.press("ArrowLeft", "Control+ArrowRight")
    course.expect_part("#stop h3", "2 of ")
    course.press("ArrowLeft", "ArrowLeft")
    course.expect_part("#stop h3", "1 of ")
    course.click("[data-place='stop 5']")
    course.find("#temperature-power").focus()
    course.press("ArrowRight")
    course.expect_part("#stop h3", "5 of ")
    course.expect_value("#temperature-power", "2")
    course.find("#tab-course").focus()
    course.press("ArrowLeft")
    course.expect_part("#stop h3", "5 of ")


def test_controls_keep_their_values(course: LoadedPage) -> None:
    course.click("[data-place='stop 5']")
    course.fill("#temperature-power", "8")
    course.click("[data-place=next]")
    course.click("[data-place=back]")
    course.expect_value("#temperature-power", "8")


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
    names = {stop.picture: number for number, stop in enumerate(STOPS, start=1)}
    course.click(f"[data-place='stop {names['misleading']}']")
    weights = served.ask("attend", **pair, method="weights").json["stacks"]["cross"]
    erased = served.ask("attend", **pair, method="erasure", stacks=["cross"]).json["stacks"]["cross"]["weights"][0][0]
    course.select("#misleading-word", f"2 {weights['rows'][1]}")
    course.expect_text("#picture tbody th", weights["columns"])
    shown = [float(text) for text in course.find("#picture td:nth-of-type(1)").all_text_contents()]
    assert shown == pytest.approx(weights["weights"][0][0][1], abs=0.006)
    shown = [float(text.replace("−", "-")) for text in course.find("#picture td:nth-of-type(3)").all_text_contents()]
    assert shown == pytest.approx(erased[1], abs=6e-4)
    course.click(f"[data-place='stop {names['sum-of-heads']}']")
    found = served.ask("explain", **pair).json
    (shares,) = (
        step["values"] for stage in found["stages"] for step in stage["steps"] if step["name"] == "head_shares"
    )
    course.expect_text("#picture td:nth-of-type(3)", [f"{100 * share:.0f} %".replace("-", "−") for share in shares])
    course.click(f"[data-place='stop {names['beam']}']")
    expect(course.find("#picture .node.best").first).to_be_visible()
    course.click(f"[data-place='stop {names['cross-attention']}']")
    course.expect_text("#picture .matrix thead th", weights["columns"])


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
    for part in ("run=one", "source=Der+Vogel+wartet.", "view=heads", "unit=tokens", "stop=5"):
        assert part in course.page.url
    course.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    course.click("#copy-link")
    course.expect_text("#copy-link", "Copied")
    link = course.page.evaluate("navigator.clipboard.readText()")
    assert link == course.page.url
    assert served.key not in link
    assert "key" not in link
    course.page.reload()
    course.expect_text("#one-head h3", "decoder.2.1")
    course.expect_value("#source", "Der Vogel wartet.")
    course.expect_value("#unit", "pieces")
    course.expect_attribute("[data-place='switch cross.1.2']", "aria-pressed", "false")
    course.expect_attribute("#class-mode", "aria-pressed", "true")
    course.click("#back button")
    course.expect_part("#stop h3", "5 of ")


def test_link_opens_in_a_page_that_is_open(opened: LoadedPage) -> None:
    opened.page.evaluate("location.hash = 'source=Der+Hund+wartet.&view=lens'")
    expect(opened.find(".lens")).to_be_visible()
    opened.expect_value("#source", "Der Hund wartet.")
    opened.page.evaluate("location.hash = 'view=course&stop=3'")
    opened.expect_part("#stop h3", "3 of ")
    opened.page.evaluate("location.hash = 'view=course'")
    opened.expect_part("#stop h3", "1 of ")
    opened.find("#tab-course").focus()
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("ArrowRight")
    opened.expect_part("#stop h3", "2 of ")


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
    with LoadedPage.opened(chromium, f"{served.server.address}&stop=999&view=course") as opened:
        opened.expect_part("#stop h3", f"{len(STOPS)} of ")


@pytest.fixture
def hostile_course(chromium: "Browser", home: Path, tmp_path: Path) -> Iterator[LoadedPage]:
    folder = tmp_path / "lessons"
    folder.mkdir()
    (folder / "1.md").write_text(LESSON, "utf-8")
    with serving(home / "runs", lessons=folder) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        yield opened


def test_hostile_texts_of_a_lesson_are_escaped(hostile_course: LoadedPage) -> None:
    opened = hostile_course
    opened.click("#tab-course")
    opened.click("#question summary")
    shown = opened.find("#course").inner_text()
    assert shown.count("<img src=x onerror=alert(1)>") == 7
    assert shown.count("⟨U+202E⟩") == 7
    assert not set("\u202e\u2066") & set(shown)
    opened.expect_text("#stop code", "<i>")
    assert opened.find("img, #course b, #course i, #course script").count() == 0
    opened.click("[data-place=try]")
    opened.expect_attribute("#tab-course", "aria-selected", "true")
    opened.expect_value("#source", HOSTILE)


def test_damaged_course_is_reported(chromium: "Browser", home: Path, tmp_path: Path) -> None:
    shutil.copytree(LESSONS, tmp_path / "lessons")
    with serving(home / "runs", lessons=tmp_path / "lessons") as served:
        (tmp_path / "lessons/03-by-hand.md").write_text("no title")
        with LoadedPage.opened(chromium, served.server.address) as opened:
            opened.expected = {422}
            opened.click("#tab-course")
            opened.expect_part("#course-problem", "does not start with a title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations_at_any_stop(chromium: "Browser", served: Served, scheme: str) -> None:
    with LoadedPage.opened(chromium, served.server.address, color_scheme=scheme) as opened:
        assert violations(opened) == []
        opened.click("#tab-course")
        opened.wait("#question .ways")
        for number in range(1, len(STOPS) + 1):
            opened.click(f"[data-place='stop {number}']")
            settled(opened)
            opened.click("#question summary")
            assert violations(opened) == [], f"stop {number}"


@pytest.mark.parametrize(("width", "is_class"), [(390, False), (1280, False), (1280, True), (1920, True)])
def test_stops_fit_the_window_with_large_targets(
    chromium: "Browser", served: Served, width: int, is_class: bool
) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": width, "height": 900}) as opened:
        if is_class:
            opened.click("#class-mode")
        opened.click("#tab-course")
        opened.wait("#question .ways")
        for number in range(1, len(STOPS) + 1):
            opened.click(f"[data-place='stop {number}']")
            settled(opened)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, f"stop {number}"
            boxes = [button.bounding_box() for button in opened.find("button:visible, select:visible").all()]
            assert all(box is not None and min(box["width"], box["height"]) >= 24 for box in boxes), f"stop {number}"
            small = small_texts(opened, "#course")
            assert not is_class or not small, f"stop {number}: {small}"


def test_print_has_one_stop(course: LoadedPage) -> None:
    course.click("[data-place='stop 3']")
    course.page.emulate_media(media="print")
    for selector in ("#source", "[role=tablist]", ".stops", ".ways", "#translation"):
        expect(course.find(selector)).to_be_hidden()
    for selector in ("#stop h3", "#picture .numbers", "#question strong"):
        expect(course.find(selector).first).to_be_visible()
