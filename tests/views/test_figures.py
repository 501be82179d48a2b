"""Figures of the lens, an explained row, a contrast, word links, heads and a beam: texts and shapes in their SVG."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from transformer_mt.head_names import HeadName
from transformer_mt.intervals import Estimate
from transformer_mt.links.align import Alignment
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.beam_tree import BeamNode, BeamTrace
from transformer_mt.views.contrast import Attribution, Contrast
from transformer_mt.views.explain import explain_row
from transformer_mt.views.figures import (
    alignment_figure,
    beam_figure,
    contrast_figure,
    explanation_figure,
    heads_figure,
    lens_figure,
)
from transformer_mt.views.heads import HeadFigures, HeadTable
from transformer_mt.views.lens import Lens
from transformer_mt.views.rendering import format_weight

PATH = Path("figure.svg")
Element = ElementTree.Element


def root_of(content: bytes) -> Element:
    return ElementTree.fromstring(content)


def texts(content: bytes) -> list[str]:
    return ["".join(one.itertext()) for one in root_of(content).iter() if one.tag.endswith("}text")]


def place_of(text: str, content: bytes) -> tuple[int, int]:
    """Where the first element with this text is, in tens of points."""
    one = next(one for one in root_of(content).iter() if one.tag.endswith("}text") and "".join(one.itertext()) == text)
    return round(float(one.get("x", "")) / 10), round(float(one.get("y", "")) / 10)


def styles(content: bytes, part: str) -> list[str]:
    """The styles of paths that contain this part."""
    paths = [one.get("style", "") for one in root_of(content).iter() if one.tag.endswith("}path")]
    return [style for style in paths if part in style]


LENS = Lens(
    "Das Buch",
    "A $book$",
    ("▁A", "▁$book$"),
    ("A", "$book$", "</s>"),
    ((0,), (1,)),
    ((("▁The",), ("▁dog",)), (("▁A",), ("▁$book$",))),
    torch.tensor([[[0.25], [0.5]], [[0.75], [0.996]]]),
    torch.zeros(2, 2),
    (2, None),
)


def test_lens_has_a_guess_per_cell_and_frames_the_deciding_layer() -> None:
    content = lens_figure(LENS, path=PATH)
    assert {"▁The", "▁dog", "▁A", "▁$book$", "layer 1", "layer 2"} <= set(texts(content))
    (frame,) = [one.get("d", "") for one in root_of(content).iter() if "#ff0000" in one.get("style", "")]
    column, row = (float(number) for number in frame.split()[1:3])
    assert row / 10 < place_of("▁The", content)[1]
    assert place_of("▁The", content)[0] < column / 10


def test_explanation_has_weights_and_shares(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    tokens = prepare_pair(model, tokenizer, "Der Mann.", "The man.")
    found = explain_row(model, tokens, word="man", stack="cross", layer=2, head=3)
    shown = texts(explanation_figure(found, path=PATH))
    assert {*found.columns, "weight", "share", "cross.2.3", found.token} <= set(shown)
    assert {format_weight(number).strip() for number in found["weights"].tolist()} <= set(shown)


@pytest.mark.parametrize("gradient", [torch.tensor([1.0, -2.0]), None])
def test_contrast_has_the_numbers_of_both_sides(gradient: torch.Tensor | None) -> None:
    source = Attribution(("Der", "Hund"), gradient, torch.tensor([0.5, -7.0]))
    prefix = Attribution(("The",), None if gradient is None else torch.tensor([3.0]), torch.tensor([4.0]))
    found = Contrast("", "", "dog", "cat", "The", "▁dog", "▁cat", 0.5, 0.25, 0.7, source, prefix)
    shown = texts(contrast_figure(found, path=PATH))
    assert {"Der", "Hund", "The", ".50", "-7", "4.0", "erasure"} <= set(shown)
    assert ({"gradient", "1.0", "-2", "3.0"} <= set(shown)) == (gradient is not None)
    assert "without The" in " ".join(shown)


def test_links_are_framed() -> None:
    shares = np.array([[0.75, 0.25, 0.0], [0.0, 0.125, 0.875]])
    links = ((0, 0), (2, 1))
    found = Alignment("", "", ("Der", "Hund", "x"), ("The", "dog"), links, "", shares, ("cross.1.1",), "links")
    content = alignment_figure(found, path=PATH)
    assert {"Der", "Hund", "The", "dog", "cross.1.1", ".75", ".88"} <= set(texts(content))
    frames = [one.get("d", "") for one in root_of(content).iter() if "#ff0000" in one.get("style", "")]
    assert len(frames) == 2
    (left, top), (right, bottom) = (tuple(map(float, frame.split()[1:3])) for frame in frames)
    assert right - left == pytest.approx(2 * (bottom - top))  # cells are square
    assert bottom > top


def test_heads_have_a_matrix_per_stack_in_stated_units() -> None:
    def figures(name: str, loss: float) -> HeadFigures:
        return HeadFigures(HeadName.parse(name, key=""), *[None] * 8, Estimate(loss, loss, loss), 0.0)

    heads = (figures("encoder.1.1", 0.01), figures("encoder.2.3", 0.04), figures("cross.1.2", -0.02))
    content = heads_figure(HeadTable(3, Estimate(1.0, 1.0, 1.0), None, heads, ()), path=PATH)
    found = texts(content)
    assert {"encoder self-attention", "cross-attention", "layer 2", "head 3", "1.0", "4.0", "-2"} <= set(found)
    assert "decoder self-attention" not in found
    assert any("in units of 0.01" in text for text in found)
    assert sum(text in ("1.0", "4.0", "-2") for text in found) == 3
    assert place_of("1.0", content)[1] == place_of("layer 1", content)[1] < place_of("4.0", content)[1]
    assert place_of("-2", content)[0] > place_of("1.0", content)[0]


NODES = (
    BeamNode(1, None, "▁The", -0.5, -0.5, None),
    BeamNode(1, None, "▁A", -1.0, -1.0, "dropped"),
    BeamNode(2, 0, "▁dog", -0.75, -0.7, None),
    BeamNode(2, 0, "▁cat", -2.0, -1.5, "beaten"),
    BeamNode(3, 2, "</s>", -1.25, -0.6, "ended"),
)


def test_beam_is_a_tree_with_the_best_path_marked() -> None:
    content = beam_figure(BeamTrace(("▁Oh",), NODES), path=PATH)
    found = texts(content)
    assert {"<s> ▁Oh", "▁The", "▁A", "▁dog", "▁cat", "</s>", "-0.50", "-1.25", "score -0.60"} <= set(found)
    assert len([style for style in styles(content, "stroke: #1f77b4") if "stroke-width: 2" in style]) == 3
    assert len(styles(content, "stroke: #808080")) == 1
    wide = beam_figure(BeamTrace((), (*NODES[:1], BeamNode(2, 0, "</s>", -1.0, -0.5, "ended"))), path=PATH)
    assert float(root_of(content).get("height", "").removesuffix("pt")) > float(
        root_of(wide).get("height", "").removesuffix("pt")
    )


def test_deep_beams_are_drawn() -> None:
    nodes = [BeamNode(step, step - 2 if step > 1 else None, "x", -1.0, -1.0, None) for step in range(1, 1_500)]
    nodes[-1] = BeamNode(1_499, 1_497, "</s>", -1.0, -1.0, "ended")
    assert beam_figure(BeamTrace((), tuple(nodes)), path=Path("a.png")).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "draw", [lambda path: lens_figure(LENS, path=path), lambda path: beam_figure(BeamTrace((), NODES), path=path)]
)
@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_format_follows_the_name_and_files_repeat(draw: Callable[[Path], bytes], ending: str, start: bytes) -> None:
    first, second = (draw(Path(f"a{ending}")) for _ in range(2))
    assert first.startswith(start)
    assert first == second
