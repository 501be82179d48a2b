"""For everybody: axe, contrast, keyboard, phones, a projector, and paper."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.page import VIEWS, LoadedPage, expect, misfits, small_texts, violations
from support.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

LONG = "Der Quaxl wartet der Mann schläft der Vogel fällt der Baum wartet. Der Tisch schläft."

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
CONTRAST = f"([selector, property]) => ({RATIO})(getComputedStyle(document.querySelector(selector))[property], {PAGE})"
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
# The properties of drawings with a least contrast, by view.
DRAWN = {
    "choices": {
        "color": ".word bdi", "fill": ".link-number, .bar", "stroke": ".link, .branch, .branch.best",
        "textDecorationColor": ".unseen bdi", "borderTopColor": ".tree .best",
    },
    "lens": {"borderTopColor": ".lens .decided"},
    "learning": {"fill": ".panel text", "stroke": ".validation_loss, .training_loss"},
}  # fmt: skip
TEXTS = (".word bdi", ".link-number", ".panel text")


@pytest.fixture
def long(opened: LoadedPage) -> LoadedPage:
    """The page with a long sentence, an unseen word, and open alternatives."""
    opened.type(LONG)
    opened.expect_part("#translation .above", "Quaxl")
    opened.find(".piece").nth(1).click()
    return opened


def open_view(opened: LoadedPage, view: str) -> None:
    """Open a view, and everything in it."""
    opened.click(f"#tab-{view}")
    opened.wait(VIEWS[view])
    opened.expect_attribute(f"#{view}", "aria-busy", "false")
    if view == "heads":
        opened.click("#ask-losses")
        opened.expect_attribute("#heads", "aria-busy", "false")
        opened.find(".switch").nth(1).click()
        opened.expect_part(".remarks", "Without")
        opened.wait(".small.empty")
        opened.find("#one-head .word").first.hover()
    while (closed := opened.find("details:not([open]) > summary:visible")).count():
        closed.first.click()


def everywhere(opened: LoadedPage) -> Iterator[str]:
    """Open every view, then every stop of the course; their names."""
    for view in VIEWS:
        open_view(opened, view)
        yield view
    opened.click("#tab-course")
    opened.wait("#question .ways")
    for stop in range(1, opened.find(".stops button").count() + 1):
        opened.find(".stops").evaluate("(contents) => { contents.open = true; }")
        opened.click(f"[data-place='stop {stop}']")
        opened.expect_attribute("#course", "aria-busy", "false")
        opened.click("#question summary")
        yield f"stop {stop}"


def test_every_place_is_accessible_and_fits_its_window(long: LoadedPage) -> None:
    page = long.page
    for place in everywhere(long):
        within = "#course" if place.startswith("stop") else "html"
        found = violations(long, within)
        page.emulate_media(color_scheme="dark")
        found += violations(long, within, "color-contrast")
        page.emulate_media(color_scheme="light")
        for width in (360, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            found += misfits(long)
        assert found == [], place


def test_class_mode_has_large_texts_everywhere(long: LoadedPage) -> None:
    assert small_texts(long, "body") != []
    long.click("#class-mode")
    long.expect_attribute("#class-mode", "aria-pressed", "true")
    for place in everywhere(long):
        for width in (1920, 1280):
            long.page.set_viewport_size({"width": width, "height": 900})
            assert [*small_texts(long, "body"), *misfits(long)] == [], place


def test_chosen_head_is_next_to_the_grid(opened: LoadedPage) -> None:
    opened.type("Der Baum fällt.")
    opened.click("#tab-heads")
    for width, is_class in ((1280, "false"), (1920, "false"), (1920, "true"), (1280, "true")):
        opened.page.set_viewport_size({"width": width, "height": 900})
        if opened.find("#class-mode").get_attribute("aria-pressed") != is_class:
            opened.click("#class-mode")
        for head in ("encoder.1.1", "cross.2.2", "cross.1.mean"):
            opened.click(f"[data-place='pick {head}']")
            opened.expect_text("#one-head h3", head)
            for shown in (f"[data-place='pick {head}']", "#one-head thead", "#one-head tbody tr:first-child"):
                expect(opened.find(shown)).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_have_enough_contrast(long: LoadedPage, scheme: str) -> None:
    long.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for view in VIEWS:
        if view != "choices":
            open_view(long, view)
        for name, selectors in DRAWN.get(view, {}).items():
            for selector in selectors.split(", "):
                least = 4.5 if selector in TEXTS else 3
                assert long.page.evaluate(CONTRAST, [selector, name]) >= least, (selector, name)
    for kind in ("shade", "negative"):
        shades = [long.page.evaluate(SHADED, f"{kind}-{number}") for number in range(1, 5)]
        assert all(text >= 4.5 for text, _ in shades), "the numbers on each shade"
        from_page = [drawn for _, drawn in shades]
        assert from_page == sorted(from_page), "each shade is further from the page than the one before"
        assert min(from_page[2:]) >= 3


def test_forced_colours_keep_choices_and_shades_visible(chromium: "Browser", served: Served) -> None:
    with LoadedPage.opened(chromium, served.server.address, forced_colors="active") as opened:
        opened.click("#tab-heads")
        opened.wait(".matrix")
        for drawn in ([".word bdi", "color"], [".pick[aria-pressed=true]", "borderTopColor"]):
            assert opened.page.evaluate(CONTRAST, drawn) >= 4.5
        small = opened.find(".pick .small").first
        assert small.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
        shade = small.locator("path").first.evaluate("(one) => getComputedStyle(one).fill")
        assert shade not in ("rgb(0, 0, 0)", "rgb(255, 255, 255)")
        assert violations(opened) == []


# What paper hides and shows, by view.
PAPER = {
    "choices": ("#source, #run, [role=tablist], #beam, [data-place=undo]", "#translation .linked"),
    "steps": ("#explained-row, #explained-head", ".stage"),
    "learning": ("#checkpoint", "#history .matrix"),
    "course": ("#source, .stops, .ways, #translation .linked", "#stop h3, #picture > *, #question strong"),
}


def test_paper_has_what_is_shown_without_controls(opened: LoadedPage) -> None:
    for view, (hidden, seen) in PAPER.items():
        opened.page.emulate_media(media="screen")
        opened.click(f"#tab-{view}")
        for selector in seen.split(", "):
            opened.wait(selector)
        opened.page.emulate_media(media="print")
        for selector in hidden.split(", "):
            expect(opened.find(selector)).to_be_hidden()
        for selector in seen.split(", "):
            expect(opened.find(selector).first).to_be_visible()


def test_links_are_redrawn_for_printing_and_after(long: LoadedPage) -> None:
    long.find("#translation path.link[d]").first.wait_for(state="attached")
    # In one task, before any ResizeObserver fires.
    screen, paper, after, width = long.page.evaluate("""() => {
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


# Keys, and the place that has the focus then; Tab is pressed until it is reached.
WALK = """Tab: example 0 | ArrowRight: example 1 | Tab: above 0 | ArrowRight: above 1
Tab: below 0 | End: below 3 | Home Enter: piece 0 | Tab: choice 0 | ArrowDown: choice 1 | Escape: piece 0
ArrowRight Enter: piece 1 | Tab: choice 0 | ArrowDown Enter: piece 1 | Tab: undo | Enter: undo | Tab: node
Shift+Tab: choices | ArrowRight Enter: heads | Tab: pick cross.1.1 | ArrowRight Enter: pick cross.1.2
ArrowDown Space: switch cross.1.2 | ArrowUp ArrowLeft Enter: pick cross.1.1 | Tab: cell 0 0
ArrowRight ArrowDown: cell 1 1 | Shift+Tab: heads | ArrowRight Enter: steps | Tab: explained-row
ArrowDown: explained-row | Tab: explained-head | End: explained-head | Tab: stage 0 | Enter: stage 0
Shift+Tab: steps | ArrowRight Enter: lens | Tab: cell 0 0
ArrowRight ArrowDown: cell 1 1 | Shift+Tab: lens | ArrowRight Enter: learning
Tab: checkpoint | Home: checkpoint | Shift+Tab: learning | End Enter: course | Tab: contents 1 | Enter: contents 1
Tab: stop 1 | ArrowRight ArrowLeft: title | Shift+Tab: contents 1 | Enter: contents 1
Tab: stop 6 | Enter: title | Tab: choice of answer 0 | ArrowDown: choice of answer 1
Tab: answer 6 | Enter: answer 6 | Tab: try | Enter: steps | Tab: to course | Enter: course | Tab: next
Enter: title"""
# What the page shows after the step that ends at a place.
SHOWN = {
    "pick cross.1.2": "#one-head h3:text-is('cross.1.2')",
    "switch cross.1.2": "[data-place='switch cross.1.2'][aria-pressed=false]", "undo": ".pieces:not(:has(.chosen))",
    "explained-head": "#all-steps h3:has-text('Cross-attention, layer 2, head 2')", "heads": ".matrix",
    "stage 0": ".stage:first-of-type[open]", "steps": ".stage",
    "lens": ".lens .guess", "learning": "#history .matrix",
    "choice of answer 0": "#stop h3:text('6 of ')",
    "answer 6": "#question details", "course": "#question .ways", "title": "#question .ways",
    "checkpoint": "#history h3:text('After step 50')",
}  # fmt: skip


def test_whole_page_works_by_keyboard(opened: LoadedPage) -> None:
    opened.press("Tab", "Enter")  # the skip link
    assert place(opened) == "source"
    opened.press("Control+a")
    opened.page.keyboard.type("Der Vogel wartet.")
    opened.expect_part("#translation .above", "Vogel")
    for step in WALK.replace("\n", " | ").split(" | "):
        keys, _, wanted = step.partition(": ")
        for _ in range(60):
            opened.press(*keys.split())
            found = place(opened)
            if found.startswith(wanted) or "Tab" not in keys:
                break
        assert found.startswith(wanted), step
        if not keys.endswith("Tab"):
            opened.expect_count("[aria-busy=true]:visible", 0)
            opened.wait(SHOWN.get(wanted, "body"))


def place(opened: LoadedPage) -> str:
    """The `data-place` or id of the focused element."""
    found = opened.page.evaluate("document.activeElement.dataset.place || document.activeElement.id")
    assert opened.page.evaluate("document.activeElement.matches(':focus-visible')"), f"{found}: the focus is not seen"
    return str(found)
