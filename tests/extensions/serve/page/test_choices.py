"""View 2: alternatives of each token, continuing from one, undo, and the tree of the beam."""

import pytest
from support.page import LoadedPage, expect, violations
from support.serving import Served

pytestmark = pytest.mark.slow

SENTENCE = "Der Vogel wartet."


def pieces(opened: LoadedPage) -> list[str]:
    return opened.find(".piece bdi").all_inner_texts()


def test_word_of_the_translation_opens_its_first_token(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    word = opened.find("#translation .below .word").nth(1)
    word.click()
    expect(word).to_have_attribute("aria-current", "true")
    assert pieces(opened)[1] == opened.find(".piece[aria-expanded=true] bdi").inner_text()
    opened.click("#tab-lens")
    word.click()
    opened.find("#translation .below .word").nth(0).click()
    opened.expect_text(".piece[aria-expanded=true] bdi", pieces(opened)[0])
    expect(opened.find(".piece").first).to_be_focused()
    opened.press("Escape")
    opened.expect_count(".choice", 0)
    expect(opened.find(".piece").first).to_be_focused()


def test_chosen_token_is_kept_and_undone(opened: LoadedPage, served: Served) -> None:
    opened.type(SENTENCE)
    before = pieces(opened)
    opened.find(".piece").nth(1).click()
    other = opened.find(".choice bdi").nth(1).inner_text()
    opened.find(".choice").nth(1).click()
    asked = served.ask("translate", source=SENTENCE, prefix=[before[0], other], alternatives=1).json
    opened.expect_text(".piece bdi", [position["token"] for position in asked["alternatives"]])
    opened.expect_text(".piece.chosen bdi", [before[0], other])
    opened.click("[data-place=undo]")
    opened.expect_text(".piece bdi", before)
    opened.expect_attribute("[data-place=undo]", "aria-disabled", "true")


def test_why_not_contrasts_an_alternative_with_the_heads_that_are_on(opened: LoadedPage, served: Served) -> None:
    opened.type(SENTENCE)
    opened.click("#tab-heads")
    opened.click("[data-place='switch cross.1.1']")
    opened.click("#tab-choices")
    opened.expect_part(".remarks", "Without cross.1.1")
    opened.find(".piece").nth(1).click()
    opened.find(".choice").nth(2).focus()
    opened.press("ArrowRight", "Enter")
    expect(opened.find("[data-place='why 2']")).to_be_focused()
    opened.expect_attribute("[data-place='why 2']", "aria-expanded", "true")
    before, word, other = pieces(opened)[0], pieces(opened)[1], opened.find(".choice bdi").nth(2).inner_text()
    asked = {"prefix": [before], "word": word, "other": other, "without": ["cross.1.1"]}
    contrast = served.ask("contrast", source=SENTENCE, **asked).json
    opened.expect_text(".contrast > p:first-child", contrast["in_words"])
    assert violations(opened) == []
    opened.press("ArrowDown", "Space")
    opened.expect_attribute("[data-place='why 3']", "aria-expanded", "true")
    opened.expect_count(".contrast", 1)
    opened.press("Enter")
    opened.expect_count(".contrast", 0)


def test_any_node_of_the_tree_can_be_chosen_until_a_new_sentence(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    opened.find(".node").filter(has_text="</s>").last.click()
    expect(opened.find(".piece.chosen bdi").last).to_have_text("</s>")
    opened.expect_count(".node", 1)
    opened.click("[data-place=undo]")
    node = opened.find(".node[aria-level='1']:not(.best)").first
    piece = node.locator("bdi").inner_text()
    node.click()
    opened.expect_text(".piece.chosen bdi", [piece])
    opened.expect_text(".start", piece)
    opened.type("Der Mann schläft.")
    opened.expect_count(".piece.chosen", 0)


def test_more_hypotheses_make_a_wider_tree(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    opened.fill("#beam", "5")
    opened.find("#beam").press("Enter")
    opened.expect_count(".node[aria-level='1']", 5)
    opened.type("Der Mann schläft.")
    opened.expect_count(".node[aria-level='1']", 5)


def test_invalid_number_of_hypotheses_is_reported_next_to_it(opened: LoadedPage) -> None:
    beam, problem = opened.find("#beam"), opened.find("#beam-problem")
    for wrong in ("13", "0", "2.5", ""):
        for number, is_wrong in ((wrong, True), ("3", False)):
            beam.fill(number)
            beam.press("Enter")
            expect(problem).to_have_text("Give a whole number from 1 to 12." if is_wrong else "")
            expect(beam).to_have_attribute("aria-invalid", str(is_wrong).lower())
    opened.reply("translate", {"error": "search.beam: is less than n_best; give a larger one"}, status=422)
    beam.fill("2")
    beam.press("Enter")
    expect(problem).to_have_text("search.beam: is less than n_best; give a larger one")
    opened.expect_text("#source-problem", "")
    expect(beam).to_have_attribute("aria-invalid", "true")
    opened.expect_attribute("#source", "aria-invalid", "false")
