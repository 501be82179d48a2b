"""View 5: a row step by step, and the choice of word and head."""

import json
import re

import pytest
from support.page import LoadedPage, expect
from support.sentences import small_tokenizer
from support.serving import Served
from support.tiny import varied_model
from support.variants import VARIANTS

from transformer_mt.extensions.explain.explain import explain_row
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.views.serialise import to_json

pytestmark = pytest.mark.slow

SENTENCE = "Der Baum fällt."
# Every model with attention.
VARIOUS = [variant for variant in VARIANTS if not re.search(r"score=none|feed_forward", " ".join(variant))]
CHECK = "(answer) => import('/javascript/steps.js').then((m) => m.check(answer))"


@pytest.fixture
def steps(opened: LoadedPage) -> LoadedPage:
    opened.type(SENTENCE)
    opened.click("#tab-steps")
    opened.wait(".stage")
    return opened


def answer(served: Served, source: str = SENTENCE, **asked: object) -> dict:  # type: ignore[type-arg]
    target = served.ask("translate", source=source).json["translation"]
    return served.ask("explain", source=source, target=target, **asked).json


def head_line(found: dict) -> str:  # type: ignore[type-arg]
    place = f"layer {found['layer']}, head {found['head']}, row i = {found['row']}"
    return f"{place}, which reads {found['read']}"


def test_stages_match_the_command(steps: LoadedPage, served: Served) -> None:
    found = answer(served)
    for number, (title, stage) in enumerate(
        zip(steps.find(".stage > summary").all_inner_texts(), found["stages"], strict=True), start=1
    ):
        assert title.endswith(f" {stage['title'].replace(': ', ' ', 1)}")
        shown = steps.find(".stage").nth(number - 1).locator("p > code").all_text_contents()
        for step, code in zip(stage["steps"], shown, strict=False):
            assert code.startswith(" = ".join(filter(None, [step["symbol"], step["formula"]])))
    titles = steps.find(".stage > summary > strong").all_inner_texts()
    assert titles[-3:] == [
        f"{number}. {title}"
        for number, title in enumerate(
            ("The score of every key", "The weights, which sum to 1", "The state passed on"), len(titles) - 2
        )
    ]
    steps.expect_part("#all-steps h3", head_line(found))
    steps.expect_part("#all-steps", found["in_words"][0])


def test_word_token_and_head_can_be_chosen(steps: LoadedPage, served: Served) -> None:
    sentence = "Der Quaxl wartet."
    steps.type(sentence)
    steps.expect_part("#explained-row", "Quaxl: ▁")
    word = next(word for word, pieces in answer(served, sentence)["rows"]["source"] if len(pieces) > 1)
    for piece, head, place in ((1, "encoder.1.2", {"layer": 1, "head": 2}), (2, "", {})):
        row = {"side": "source", "word": word, "token": piece}
        steps.select("#explained-row", json.dumps(row, separators=(",", ":")))
        steps.expect_part("#all-steps h3", "Encoder self-attention")
        steps.select("#explained-head", head)
        steps.expect_part(
            "#all-steps h3", head_line(answer(served, sentence, word=word, stack="encoder", token=piece, **place))
        )
        steps.expect_part("#explained-head option:checked", head or "the largest effect")
    steps.select("#explained-head", "cross.1.2")
    steps.expect_part("#all-steps h3", "Cross-attention, layer 1, head 2")
    steps.expect_count("#explained-row optgroup[label=Translation] option:checked", 1)


def test_head_chosen_in_the_overview_is_explained(opened: LoadedPage) -> None:
    opened.click("#tab-heads")
    opened.click("[data-place='pick decoder.2.1']")
    opened.click("#tab-steps")
    opened.expect_part("#all-steps h3", "Decoder self-attention, layer 2, head 1")
    opened.expect_value("#explained-head", "decoder.2.1")


def test_open_stage_stays_open_for_another_head_and_sentence(steps: LoadedPage) -> None:
    stage = steps.find(".stage").first
    stage.locator("summary").click()
    steps.select("#explained-head", "cross.1.2")
    steps.expect_part("#all-steps h3", "Cross-attention, layer 1, head 2")
    expect(stage).to_have_attribute("open", "")
    steps.find("#explained-row").select_option(index=2)
    steps.type("Der Vogel wartet.")  # has no such row
    expect(steps.find("#explained-row")).not_to_contain_text("Baum")
    steps.expect_text("#steps-problem", "")


def test_stages_of_every_model_are_drawn(scripted: LoadedPage) -> None:
    tokenizer = small_tokenizer()
    for variant in VARIOUS:
        model = varied_model(*variant, vocabulary=tokenizer.size)
        stack = "decoder" if "decoder" in model.attention_stacks() else "cross"
        pair = prepare_pair(model, tokenizer, "Der alte Mann liest.", "The old man is reading.")
        explanation = explain_row(model, pair, word="3", stack=stack, layer=1, head=1)
        scripted.page.evaluate(CHECK, to_json(explanation))
