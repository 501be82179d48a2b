"""Right-to-left sentences: every view follows their direction, and numbers stay as they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.command_line import settings
from support.page import VIEWS, LoadedPage
from support.right_to_left import SENTENCES, write_pairs
from support.serving import serving

from transformer_mt.cli.main import run
from transformer_mt.text.direction import direction
from transformer_mt.text.words import words

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SIZES = {
    "model__width": "32",
    "model__decoder_layers": "2",
    "tokenizer__vocabulary_size": "400",
    "schedule__warmup": "20",
    "schedule__learning_rate": "0.01",
    "training__steps": "60",
    "training__validate_every": "30",
    "training__checkpoint_every": "30",
    "training__keep_checkpoints": "weights",
    "training__batch_tokens": "512",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that translates from Arabic, `ar`, and one from German, `de`."""
    folder = tmp_path_factory.mktemp("right_to_left")
    write_pairs(folder / "data")
    for language in SENTENCES:
        where = ["--data", str(folder / "data"), "--run-dir", str(folder / "runs" / language)]
        language = f"data.source_language={language}"
        assert run(["train", *where, "--set", language, *settings(**SIZES)]) == 0
    return folder / "runs"


@pytest.fixture(params=SENTENCES)
def pair(request: pytest.FixtureRequest, chromium: "Browser", runs: Path) -> Iterator[LoadedPage]:
    """The page of a run with a sentence in its language."""
    with serving([runs / request.param]) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        opened.fill("#source", SENTENCES[request.param])
        opened.expect_text("#translation .above bdi", words(SENTENCES[request.param]))
        yield opened


def lefts(opened: LoadedPage, selector: str) -> list[float]:
    """The left edges of the elements at a selector, in order."""
    edges = "all => all.map((one) => one.getBoundingClientRect().left)"
    return opened.find(selector).evaluate_all(edges)  # type: ignore[no-any-return]


def direction_of(opened: LoadedPage, selector: str) -> str:
    """The direction in which the elements at a selector run."""
    edges = lefts(opened, selector)
    assert len(set(edges)) == len(edges) > 1, f"{selector}: {edges}"
    for name, inorder in (("rtl", sorted(edges, reverse=True)), ("ltr", sorted(edges))):
        if edges == inorder:
            return name
    raise AssertionError(f"{selector}: neither from left to right nor from right to left: {edges}")


def read(opened: LoadedPage) -> dict[str, str]:
    """The directions of the sentence and its translation."""
    sides = {"source": "above", "target": "below"}
    return {name: direction(opened.find(f"#translation .{side}").inner_text()) for name, side in sides.items()}


def show(opened: LoadedPage, view: str) -> None:
    opened.click(f"#tab-{view}")
    opened.wait(VIEWS[view])


# The left and right end of each curve at a selector, in page coordinates.
ENDS = """all => all.map((one) => {
  const { left } = one.ownerSVGElement.getBoundingClientRect();
  return [0, one.getTotalLength()].map((length) => left + one.getPointAtLength(length).x);
})"""


def test_words_and_links_follow_the_direction_of_their_line(pair: LoadedPage) -> None:
    of = read(pair)
    assert sorted(of.values()) == ["ltr", "rtl"]
    linked = 0
    for end, (side, name) in enumerate({"above": "source", "below": "target"}.items()):
        assert direction_of(pair, f"#translation .{side} .word") == of[name]
        for word in pair.find(f"#translation .{side} .word").all():
            word.focus()
            box = word.bounding_box()
            for ends in pair.find("#translation path.link.lit").evaluate_all(ENDS):
                assert ends[end] == pytest.approx(box["x"] + box["width"] / 2, abs=1)
                linked += 1
    assert linked == 2 * pair.find("#translation path.link").count() > 0


def test_columns_of_a_matrix_follow_the_direction_of_their_sentence(pair: LoadedPage) -> None:
    of = read(pair)
    show(pair, "heads")
    for name, side in {"cross.1.1": "source", "encoder.1.1": "source", "decoder.1.1": "target"}.items():
        pair.click(f"[data-place='pick {name}']")
        pair.expect_text("#one-head h3", name)
        pair.settle()
        assert direction_of(pair, "#one-head thead th") == of[side]
        assert direction_of(pair, "#one-head tbody tr:first-child > *") == of[side], "the row begins with its label"
        heads, cells = (lefts(pair, f"#one-head {row} > :not(:first-child)") for row in ("thead tr", "tbody tr"))
        assert cells == heads * (len(cells) // len(heads)), "a number is in the column of its word"
        mirrored = pair.find(f"[data-place='pick {name}'] svg").evaluate("(one) => getComputedStyle(one).transform")
        assert mirrored == ("none" if of[side] == "ltr" else "matrix(-1, 0, 0, 1, 0, 0)")


def test_tokens_tree_and_lens_follow_the_direction_of_the_translation(pair: LoadedPage) -> None:
    target = read(pair)["target"]
    assert direction_of(pair, ".piece") == target
    assert direction_of(pair, ".start, .node.best") == target
    boxes = [node.bounding_box() for node in pair.find(".node.best").all()]
    for (parent, child), box in zip(pair.find(".branch.best").evaluate_all(ENDS), boxes, strict=True):
        assert (parent > child) == (target == "rtl")
        assert child == pytest.approx(box["x"] + (box["width"] if target == "rtl" else 0), abs=1)
    pair.find(".piece").first.click()
    pair.expect_attribute(".others", "dir", target)
    show(pair, "lens")
    assert direction_of(pair, ".lens thead th") == target


def test_right_arrow_goes_right(pair: LoadedPage) -> None:
    def left() -> float:
        return pair.page.evaluate("document.activeElement.getBoundingClientRect().left")  # type: ignore[no-any-return]

    def walk(selector: str) -> None:
        pair.find(selector).nth(1).focus()
        for key, back in (("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight")):
            before = left()
            pair.press(key)
            assert (left() > before) == (key == "ArrowRight"), (selector, key)
            pair.press(back)
            assert left() == before

    for selector in ("#translation .above .word", "#translation .below .word", ".piece", ".node.best"):
        walk(selector)
    show(pair, "heads")
    walk("#one-head tbody tr:nth-child(2) td")


TEXTS = (
    "Der Hund",
    "كلب",
    "שלום",
    "3 كلاب",
    "«كلב»",
    "١٢ Hunde",
    "▁كلب",
    "ܫܠܡܐ",
    "ߒߞߏ",
    "𞤀𞤁",
    "123 .",
    "",
    "老师",
    "नमस्ते",
)


def test_direction_follows_the_first_letter(opened: LoadedPage) -> None:
    assert opened.module("dom", "a.map((text) => m.direction(text))", *TEXTS) == [*map(direction, TEXTS)]
    assert opened.module("dom", "[m.direction('(', 'rtl'), m.direction('a', 'rtl')]") == ["rtl", "ltr"]


SAID = "▁كلب (j = 3) gives 30 % of what head 1 of layer 2 adds to ▁dog; ▁بيت gives 7 %."


def test_own_sentences_keep_their_order_around_foreign_words(opened: LoadedPage) -> None:
    assert opened.drawing("dom", "m.mixed(a[0])", SAID).texts("bdi bdi") == ["▁كلب", "▁بيت"]
    assert opened.drawing("dom", "m.mixed(a[0])", SAID).texts("bdi[dir=ltr]") == [SAID]


@pytest.mark.parametrize(("around", "inner"), [("", "number"), ("", "below-word"), ("matrix", "")])
def test_numbers_keep_their_place_in_right_to_left_lines(opened: LoadedPage, around: str, inner: str) -> None:
    program = """([around, inner]) => {
      const line = Object.assign(document.createElement("div"), { dir: "rtl", className: around });
      const number = Object.assign(document.createElement(around ? "td" : "span"), { className: inner });
      document.body.append(line);
      line.append(number);
      const { direction, unicodeBidi } = getComputedStyle(number);
      line.remove();
      return [direction, unicodeBidi];
    }"""
    assert opened.page.evaluate(program, [around, inner]) == ["ltr", "isolate"]


def test_punctuation_takes_the_direction_of_its_line(opened: LoadedPage) -> None:
    line: dict[str, Any] = {"words": [{"text": "كلب"}, {"text": "("}, {"text": "3"}], "dir": "rtl", "name": ""}
    drawn = opened.drawing("words", "m.linkedWords({ lines: [a[0], a[0]], links: [], name: '' })", line)
    assert drawn.attribute(".above bdi", "dir") == ["rtl"] * 3
