"""The course: every stop by mouse and keyboard, its texts, what it lets you try, and its place in the address."""

import re
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect, violations
from support.serving import Served

from transformer_mt.extensions.lessons.course import ChoiceCheck, course_file, read_course

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

STOPS = read_course(course_file()).stops


@pytest.fixture
def course(opened: LoadedPage) -> LoadedPage:
    opened.click("#tab-course")
    opened.wait("#question .ways")
    return opened


def open_stop(opened: LoadedPage, number: int) -> None:
    """Choose a stop in the contents."""
    opened.click(".stops summary")
    opened.click(f"[data-place='stop {number}']")


def of_picture(name: str) -> int:
    """The number of the stop with a picture."""
    return [stop.picture for stop in STOPS].index(name) + 1


def settled(opened: LoadedPage, *, has_picture: bool = True) -> None:
    """Wait until the picture of the stop is drawn."""
    opened.expect_attribute("#course", "aria-busy", "false")
    if has_picture:
        expect(opened.find("#picture > *").first).to_be_attached()


def plain(text: str) -> str:
    return " ".join(re.sub(r"[*`]|_(?=\w\b)", "", text).split())


def test_every_stop_has_its_text_formulas_sources_picture_and_answer(course: LoadedPage) -> None:
    for number, stop in enumerate(STOPS, start=1):
        course.expect_text("#stop h3", f"{number} of {len(STOPS)}: {stop.title}")
        course.expect_text("#stop > p:not(.quiet)", [plain(text) for text in stop.paragraphs])
        course.expect_count("#stop math", len(stop.formulas))
        links = course.find("#stop a").evaluate_all("(all) => all.map((one) => [one.textContent, one.href])")
        assert links == [[paper.text, paper.url] for paper in stop.papers]
        course.expect_part("#stop p.quiet >> nth=-1", f"Code: {stop.code}")
        settled(course, has_picture=bool(stop.picture or stop.part))
        if stop.attempt.sentence:
            course.expect_value("#source", stop.attempt.sentence)
        expect(course.find("#question details > p")).to_be_hidden()
        course.click("#question summary")
        course.expect_text("#question details > p", plain(stop.answer))
        course.expect_attribute(f"[data-place='stop {number}']", "aria-current", "step")
        course.expect_attribute("[data-place=next]", "aria-disabled", str(number == len(STOPS)).lower())
        course.find("[data-place=next]").click(force=True)
    course.expect_part("#stop h3", f"{len(STOPS)} of ")


def test_a_part_of_the_machine_lights_up_next_to_the_title_or_as_the_picture(course: LoadedPage) -> None:
    for stop in STOPS:
        settled(course, has_picture=bool(stop.picture or stop.part))
        places = ["#stop", "#picture"] if stop.picture else ["#picture", "#stop"]
        if stop.part:
            expect(course.find(f"{places.pop(0)} .machine .lit")).not_to_have_count(0)
        for place in places:
            course.expect_count(f"{place} .machine .lit", 0)
        course.find("[data-place=next]").click(force=True)


def test_answers_are_checked_kept_and_copied(course: LoadedPage) -> None:
    first_number, second_number = map(of_picture, ("length-curves", "rnn-attention"))
    open_stop(course, first_number)
    said = course.find("#question output")
    for answer, verdict in (
        ("0,5", "Not yet."),
        ("x", "Not yet."),
        ("52 %", "Right."),
        ("0,523", "Right."),
        ("0.52", "Right."),
    ):
        course.fill("#own-answer", answer)
        course.click("[data-place=check]")
        expect(said).to_have_text(verdict)
    check = STOPS[second_number - 1].check
    assert isinstance(check, ChoiceCheck)
    open_stop(course, second_number)
    right = check.right
    for number in ((right + 1) % 3, right):
        course.find(".own input").nth(number).check()
        expect(said).to_have_text("Right." if number == right else "Not yet.")
    open_stop(course, first_number)
    course.expect_value("#own-answer", "0.52")
    expect(said).to_have_text("Right.")
    course.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    course.click("[data-place='copy answers']")
    course.expect_text("[data-place='copy answers']", "Copied")
    stop = STOPS[first_number - 1]
    first, second = course.page.evaluate("navigator.clipboard.readText()").split("\n\n")
    assert first.split("\n") == [
        f"{first_number}. {stop.title}", f"Question: {plain(stop.question)}", "My answer: 0.52", "Right.",
    ]  # fmt: skip
    assert f"My answer: {check.choices[right]}" in second


def test_unsafe_addresses_are_no_links(course: LoadedPage, served: Served) -> None:
    answer = served.get("/v1/lessons").json
    answer["lessons"][0]["papers"] = [
        {"text": text, "url": url}
        for text, url in (("one", "javascript:alert(1)"), ("two", "x"), ("three", "https://a.b/c"))
    ]
    course.reply("lessons", answer)
    course.page.wait_for_url("**view=course*")
    course.page.reload()
    course.expect_part("#stop", "one, two, three")
    course.expect_text("#stop a", ["three"])


def test_arrow_keys_move_between_stops_except_in_controls(course: LoadedPage) -> None:
    course.find("[data-place=next]").focus()
    for keys, stop in (("Right Right", 3), ("Left", 2), ("Left Left", 1)):
        course.press(*(f"Arrow{key}" for key in keys.split()))
        course.expect_part("#stop h3", f"{stop} of ")
        expect(course.find("#stop h3")).to_be_focused()
    course.press("Control+ArrowRight")
    number = of_picture("temperature")
    open_stop(course, number)
    course.find("#temperature-power").focus()
    course.press("ArrowRight")
    course.find("#tab-course").focus()
    course.press("ArrowLeft")
    course.expect_part("#stop h3", f"{number} of ")
    course.click("[data-place=next]")
    course.click("[data-place=back]")
    course.expect_value("#temperature-power", "2")


def test_stop_gives_its_sentence_and_head_once(course: LoadedPage) -> None:
    number, stop = next((n, one) for n, one in enumerate(STOPS, 1) if one.attempt.head == "cross.2.1")
    open_stop(course, number)
    course.expect_value("#source", stop.attempt.sentence or "")
    course.expect_value("#cross-head", "cross.2.1")
    course.type("Der Baum fällt.")
    course.expect_part("#picture .matrix thead", "Baum")
    course.click("[data-place=try]")
    course.expect_attribute("#tab-heads", "aria-selected", "true")
    expect(course.find("#tab-heads")).to_be_focused()
    course.expect_text("#one-head h3", "cross.2.1")
    course.click("#back button")
    course.expect_part("#stop h3", f"{number} of ")
    course.expect_value("#source", "Der Baum fällt.")
    course.expect_count("#back button", 0)
    course.click("[data-place=next]")
    expect(course.find("#source")).to_be_hidden()
    course.click("[data-place=back]")
    course.expect_value("#source", stop.attempt.sentence or "")


def test_title_is_in_sight_after_next(course: LoadedPage) -> None:
    course.page.set_viewport_size({"width": 390, "height": 844})
    for _ in range(3):
        course.click("[data-place=next]")
        expect(course.find("#stop h3")).to_be_in_viewport(ratio=1)
        expect(course.find("#stop h3")).to_be_focused()


@pytest.mark.parametrize("width", [1280, 1920])
def test_class_mode_shows_question_and_picture_at_once(course: LoadedPage, width: int) -> None:
    course.page.set_viewport_size({"width": width, "height": 720})
    course.click("#class-mode")
    for stop in STOPS:
        settled(course, has_picture=bool(stop.picture or stop.part))
        expect(course.find("#question > p").first).to_be_in_viewport(ratio=1)
        for selector in (
            "#picture .matrix tbody tr:last-child",
            "#picture svg.panel",
            "#picture .boxes",
            "#picture .square",
            "#picture .best",
        ):
            if course.find(selector).count():
                expect(course.find(selector).first).to_be_in_viewport(ratio=0.9)
        course.find("[data-place=next]").click(force=True)


def test_pictures_follow_the_model(course: LoadedPage, served: Served) -> None:
    source = "Der Baum fällt."
    target = served.ask("translate", source=source).json["translation"]
    pair = {"source": source, "target": target}
    cross = served.ask("attend", **pair, method="weights").json["stacks"]["cross"]
    pieces = served.ask("attend", **pair, words=False).json["stacks"]["encoder"]["columns"]
    chosen = served.ask("explain", **pair, stack="cross", layer=2, head=2).json["heads"]
    weights = [f"{one:.2f}".lstrip("0") for one in cross["weights"][0][0][0]]
    for picture, head, selector, shown in (
        ("transformer", None, "#picture .token", None),
        ("misleading", "cross.1.1", "#picture td:nth-of-type(1)", weights),
        ("sum-of-heads", "cross.2.2", "#picture tbody th", [f"cross.2.{number} on" for number in chosen]),
        ("cross-attention", "cross.1.1", "#picture .matrix thead th", cross["columns"]),
    ):
        open_stop(course, of_picture(picture))
        settled(course)
        course.type(source)
        if course.find("#cross-head").count():
            course.select("#cross-head", head or "")
        if shown:
            expect(course.find(selector)).to_have_text(shown)
        else:
            expect(course.find("#picture .boxes")).to_contain_text("".join(pieces[:2]))
    course.expect_count("#picture .switch", 0)
    open_stop(course, of_picture("sum-of-heads"))
    settled(course)
    switch = course.find("#picture .switch").first
    name = (switch.text_content() or "").removesuffix(" on")
    switch.click()
    expect(switch).to_have_text(f"{name} off")
    course.expect_part(".remarks", f"Without {name}")
    open_stop(course, of_picture("beam"))
    course.wait("#picture .node.best")
    course.expect_count(".remarks button", 0)
    course.find("#picture .node:not(.best)").first.click()
    course.click("#picture [data-place=undo]")
    course.expect_count("#picture [data-place=undo]", 0)


def test_address_has_the_state_and_a_copied_link_the_key(course: LoadedPage, served: Served) -> None:
    number = of_picture("misleading")
    open_stop(course, number)
    course.page.wait_for_url(f"**stop={number}*")
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
    assert link == course.page.url.replace("#", f"#key={served.key}&")
    assert not {served.key, "key"} & {*re.split("[#&=]", course.page.url)}
    course.page.evaluate("sessionStorage.clear()")
    course.page.goto("about:blank")
    course.page.goto(link)
    course.expect_text("#one-head h3", "decoder.2.1")
    course.expect_value("#source", "Der Vogel wartet.")
    course.expect_value("#unit", "pieces")
    for place in ("[data-place='switch cross.1.2'][aria-pressed=false]", "#class-mode[aria-pressed=true]"):
        course.wait(place)
    course.click("#back button")
    course.expect_part("#stop h3", f"{number} of ")


def test_the_copied_link_is_also_a_code_that_cameras_read(course: LoadedPage) -> None:
    open_stop(course, 3)
    course.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    course.page.emulate_media(color_scheme="dark")
    for width, height in ((1280, 720), (390, 844)):
        course.page.set_viewport_size({"width": width, "height": height})
        course.click("#copy-link")
        course.expect_text("#copy-link", "Copied")
        with course.page.expect_request("**/v1/code") as sent:
            course.click("#show-code")
        assert sent.value.post_data_json["link"] == course.page.evaluate("navigator.clipboard.readText()")
        code = course.find("#code svg")
        expect(code).to_be_in_viewport(ratio=1)
        box = code.bounding_box()
        assert box
        assert box["width"] == box["height"] > 300
        assert violations(course) == []
        dark, light = course.page.evaluate(
            "[getComputedStyle(document.querySelector('#code path')).fill,"
            " getComputedStyle(document.querySelector('#code')).backgroundColor]"
        )
        assert (dark, light) == ("rgb(12, 63, 112)", "rgb(255, 255, 255)")
        course.click("[data-place='close code']")
        expect(code).to_be_hidden()
        expect(course.find("#show-code")).to_be_focused()
        course.expect_text("#copy-link", "Copy link")


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
