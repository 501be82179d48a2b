"""Matrices in every form: beside each other, with their legend, and how far they agree with erasure."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch
from support.tiny import tiny_model
from support.variants import VARIANTS, Variant

from transformer_mt.drawing.attention_text import Form, Graphs, Numbers, Shades, agreement_lines, attention_lines
from transformer_mt.drawing.glyphs import glyphs_for
from transformer_mt.drawing.graph_dot import render_dot
from transformer_mt.drawing.matrix_svg import render_svg
from transformer_mt.drawing.shading import Blocks
from transformer_mt.inspection.graph import adjacency
from transformer_mt.inspection.matrices import Matrix, layer_matrices
from transformer_mt.inspection.views import view_attention
from transformer_mt.tokenizer.tokenizer import Tokenizer

ONE = Matrix("cross.1.1", "cross-attention", "head 1", [[0.25, 0.75]], ("Can",), ("du", "mir"))
OTHER = replace(ONE, key="cross.1.2", name="head 2", numbers=[[1.0, None]])
ELSEWHERE = replace(ONE, place="cross-attention below", columns=("du", "ihm"))
FORMS = (Numbers(), Shades(), Graphs(0.1))


def shown(*lines: list[Matrix], form: Form, width: int = 80) -> list[str]:
    return [line.plain for line in attention_lines(lines, form, meaning="A number is …", width=width, shading=Blocks())]


def test_numbers_stand_beside_each_other_each_under_its_title() -> None:
    assert shown([ONE, OTHER], form=Numbers()) == [
        "",
        "cross-attention, head 1   cross-attention, head 2",
        "     du   mir                  du   mir",
        "Can ▒.25 █.75             Can █1.0  ·",
        "",
        "shades from ░.05 ▒.25 ▓.50 █.75 and · where nothing may be attended to",
        "A number is …",
    ]


def test_shades_of_one_place_share_their_labels_and_others_stand_beside_them() -> None:
    assert shown([ONE, OTHER, ELSEWHERE], form=Shades()) == [
        "",
        "cross-attention       cross-attention below",
        "    du                    du",
        "    │ mir                 │ ihm",
        "Can ▒▒██   │ ██·      Can ▒▒██",
        "    head 1 │ head 2       head 1",
        "",
        "shades from ░░ .05 ▒▒ .25 ▓▓ .50 ██ .75 and · where nothing may be attended to",
        "A number is …",
    ]


def test_the_legend_of_shades_has_those_below_zero_where_there_are_any() -> None:
    assert "below zero" not in " ".join(shown([ONE], form=Shades()))
    assert "below zero" in " ".join(shown([ONE, replace(ONE, numbers=[[-1.0, 0.5]])], form=Shades()))


def test_graphs_have_no_legend_of_shades() -> None:
    lines = shown([ONE], [OTHER], form=Graphs(0.5))
    assert "cross-attention, head 1: 1 edges, each at least 50 % of its row" in lines
    assert lines[-2:] == ["", "A number is …"]
    assert not any("shades" in line for line in lines)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_lines_of_matrices_stand_below_each_other_after_an_empty_line(form: Form) -> None:
    legend = ["", *(line.plain for line in form.legend([ONE], width=80, shading=Blocks())), "A number is …"]
    alone, both = (shown(*lines, form=form) for lines in ([[ONE]], [[ONE], [ONE]]))
    assert both == [*alone[: -len(legend)], *alone]
    assert alone[-len(legend) :] == legend


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_the_meaning_is_folded_and_fits_the_encoding(form: Form) -> None:
    shading = Blocks(glyphs_for("ascii"))
    lines = attention_lines([[ONE]], form, meaning="A number is one … of many", width=20, shading=shading)
    assert [line.plain for line in lines][-2:] == ["A number is one", "\\u2026 of many"]


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_every_variant_is_shown_in_every_form(variant: Variant, tokenizer: Tokenizer) -> None:
    model = tiny_model(*variant, vocabulary=tokenizer.size)
    view = view_attention(model, tokenizer, "Der alte Mann.", "The man.", words=False)
    shading = Blocks(glyphs_for("ascii"))
    for stack in view.maps.stacks:
        (matrix,) = layer_matrices(view.maps, stack=stack, layer="1")
        ElementTree.fromstring(render_svg([[matrix]], meaning=""))
        assert render_dot([(matrix, adjacency(matrix, threshold=0.1))]).count("title_") == 2
        for form in FORMS:
            lines = attention_lines([[matrix]], form, meaning="", width=80, shading=shading)
            assert max(line.cell_len for line in lines) <= 80


def test_agreement_is_said_of_each_matrix_that_has_any(tokenizer: Tokenizer) -> None:
    torch.manual_seed(3)
    model = tiny_model(vocabulary=tokenizer.size)
    view = view_attention(model, tokenizer, "Der alte Mann liest.", "The old man reads.", compared=True)
    matrices = layer_matrices(view.maps, head="all", layer="1")
    found = [view.agreement(matrix) for matrix in matrices]
    lines = [*agreement_lines(view, matrices)]
    for matrix, scores, line in zip(matrices, found, lines, strict=True):
        assert scores is not None
        said = f"tau {scores.correlation:.2f}, 0 is chance; the same word first in {100 * scores.first:.0f} % of rows"
        assert line == f"{matrix.key}: agreement with erasure: {said}"
    assert [*agreement_lines(view, matrices[:1])] == [lines[0].removeprefix("cross.1.1: ")]
    assert not [*agreement_lines(view, layer_matrices(view.maps, stack="encoder"))]
