"""Accessibility: axe finds no violations in any view, and all colours have enough contrast."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.page import VIEWS, LoadedPage, expect, violations
from support.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

# The contrast of two colours (WCAG 2.2, 1.4.3 and 1.4.11).
RATIO = """(...colours) => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colour) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].map((byte) => {
      const share = byte / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [one, other] = colours.map(luminance).sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
}"""
PAGE = "getComputedStyle(document.body).backgroundColor"
# The contrast of an element with the page behind it.
CONTRAST = f"([element, property]) => ({RATIO})(getComputedStyle(element)[property], {PAGE})"
# In a matrix: the contrast of numbers with their shade, and of the shade with the page.
SHADED = f"""(shade) => {{
  const cell = document.querySelector(".matrix tbody td").cloneNode();
  cell.className = shade;
  document.querySelector(".matrix tbody tr").append(cell);
  const {{ color, backgroundColor }} = getComputedStyle(cell);
  const ratio = {RATIO};
  const found = [ratio(color, backgroundColor), ratio(backgroundColor, {PAGE})];
  cell.remove();
  return found;
}}"""


@pytest.fixture(params=["light", "dark"])
def shown(request: pytest.FixtureRequest, chromium: "Browser", served: Served) -> Iterator[LoadedPage]:
    with LoadedPage.opened(chromium, served.server.address, color_scheme=request.param) as opened:
        opened.type("Der Quaxl wartet. Der Hund der Mann der Vogel.")
        opened.expect_part("#translation .above", "Quaxl")
        yield opened


def open_heads(opened: LoadedPage) -> None:
    opened.click("#tab-heads")
    opened.find(".pick").nth(3).click()
    opened.click("#ask-losses")
    opened.wait(".loss")
    opened.find(".switch").nth(1).click()
    opened.expect_part(".remarks", "Without")
    opened.wait(".small.empty")


def open_view(opened: LoadedPage, tab: str) -> None:
    opened.click(f"#tab-{tab}")
    opened.wait(VIEWS[tab])
    while (closed := opened.find("details:not([open]) > summary:visible")).count():
        closed.first.click()


def test_axe_finds_no_violations(shown: LoadedPage) -> None:
    shown.find(".piece").nth(1).click()
    assert violations(shown) == []
    open_heads(shown)
    assert violations(shown) == []
    shown.find("#one-head .word").first.hover()
    assert violations(shown) == []
    for tab in ("steps", "lens", "learning"):
        open_view(shown, tab)
        assert violations(shown) == []


def test_drawings_have_enough_contrast(shown: LoadedPage) -> None:
    def contrast(selector: str, property: str) -> float:
        element = shown.find(selector).first.element_handle()
        return float(shown.page.evaluate(CONTRAST, [element, property]))

    shown.find(".piece").nth(1).click()
    assert contrast(".link-number", "fill") >= 4.5
    assert contrast(".word bdi", "color") >= 4.5
    for mark in (".link", ".branch", ".branch.best"):
        assert contrast(mark, "stroke") >= 3
    assert contrast(".bar", "fill") >= 3
    assert contrast(".unseen bdi", "textDecorationColor") >= 3
    assert contrast(".tree .best", "borderTopColor") >= 3
    open_heads(shown)
    for kind in ("shade", "negative"):
        shades = [shown.page.evaluate(SHADED, f"{kind}-{number}") for number in range(1, 5)]
        assert all(text >= 4.5 for text, _ in shades), "the numbers on each shade"
        from_page = [drawn for _, drawn in shades]
        assert from_page == sorted(from_page), "each shade is further from the page than the one before"
        assert min(from_page[2:]) >= 3
    open_view(shown, "steps")
    assert contrast(".bar.imagined", "fill") >= 3
    assert contrast(".what-if", "borderTopColor") >= 3
    open_view(shown, "lens")
    assert contrast(".lens .decided", "borderTopColor") >= 3
    open_view(shown, "learning")
    assert contrast(".panel text", "fill") >= 4.5
    for curve in (".validation_loss", ".training_loss"):
        assert contrast(curve, "stroke") >= 3


def test_forced_colours_keep_choices_and_shades_visible(chromium: "Browser", served: Served) -> None:
    with LoadedPage.opened(chromium, served.server.address, forced_colors="active") as opened:
        opened.click("#tab-heads")
        opened.wait(".matrix")
        for selector, property in ((".word bdi", "color"), (".pick[aria-pressed=true]", "borderTopColor")):
            element = opened.find(selector).first.element_handle()
            assert opened.page.evaluate(CONTRAST, [element, property]) >= 4.5
        small = opened.find(".pick .small").first
        assert small.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
        drawn = small.locator("path").first.evaluate("(one) => getComputedStyle(one).fill")
        assert drawn not in ("rgb(0, 0, 0)", "rgb(255, 255, 255)")
        assert violations(opened) == []


@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_page_fits_the_window_with_large_targets(chromium: "Browser", served: Served, width: int) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": width, "height": 800}) as opened:
        opened.type("Der Hund wartet der Mann schläft der Vogel fällt der Baum wartet der Tisch schläft.")
        for tab in VIEWS:
            open_view(opened, tab)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            boxes = [button.bounding_box() for button in opened.find("button:visible, select:visible").all()]
            assert all(box is not None and min(box["width"], box["height"]) >= 24 for box in boxes)


def test_print_hides_controls(opened: LoadedPage) -> None:
    opened.page.emulate_media(media="print")
    for control in ("#source", "#run", "[role=tablist]", "#beam", "[data-place=undo]"):
        expect(opened.find(control)).to_be_hidden()
    expect(opened.find("#translation .linked")).to_be_visible()
    for tab, control in {"steps": "#temperature", "learning": "#checkpoint"}.items():
        opened.page.emulate_media(media="screen")
        open_view(opened, tab)
        opened.page.emulate_media(media="print")
        expect(opened.find(control)).to_be_hidden()
        expect(opened.find(VIEWS[tab])).to_be_visible()


def test_links_are_redrawn_for_printing_and_after(opened: LoadedPage) -> None:
    opened.type("Der Hund wartet der Mann schläft der Vogel fällt der Baum wartet der Tisch schläft.")
    opened.find("#translation path.link[d]").first.wait_for(state="attached")
    # In one task, before any ResizeObserver fires.
    screen, paper, after, width = opened.page.evaluate("""() => {
      const figure = document.querySelector("#translation .linked");
      const laid = () => [...figure.querySelectorAll(".link")].map((one) => one.getAttribute("d"));
      const screen = laid();
      dispatchEvent(new Event("beforeprint"));
      const [paper, width] = [laid(), figure.getBoundingClientRect().width];
      dispatchEvent(new Event("afterprint"));
      return [screen, paper, laid(), width];
    }""")
    assert width == pytest.approx(17 / 2.54 * 96, abs=0.1)
    assert screen == after != paper


def test_page_has_an_outline(opened: LoadedPage) -> None:
    assert opened.find("h1").count() == 1
    for landmark in ("banner", "main"):
        expect(opened.page.get_by_role(landmark)).to_have_count(1)  # type: ignore[arg-type]
    opened.click("#tab-heads")
    opened.wait(".matrix")
    table = opened.find(".matrix")
    assert table.locator("thead th:not([scope=col]), tbody th:not([scope=row])").count() == 0
    assert table.locator("caption").count() == 1
    assert table.locator("thead th").first.get_attribute("lang") == "de"
