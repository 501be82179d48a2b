"""View 5: a row step by step, the choice of word and head, and the effect of temperature."""

import json
import re

import numpy as np
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
RUN = {"source_language": "de", "target_language": "en"}
# The state of a drawing for a position of the slider; null without one.
DRAWN = """((answer, run, place) => {
  const drawing = document.createElement("div");
  drawing.append(...draw('all-steps', answer, run, []).flat(Infinity).filter((one) => one));
  const stages = [...drawing.querySelectorAll(".stage > summary strong")].map((one) => one.textContent);
  const [panel, slider] = [drawing.querySelector(".what-if"), drawing.querySelector("#temperature")];
  const texts = (within, selector) => [...within.querySelectorAll(selector)].map((one) => one.textContent);
  if (!slider) {
    return { stages, slider, text: drawing.textContent };
  }
  slider.value = place;
  slider.dispatchEvent(new Event("input"));
  const cells = [...panel.querySelectorAll("tbody tr")].map((row) => texts(row, "td"));
  return { stages, slider: slider.getAttribute("aria-valuetext"), cells, vectors: texts(panel, ".vector"),
    bars: [...panel.querySelectorAll(".imagined")].map((one) => Number(one.getAttribute("width"))) };
})(...a)"""


@pytest.fixture
def steps(opened: LoadedPage) -> LoadedPage:
    opened.type(SENTENCE)
    opened.click("#tab-steps")
    opened.wait("#temperature")
    return opened


def answer(served: Served, source: str = SENTENCE, **asked: object) -> dict:  # type: ignore[type-arg]
    target = served.ask("translate", source=source).json["translation"]
    return served.ask("explain", source=source, target=target, **asked).json


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def head_line(found: dict) -> str:  # type: ignore[type-arg]
    place = f"layer {found['layer']}, head {found['head']}, row i = {found['row']}"
    return f"{place}, which reads {found['read']}"


def test_stages_match_the_command(steps: LoadedPage, served: Served) -> None:
    found = answer(served)
    for number, (title, stage) in enumerate(
        zip(steps.find(".stage > summary").all_inner_texts(), found["stages"], strict=True), start=1
    ):
        assert title == f"{number}. {stage['title'].replace(': ', ' ', 1)}"
        shown = steps.find(".stage").nth(number - 1).locator("code").all_text_contents()
        for step, code in zip(stage["steps"], shown, strict=False):
            assert code.startswith(" = ".join(filter(None, [step["symbol"], step["formula"]])))
    steps.expect_part("#all-steps h3", head_line(found))
    expect(steps.find("#all-steps h3 bdi").first).to_have_attribute("lang", "en")
    for sentence in (*found["in_words"], f"Of {len(found['choice']['without'])} heads "):
        steps.expect_part("#all-steps", sentence)


@pytest.mark.parametrize("width", [6, 7])
def test_only_long_vectors_are_abbreviated(opened: LoadedPage, served: Served, width: int) -> None:
    found = answer(served)
    for step in (step for stage in found["stages"] for step in stage["steps"]):
        if step["over"] == "row" and isinstance(step["values"], list):
            step["values"] = step["values"][:width]
        elif step["over"] != "row" and isinstance(step["values"][0], list):
            step["values"] = [vector[:width] for vector in step["values"]]
    drawn = opened.drawing("dom", "draw('all-steps', ...a, [])", found, RUN).texts(".entries")
    assert len(drawn) > 10
    assert {(len(text.split()), "… " in text) for text in drawn} == {(6, width > 6)}


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


def test_open_stage_stays_open_for_another_head(steps: LoadedPage) -> None:
    stage = steps.find(".stage").first
    assert stage.get_attribute("open") is None
    stage.locator("summary").click()
    steps.select("#explained-head", "cross.1.2")
    steps.expect_part("#all-steps h3", "Cross-attention, layer 1, head 2")
    expect(stage).to_have_attribute("open", "")


def test_word_of_an_earlier_translation_is_reset(steps: LoadedPage) -> None:
    steps.find("#explained-row").select_option(index=2)
    opened = steps
    opened.type("Der Vogel wartet.")
    expect(opened.find("#explained-row")).not_to_contain_text("Baum")
    opened.expect_text("#steps-problem", "")


WITHOUT_SOFTMAX = (
    "model.attention.kind=linear", "model.attention.normaliser=sparsemax", "model.attention.normaliser=entmax15"
)  # fmt: skip


def test_slider_appears_for_every_softmax(opened: LoadedPage) -> None:
    tokenizer = small_tokenizer()
    for variant in VARIOUS:
        model = varied_model(*variant, vocabulary=tokenizer.size)
        stack = "decoder" if "decoder" in model.attention_stacks() else "cross"
        pair = prepare_pair(model, tokenizer, "Der alte Mann liest.", "The old man is reading.")
        explanation = explain_row(model, pair, word="3", stack=stack, layer=1, head=1)
        drawn = opened.module("dom", DRAWN, to_json(explanation), RUN, -0.3)
        assert len(drawn["stages"]) == len(explanation.stages)
        numbers = {step.name: step.values.numpy() for step in explanation.steps()}
        assert drawn["slider"] == (None if {*WITHOUT_SOFTMAX} & {*variant} else "T = 0.50"), variant
        if not drawn["slider"]:
            continue
        scores = numbers.get("scores_with_position", numbers["scores"])
        scores = np.where(numbers.get("mask", True), scores, -np.inf)
        powers = np.exp((scores - max(scores.max(), -1e9)) / 10**-0.3)
        weights = powers / (powers.sum() or 1.0)  # a row may have no neighbours
        assert [number(cells[2]) for cells in drawn["cells"]] == pytest.approx(weights.tolist(), abs=6e-4)
        assert drawn["bars"] == pytest.approx(np.maximum(0.5, 100 * weights).tolist(), abs=0.01)
        values = numbers["values"] + numbers.get("position_values", 0.0)
        lengths = [number(vector.partition("= ")[2].partition("[")[0]) for vector in drawn["vectors"]]
        expected = [np.linalg.norm(vector) for vector in (numbers["head"], weights @ values)]
        assert lengths == pytest.approx(expected, rel=2e-2, abs=6e-4)
