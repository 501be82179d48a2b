"""Views 3 and 4: all heads, the chosen one in numbers, turning heads off, and the loss without each."""

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.page import LoadedPage, expect
from support.serving import Served

from transformer_mt.views.matrix import Blocks, Scale
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


def answer(served: Served, **asked: object) -> dict:  # type: ignore[type-arg]
    target = served.ask("translate", source=SENTENCE, without=asked.get("without", [])).json
    return served.ask("attend", source=SENTENCE, target=target["translation"], **asked).json


def shown_numbers(opened: LoadedPage) -> list[list[str]]:
    rows = opened.find(".matrix tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]


def printed(matrix: list[list[float | None]]) -> list[list[str]]:
    def one(number: float | None) -> str:
        if number is None:
            return "·"
        text = f"{abs(number):.2f}"
        return ("−" if number < 0 and text != "0.00" else "") + (text[1:] if text[0] == "0" else text)

    return [[one(number) for number in row] for row in matrix]


@pytest.mark.parametrize("unit", ["words", "pieces"])
def test_chosen_head_is_a_table_of_the_models_numbers(heads: LoadedPage, served: Served, unit: str) -> None:
    heads.select("#unit", unit)
    stacks = answer(served, words=unit == "words")["stacks"]
    for stack, layer, head in (("cross", 2, 1), ("decoder", 1, 2), ("encoder", 1, 1)):
        heads.click(f"[data-place='pick {stack}.{layer}.{head}']")
        heads.expect_part("caption", f"{stack}.{layer}.{head}. A number is the weight")
        heads.expect_text(".matrix thead th", stacks[stack]["columns"])
        heads.expect_text(".matrix tbody th", stacks[stack]["rows"])
        assert shown_numbers(heads) == printed(stacks[stack]["weights"][layer - 1][head - 1])


@pytest.mark.parametrize("method", ["gradient", "erasure"])
def test_every_method_shows_its_numbers(heads: LoadedPage, served: Served, method: str) -> None:
    heads.select("#method", method)
    matrix = answer(served, method=method)["stacks"]["cross"]["weights"][0][0]
    scale = Scale.of([np.array(matrix, float)])
    (levels,) = printed([[level / scale.unit for level in Blocks(scale).levels]])
    shades = f"shades from {', '.join(levels[:3])} and {levels[3]}."
    heads.expect_part("caption", f"A number is {METHODS[method].meaning}; {shades}")
    if scale.unit != 1:
        heads.expect_part("caption", f"in units of {scale.unit:g}")
    expected = printed([[None if n is None else n / scale.unit for n in row] for row in matrix])
    expect(heads.find(".matrix tbody tr").first.locator("td")).to_have_text(expected[0])
    assert shown_numbers(heads) == expected
    linked = printed([[n / scale.unit for row in matrix for n in row if n and Blocks(scale).level(n)]])
    assert [heads.find("#one-head .link-number").all_text_contents()] == linked
    if method in ("gradient", "erasure"):
        heads.expect_count(".switch", 0)  # one matrix for the whole model is not a head


def test_head_that_is_off_is_compared_with_the_usual_translation(heads: LoadedPage, served: Served) -> None:
    every = [f"cross.{layer}.{head}" for layer in (1, 2) for head in (1, 2)]
    for off in map(list, chain(combinations(every, 2), combinations(every, 3))):
        asked = served.ask("translate", source=SENTENCE, without=off).json
        if asked["translation"] != asked["usual"]:
            break
    for name in off:
        heads.click(f"[data-place='switch {name}']")
        heads.expect_attribute(f"[data-place='switch {name}']", "aria-pressed", "false")
    heads.expect_part(".remarks", f"Without {', '.join(off)}: ")
    heads.expect_text(".compared", [asked["translation"], asked["usual"]])
    assert heads.find(".compared mark").count()
    heads.expect_text(f"[data-place='pick {off[0]}']", "off")
    heads.click("[data-place='all on']")
    heads.expect_count(".compared", 0)
    heads.expect_count(".switch[aria-pressed=false]", 0)


def test_unmarked_words_are_a_longest_common_subsequence(opened: LoadedPage) -> None:
    draw = random.Random(0)
    pairs = [["".join(draw.choices("abc", k=draw.randint(1, 5))) for _ in range(2)] for _ in range(60)]
    compared = "a.map((pair) => m.comparison(...pair.map((text) => [...text].join(' ')), 'de'))"
    unmarked = ".map((shown) => [...shown.querySelectorAll(':scope > bdi')].map((word) => word.textContent).join(''))"
    found = opened.module("translation", compared + unmarked, *pairs)
    for (own, other), common in zip(pairs, found, strict=True):
        shared = set(subsequences(own)) & set(subsequences(other))
        assert common in shared, f"{own} beside {other}"
        assert len(common) == max(map(len, shared)), f"{own} beside {other}"


def subsequences(text: str) -> Iterator[str]:
    return map("".join, chain.from_iterable(combinations(text, length) for length in range(len(text) + 1)))


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
        heads.expect_part(f"#{view}", "All heads are on here.")
    heads.click("[data-place='all on']")
    expect(heads.find("#lens .lens")).to_be_visible()
    expect(heads.find("#lens")).not_to_contain_text("All heads are on here.")


def test_default_head_has_a_matrix(opened: LoadedPage) -> None:
    methods = {"weights": {"whole": False}, "erasure": {"whole": True}}
    run = {"stacks": {"encoder": [[1, 2]], "cross": [[2]]}, "methods": methods}
    weights = {"encoder": {"weights": [[[[1]], [[1]]]]}, "cross": {"weights": [[None, [[1]]]]}}
    for method, chosen, shown in (
        ("weights", None, "cross.1.2"),
        ("weights", "cross.1.1", "cross.1.2"),  # pruned
        ("weights", "cross", "cross.1.2"),
        ("weights", "encoder.1.1", "encoder.1.1"),
        ("erasure", "encoder.1.1", "encoder"),
        ("erasure", "decoder.1.1", "cross"),
    ):
        attention = {"method": method, "stacks": weights}
        assert opened.module("heads", "m.headToShow(...a)", attention, run, chosen) == shown


def test_shades_and_scales_match_the_terminal(opened: LoadedPage) -> None:
    matrices = [[[0.25, 0.75], [None, 1.0]], [[-0.3, 0.1]], [[0.001, -0.004]], [[250.0, 3.0]], [[0.0, 0.0]]]
    for matrix in matrices:
        ours = Scale.of([np.array(matrix, float)])
        theirs = opened.module("shades", "m.scaleOf(a)", matrix)
        assert theirs == pytest.approx({"largest": ours.largest, "unit": ours.unit})
        for number in (number for row in matrix for number in row if number is not None):
            assert opened.module("shades", "m.level(...a)", number, ours.largest) == Blocks(ours).level(number)


def test_numbers_being_recomputed_are_marked(heads: LoadedPage) -> None:
    waiting: list[Route] = []
    heads.page.route("**/v1/attend", lambda route: waiting.append(route))
    expect(heads.find("#busy")).to_be_hidden()
    heads.select("#method", "erasure")
    expect(heads.find("#busy")).to_be_visible()
    heads.expect_attribute("#heads", "aria-busy", "true")
    expect(heads.find("#heads > .beside")).to_have_css("opacity", "0.3")
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


def test_all_cross_heads_can_be_off(heads: LoadedPage) -> None:
    for name in (f"cross.{layer}.{head}" for layer in (1, 2) for head in (1, 2)):
        heads.click(f"[data-place='switch {name}']")
    heads.expect_text(".stack.cross .empty", ["off"] * 6)
    heads.expect_count(".stack.cross .pick svg", 0)
    heads.expect_part("#one-head", "is off.")
