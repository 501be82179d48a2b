"""Views 3 and 4: all heads, the chosen one in numbers, turning heads off, and the loss without each."""

from contextlib import suppress
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

from transformer_mt.views.methods import METHODS

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.slow

SENTENCE = "Der Baum fällt."


@pytest.fixture
def heads(opened: LoadedPage) -> LoadedPage:
    opened.type(SENTENCE)
    opened.click("#tab-heads")
    opened.wait(".matrix")
    return opened


def test_chosen_head_is_a_table_of_the_models_numbers(heads: LoadedPage, served: Served) -> None:
    pair = {"source": SENTENCE, "target": served.ask("translate", source=SENTENCE).json["translation"]}
    for head, method, unit in (
        ("cross.2.1", "weights", "words"), ("decoder.1.2", "weights", "pieces"), ("encoder.1.1", "weights", "pieces"),
        ("cross", "gradient", "pieces"), ("cross", "erasure", "words"),
    ):  # fmt: skip
        heads.select("#unit", unit)
        heads.select("#method", method)
        heads.click(f"[data-place='pick {head}']")
        heads.expect_part("caption", METHODS[method].meaning)
        answer = served.ask("attend", **pair, method=method, words=unit == "words").json
        stack, layer, number = (head + ".1.1").split(".")[:3]
        maps = answer["stacks"][stack]
        heads.expect_text(".matrix thead th", maps["columns"])
        heads.expect_text(".matrix tbody th", maps["rows"])
        scale = float(heads.find("caption").inner_text().partition("in units of ")[2].rstrip(".") or 1)
        flat = [n for row in maps["weights"][int(layer) - 1][int(number) - 1] for n in row]
        shown = heads.find(".matrix tbody td").all_inner_texts()
        numbers = [nan if text == "·" else float(text.replace("−", "-")) for text in shown]
        assert numbers == pytest.approx([nan if n is None else n / scale for n in flat], abs=0.0051, nan_ok=True)


def test_head_that_is_off_is_compared_with_the_usual_translation(heads: LoadedPage, served: Served) -> None:
    every = [f"cross.{layer}.{head}" for layer in (1, 2) for head in (1, 2)]
    for off in (*combinations(every, 2), *combinations(every, 3)):
        asked = served.ask("translate", source=SENTENCE, without=off).json
        if asked["translation"] != asked["usual"]:
            break
    for name in off:
        heads.click(f"[data-place='switch {name}']")
        heads.expect_attribute(f"[data-place='switch {name}']", "aria-pressed", "false")
    heads.expect_part(".remarks", f"Without {', '.join(off)}: ")
    heads.expect_text(".compared", [asked["translation"], asked["usual"]])
    heads.expect_text(f"[data-place='pick {off[0]}']", "off")
    heads.click("[data-place='all on']")
    heads.expect_count(".compared", 0)
    heads.expect_count(".switch[aria-pressed=false]", 0)


def test_chosen_head_stays_chosen_when_off(heads: LoadedPage) -> None:
    for method in ("erasure", "weights"):  # the only matrix of a method does not belong to a head
        heads.select("#method", method)
        heads.find("[data-place^='pick cross']").first.click()
    heads.click("[data-place='pick cross.2.1']")
    heads.click("[data-place='switch cross.2.1']")
    heads.expect_part("#one-head", "cross.2.1 is off.")
    heads.expect_part("#one-head", "All other heads are on here.")
    heads.expect_attribute("[data-place='pick cross.2.1']", "aria-pressed", "true")
    for view in ("steps", "lens"):
        heads.click(f"#tab-{view}")
        heads.expect_part(f"#{view}", "These numbers are with all heads on.")
    heads.click("[data-place='all on']")
    expect(heads.find("#lens")).not_to_contain_text("These numbers are with all heads on.")


def test_numbers_being_recomputed_are_marked(heads: LoadedPage) -> None:
    waiting: list[Route] = []
    heads.page.route("**/v1/attend", lambda route: waiting.append(route))
    expect(heads.find("#busy")).to_be_hidden()
    heads.select("#method", "erasure")
    expect(heads.find("#busy")).to_be_visible()
    heads.expect_attribute("#heads", "aria-busy", "true")
    expect(heads.find("#all-heads")).to_have_css("opacity", "0.3")
    heads.click("#tab-choices")
    expect(heads.find("#busy")).to_be_hidden()
    heads.click("#tab-heads")
    expect(heads.find("#busy")).to_be_visible()
    waiting[-1].continue_()
    expect(heads.find("#busy")).to_be_hidden()
    heads.expect_attribute("#heads", "aria-busy", "false")
    heads.expect_part("caption", "Erasure: translation against sentence")
    with suppress(Exception):  # the page has dropped the first request
        waiting[0].abort()


# The texts of an SVG file, with where they end.
DRAWN = """(drawing) => {
  const svg = document.importNode(new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement, true);
  document.body.append(svg);
  const texts = [...svg.querySelectorAll("text")].filter((one) => one.textContent).map((one) => {
    const { x, width } = one.getBBox();
    return {
      text: one.textContent, x: Number(one.getAttribute("x")), anchor: one.getAttribute("text-anchor"),
      right: one.hasAttribute("transform") ? 0 : x + width, width: svg.width.baseVal.value,
    };
  });
  svg.remove();
  return texts;
}"""


def test_picture_of_the_chosen_head_can_be_saved(heads: LoadedPage) -> None:
    with heads.page.expect_download() as saving:
        heads.click("#save-picture")
    assert saving.value.suggested_filename == "tmt.svg"
    drawing = saving.value.path().read_text("utf-8")
    assert heads.find(".matrix tbody td").first.inner_text() in drawing
    texts = heads.page.evaluate(DRAWN, drawing)
    caption = [text for text in texts if text["x"] == 0]
    assert len(caption) > 1
    assert "".join(text["text"] for text in caption) == heads.find("caption").text_content()
    rows = [text for text in texts if text["anchor"] == "end"]
    assert [text["text"] for text in rows] == heads.find(".matrix th[scope=row]").all_text_contents()
    assert max(text["right"] for text in rows) == pytest.approx(min(text["right"] for text in rows), abs=0.5)
    assert all(text["right"] <= text["width"] for text in texts)


OVERLAPS = """(switches) => {
  const boxes = switches.map((one) => one.getBoundingClientRect());
  return boxes.some(({ top, right }, at) => top === boxes[at + 1]?.top && right > boxes[at + 1].left);
}"""
IS_IN_SIGHT = """(one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
}"""


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_chosen_head_and_its_switch_are_in_sight_together(heads: LoadedPage, size: tuple[int, int]) -> None:
    heads.page.set_viewport_size({"width": size[0], "height": size[1]})
    for is_class in (False, True):
        for name in ("encoder.1.1", "decoder.2.2"):
            switch = heads.find(f"[data-place='switch {name}']")
            switch.focus()
            heads.click(f"[data-place='pick {name}']")
            heads.expect_part("#one-head h3", name)
            assert switch.evaluate(IS_IN_SIGHT)
            assert heads.find(".matrix tbody td").first.evaluate(IS_IN_SIGHT)
            assert not heads.find(".switch").evaluate_all(OVERLAPS)
        if not is_class:
            heads.click("#class-mode")
