"""Class mode on a projector, and phones; pictures and pages to save."""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from support.page import VIEWS, LoadedPage, expect, small_texts
from support.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

LONG = "Der Hund wartet der Mann schläft der Vogel fällt der Baum wartet der Tisch schläft."


@pytest.mark.parametrize("width", [1280, 1920])
def test_class_mode_has_large_texts(chromium: "Browser", served: Served, width: int) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": width, "height": 900}) as opened:
        opened.click("#class-mode")
        opened.expect_attribute("#class-mode", "aria-pressed", "true")
        for view, drawn in VIEWS.items():
            opened.click(f"#tab-{view}")
            opened.wait(drawn)
            opened.expect_attribute(f"#{view}", "aria-busy", "false")
            assert small_texts(opened, "body") == [], view
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.click("#class-mode")
        assert small_texts(opened, "body") != []


@pytest.mark.parametrize("is_class", [True, False])
@pytest.mark.parametrize("width", [1280, 1920])
def test_chosen_head_is_next_to_the_grid(chromium: "Browser", served: Served, width: int, is_class: bool) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": width, "height": 900}) as opened:
        opened.type("Der Baum fällt.")
        if is_class:
            opened.click("#class-mode")
        opened.click("#tab-heads")
        for head in ("encoder.1.1", "decoder.2.1", "cross.2.2", "cross.1.mean"):
            opened.click(f"[data-place='pick {head}']")
            opened.expect_text("#one-head h3", head)
            expect(opened.find(f"[data-place='pick {head}']")).to_be_in_viewport()
            for selector in ("thead", "tbody tr >> nth=0"):
                expect(opened.find(f"#one-head .matrix {selector}")).to_be_in_viewport(ratio=1)


def test_wrapped_lines_are_linked_row_by_row(chromium: "Browser", served: Served) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": 390, "height": 800}) as opened:
        opened.type(LONG)
        expect(opened.find("#translation .wrapped")).to_be_visible()
        found = [opened.find(f"#translation .{side} .word").all() for side in ("above", "below")]
        sides = [[(word.bounding_box() or {}, word.get_attribute("data-row")) for word in words] for words in found]
        rows = [[row for _, row in side] for side in sides]
        assert rows[0] == sorted(rows[0])
        assert {*rows[0]} == {*rows[1]} == {str(row) for row in range(len({*rows[0]}))}
        assert len({*rows[0]}) > 1
        lines = {}
        for side, words in enumerate(sides):
            for box, row in words:
                assert box["x"] + box["width"] <= 390
                lines.setdefault((int(row or 0), side), []).append(box["y"])
        order = [max(tops) for _, tops in sorted(lines.items())]
        assert order == sorted(order), "an upper row, the lower row under it, and so on"
        near = opened.find("#translation .link:not(.far)")
        assert near.count() > 0
        for link in near.all():
            box = link.bounding_box()
            assert box is not None
            assert box["height"] < 140
        opened.find("#translation .below .word").first.focus()
        opened.press("End")
        expect(opened.find("#translation .below .word").last).to_be_focused()
        opened.page.set_viewport_size({"width": 1280, "height": 800})
        expect(opened.find("#translation .wrapped")).to_have_count(0)
        assert opened.find("#translation .row-end").count() == 0


def test_wide_tables_scroll_in_their_own_area(chromium: "Browser", served: Served) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": 390, "height": 800}) as opened:
        opened.type(LONG)
        for view in ("heads", "lens", "steps"):
            opened.click(f"#tab-{view}")
            opened.wait(VIEWS[view])
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        opened.click("#tab-heads")
        area = opened.find("#one-head .scrolls")
        expect(area).to_have_class("scrolls more-after")
        assert area.evaluate("(one) => getComputedStyle(one).boxShadow") != "none"
        area.evaluate("(one) => one.scrollBy(30, 0)")
        expect(area).to_have_class(re.compile("more-after more-before|more-before more-after"))
        area.evaluate("(one) => one.scrollBy(9999, 0)")
        expect(area).to_have_class("scrolls more-before")


def test_area_without_controls_is_reachable_only_if_it_scrolls(opened: LoadedPage) -> None:
    program = """((area) => {
      document.querySelector("main").prepend(area);
      area.style.width = a[0];
      return new Promise((done) => setTimeout(() => {
        const found = [area.tabIndex, area.getAttribute("aria-label")];
        area.remove();
        done(found);
      }, 200));
    })(m.scroller("a name", null, Object.assign(document.createElement("pre"), { textContent: "x".repeat(50) })))"""
    assert opened.module("dom", f"await {program}", "90px") == [0, "a name"]
    assert opened.module("dom", f"await {program}", "900px") == [-1, None]


def test_picture_of_the_chosen_head_can_be_saved(opened: LoadedPage, tmp_path: Path) -> None:
    opened.type("Der <b>& Baum.")
    opened.click("#tab-heads")
    opened.wait(".matrix")
    with opened.page.expect_download() as saving:
        opened.click("#save-picture")
    saving.value.save_as(tmp_path / "head.svg")
    assert saving.value.suggested_filename == "tmt.svg"
    tree = ElementTree.fromstring((tmp_path / "head.svg").read_text("utf-8"))
    caption = tree.find("{http://www.w3.org/2000/svg}text")
    assert caption is not None
    assert (caption.get("x"), caption.get("text-anchor")) == ("0", "start")
    texts = [one.text for one in tree.iter("{http://www.w3.org/2000/svg}text")]
    for selector in ("tbody td", "tbody th", "thead th"):
        assert {*opened.find(f"#one-head .matrix {selector}").all_text_contents()} <= {*texts}
    fills = {one.get("fill") for one in tree.iter("{http://www.w3.org/2000/svg}rect")}
    assert len(fills) >= 3
    assert all((fill or "").startswith("rgb") for fill in fills)


@pytest.mark.parametrize("continued", [False, True])
def test_page_can_be_saved(chromium: "Browser", opened: LoadedPage, tmp_path: Path, continued: bool) -> None:
    opened.type("Der Vogel wartet.")
    if continued:
        opened.find(".piece").nth(1).click()
        opened.find(".choice").nth(1).click()
        opened.expect_count(".piece.chosen", 2)
        opened.expect_attribute("#translation", "aria-busy", "false")
    shown = opened.find("#translation .below .word bdi").all_inner_texts()
    with opened.page.expect_download() as saving:
        opened.click("#save-page")
    saving.value.save_as(tmp_path / "page.html")
    with LoadedPage.opened(chromium, (tmp_path / "page.html").as_uri(), wait=".matrix") as saved:
        assert saved.find("#translation .below .word bdi").all_inner_texts() == shown
        saved.expect_value("#source", "Der Vogel wartet.")
        for control in ("#copy-link", "#save-page", "#tab-course"):
            saved.expect_attribute(control, "aria-disabled", "true")


def test_failure_to_save_is_reported(opened: LoadedPage) -> None:
    opened.expected = {503}
    fault = {"status": 503, "content_type": "application/json", "body": '{"error": "no room"}'}
    opened.page.route("**/v1/page", lambda route: route.fulfill(**fault))  # type: ignore[arg-type]
    opened.click("#save-page")
    opened.expect_text("#problem", "no room")
