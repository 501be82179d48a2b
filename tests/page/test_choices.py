"""View 2: alternatives of each piece, going on from one, undo, and the tree of the beam."""

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

pytestmark = pytest.mark.slow

SENTENCE = "Der Vogel wartet."


def pieces(opened: LoadedPage) -> list[str]:
    return opened.find(".piece bdi").all_inner_texts()


def test_a_word_of_the_translation_opens_its_first_piece(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    word = opened.find("#translation .below .word").nth(1)
    word.click()
    expect(word).to_have_attribute("aria-current", "true")
    assert pieces(opened)[1] == opened.find(".piece[aria-expanded=true] bdi").inner_text()
    opened.find("#tab-lens").click()
    word.click()
    opened.find("#translation .below .word").nth(0).click()
    expect(opened.find(".piece[aria-expanded=true] bdi")).to_have_text(pieces(opened)[0])
    expect(opened.find(".piece").first).to_be_focused()
    opened.press("Escape")
    expect(opened.find(".choice")).to_have_count(0)
    expect(opened.find(".piece").first).to_be_focused()


def test_a_chosen_piece_is_kept_and_undone(opened: LoadedPage, served: Served) -> None:
    opened.type(SENTENCE)
    before = pieces(opened)
    opened.find(".piece").nth(1).click()
    other = opened.find(".choice bdi").nth(1).inner_text()
    opened.find(".choice").nth(1).click()
    asked = served.ask("translate", source=SENTENCE, prefix=[before[0], other], alternatives=1).json
    expect(opened.find(".piece bdi")).to_have_text([position["piece"] for position in asked["alternatives"]])
    expect(opened.find(".piece.chosen bdi")).to_have_text([before[0], other])
    opened.find("[data-place=undo]").click()
    expect(opened.find(".piece bdi")).to_have_text(before)
    expect(opened.find("[data-place=undo]")).to_have_attribute("aria-disabled", "true")


def test_the_end_symbol_ends_there(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    before = pieces(opened)
    assert before[-1] == "</s>"
    opened.find(".node").filter(has_text="</s>").last.click()
    expect(opened.find(".piece.chosen bdi").last).to_have_text("</s>")
    expect(opened.find(".node")).to_have_count(1)


def test_every_node_of_the_tree_can_be_chosen(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    node = opened.find(".node[aria-level='1']:not(.best)").first
    piece = node.locator("bdi").inner_text()
    node.click()
    expect(opened.find(".piece.chosen bdi")).to_have_text([piece])
    expect(opened.find(".start")).to_have_text(piece)


def test_more_hypotheses_make_a_wider_tree(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    opened.find("#beam").fill("5")
    opened.find("#beam").press("Enter")
    expect(opened.find(".node[aria-level='1']")).to_have_count(5)
    opened.type("Der Mann schläft.")
    expect(opened.find(".node[aria-level='1']")).to_have_count(5)


def test_another_number_of_hypotheses_than_there_may_be_is_named_where_it_stands(opened: LoadedPage) -> None:
    beam, problem = opened.find("#beam"), opened.find("#beam-problem")
    for wrong in ("13", "0", "2.5", ""):
        beam.fill(wrong)
        beam.press("Enter")
        expect(problem).to_have_text("Give a whole number from 1 to 12.")
        expect(beam).to_have_attribute("aria-invalid", "true")
        beam.fill("3")
        beam.press("Enter")
        expect(problem).to_be_empty()
        expect(beam).to_have_attribute("aria-invalid", "false")
    opened.expected = {422}
    line = '{"error": "search.beam: is less than n_best; give a larger one"}'
    opened.page.route("**/v1/translate", lambda r: r.fulfill(status=422, content_type="application/json", body=line))
    beam.fill("2")
    beam.press("Enter")
    expect(problem).to_have_text("search.beam: is less than n_best; give a larger one")
    expect(opened.find("#source-problem")).to_be_empty()
    expect(beam).to_have_attribute("aria-invalid", "true")
    expect(opened.find("#source")).to_have_attribute("aria-invalid", "false")


def test_a_new_sentence_forgets_what_was_chosen(opened: LoadedPage) -> None:
    opened.type(SENTENCE)
    opened.find(".node[aria-level='1']:not(.best)").first.click()
    expect(opened.find(".piece.chosen")).to_have_count(1)
    opened.type("Der Mann schläft.")
    expect(opened.find(".piece.chosen")).to_have_count(0)
