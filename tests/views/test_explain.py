"""One row of an attention head, step by step: the numbers are those of the model, and each follows from the others."""

import math
import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from rich.cells import cell_len
from support.right_to_left import moved
from support.shown import values_of
from support.tiny import varied_model
from support.variants import VARIANTS, Variant
from torch import Tensor

from transformer_mt.attention.positions import rotated
from transformer_mt.errors import InputError
from transformer_mt.head_names import HeadName
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.models.recurrent import RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.explain import Explanation, Stage, Step, explain, in_words, lines_of, shares
from transformer_mt.views.head_importance import head_losses
from transformer_mt.views.serialise import to_arrays, to_json

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
# The layer that is looked at, so that one of them is the first.
LAYERS = {"encoder": 1, "decoder": 2, "cross": 2}
# A feed-forward network and a missing attention have no part in it.
ALL = [variant for variant in VARIANTS if not re.search(r"score=none|feed_forward", " ".join(variant))]


def explained(tokenizer: Tokenizer, *overrides: str, stack: str | None = "decoder", **options: Any) -> Explanation:
    model = varied_model(*overrides, vocabulary=tokenizer.size)
    options = {"word": "3", "layer": 1, "head": 1} | options
    return explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), stack=stack, **options)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("variant", ALL, ids=" ".join)
def test_the_numbers_are_those_of_the_model_and_follow_from_each_other(variant: Variant, tokenizer: Tokenizer) -> None:
    model = varied_model(*variant, vocabulary=tokenizer.size)
    inputs = prepare_pair(model, tokenizer, SOURCE, TARGET).inputs(torch.device("cpu"))
    with evaluating(model), values_of("α_j") as weights:
        model(*inputs)
    for stack, modules in model.attention_stacks().items():
        layer, head = min(LAYERS[stack], len(modules)), modules[0].heads
        found = explain(
            model,
            prepare_pair(model, tokenizer, SOURCE, TARGET),
            word="3",
            stack=stack,
            layer=layer,
            head=head,
        )
        rows = torch.cat([value for module, value in weights if module is modules[layer - 1]], dim=2)
        close(found["weights"], rows[0, -1, found.row])
        step = {step.symbol: step.values for step in found.steps()}
        values = step["v_j"] + step["a^V_j"] if "a^V_j" in step else step["v_j"]
        close(step["head"], step["α_j"] @ values)
        close(step["o_j"].sum(dim=0), step["o"])
        close(step["o_r"][head - 1], step["o"])
        close(step["share_j"], shares(step["o_j"], step["o"]))
        bias = getattr(modules[layer - 1], "output_projection", None)
        close(step["o_r"].sum(dim=0) + (0.0 if bias is None else bias.bias.detach()), step["y"])
        close(step["share_r"], shares(step["o_r"], step["y"]))
        if {"x", "x′"} <= set(step) and "z" not in step and "i_c" not in step:
            close(step["x"] + step["y"], step["x′"])
        if "z" in step:
            close(step["x"] + step["y"], step["z"])
        if "e′_j" in step:
            close(step["e_j"] + step["b_j"], step["e′_j"])
        if "√D e" in step:
            close(step["√D e"] + step.get("pe", torch.tensor(0.0)), step["x"])
        for names in ([one.name for one in found.steps()], [one.symbol for one in found.steps()]):
            assert len(names) == len(set(names))
        assert all(one.formula or one.symbol in UNEXPLAINED for one in found.steps())


# The symbols of numbers that are learned, looked up or given.
UNEXPLAINED = {"√D e", "x", "h", "μ_r", "v", "τ", "j ∈ N"}


def test_the_steps_of_a_pre_norm_layer_stand_in_the_order_of_the_computation(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.position=rotary", stack="encoder")
    symbols = "√D e x h q k_j q′ k′_j e_j j ∈ N α_j v_j head o o_j share_j o_r share_r y x′"
    assert " ".join(step.symbol for step in found.steps()) == symbols
    assert [stage.title.split(":")[0] for stage in found.stages] == (
        ["Embedding", "PreNorm", "LayerNorm", "Independent", "Rotary", "ScaledDot", "MultiHeadAttention", "PreNorm"]
    )
    usual = explained(tokenizer, stack="encoder")
    assert [step.symbol for step in usual.steps()][:4] == ["√D e", "pe", "x", "h"]
    formulas = {step.symbol: step.formula for step in found.steps()}
    assert formulas["h"] == "norm(x) = γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵"


def test_projections_are_those_of_the_head(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.position=relative(2)", vocabulary=tokenizer.size)
    found = explain(
        model,
        prepare_pair(model, tokenizer, SOURCE, TARGET),
        word="3",
        stack="encoder",
        layer=2,
        head=2,
    )
    module: Any = model.attention_stacks()["encoder"][1]
    part = slice(2, 4)  # of width 6, the second of three heads
    with torch.no_grad():
        close(found["query"], module.projections.query_projection.weight[part] @ found["read"])
        share = module.output_projection.weight[:, part]
        close(found["head_output"], share @ found["head"])
        values = found["values"] + found["position_values"]
        close(found["column_outputs"], found["weights"][:, None] * values @ share.T)
    assert found["distances"].tolist() == [max(-2, min(2, column - found.row)) for column in range(len(found.columns))]


def test_rotated_keys_are_turned_by_their_own_positions(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.position=rotary", head=3)
    close(found["rotated_query"], rotated(found["query"][None, None, None], start=found.row)[0, 0, 0])
    close(found["rotated_keys"], rotated(found["keys"][None, None], start=0)[0, 0])
    close(found["scores"], found["rotated_keys"] @ found["rotated_query"] / math.sqrt(2))


def test_a_context_goes_into_the_gates_of_the_decoder(tokenizer: Tokenizer) -> None:
    model = varied_model("model.kind=recurrent", "model.score=additive", vocabulary=tokenizer.size)
    found = explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), word="man")
    assert isinstance(model, RecurrentSeq2Seq)
    with torch.no_grad():
        close(found["gates"], model.decoder.context_gates(found["attention_output"]))
        first = explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), word="1")
        states, contexts = follow(model, tokenizer)
        close(found["state"], states[0, found.row - 1])
        close(found["output"], states[0, found.row])
        close(found["attention_output"], contexts[0, found.row])
    assert (first.row, first.stages[0].title.split(":")[0]) == (0, "Decoder")
    assert torch.equal(found["head_output"], found["head"])
    assert found.choice is None  # there is one head only
    assert (found.head, found.heads) == (HeadName("cross", 1, 1), (1,))


def follow(model: RecurrentSeq2Seq, tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """The decoder's states and contexts after every token."""
    source, read = prepare_pair(model, tokenizer, SOURCE, TARGET).inputs(torch.device("cpu"))
    states, contexts, _ = model.decoder(model.target_embedding(read), model.start(source))
    return states, contexts


def test_contributions_are_shares_of_what_the_head_adds() -> None:
    parts = torch.tensor([[3.0, 1.0], [2.0, -1.0], [-1.0, 5.0]])
    total = parts.sum(dim=0)
    found = shares(parts, total)
    assert found.tolist() == pytest.approx([(3 * 4 + 5) / 41, (2 * 4 - 5) / 41, (-4 + 25) / 41])
    assert shares(parts[:1] * 0.0, total * 0.0).tolist() == [0.0]


def test_a_row_that_may_attend_to_nothing_gets_nothing(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.graph=edges(0, 1)", stack="encoder")
    for name in ("weights", "head_output", "mask"):
        assert not found[name].any()
    assert not found["column_shares"].any()


# Which head


@pytest.mark.parametrize("stack", [None, "decoder", "encoder"])
def test_without_a_head_it_is_the_one_without_which_the_word_is_least_probable(
    stack: str | None, tokenizer: Tokenizer
) -> None:
    model = varied_model(vocabulary=tokenizer.size)
    found = explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), word="3", stack=stack)
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)

    def log_probability() -> float:
        with evaluating(model):
            logs = model(*tokens.inputs(torch.device("cpu"))).log_softmax(dim=-1)[0]
        each = logs.gather(1, torch.tensor(tokens.written.ids)[:, None])[:, 0]
        return (each.sum() if stack == "encoder" else each[found.row]).item()

    assert found.choice is not None
    assert found.choice.log_probability == pytest.approx(log_probability(), abs=5e-5)
    expected = {}
    for name in (HeadName(*one) for one in product([stack] if stack else ["cross", "decoder"], (1, 2), (1, 2, 3))):
        with without_heads(model, [name]):
            expected[name] = log_probability()
    assert found.choice.without == pytest.approx(expected, abs=5e-5)
    assert found.head == min(expected, key=lambda name: expected[name])
    assert found.choice.of == ("the translation" if stack == "encoder" else found.piece)


@pytest.mark.parametrize("variant", [(), ("model.attention.head_mask=['cross.2.1']",), ("model.kind=recurrent",)])
def test_the_losses_of_heads_are_what_the_translation_loses_without_each(
    variant: Variant, tokenizer: Tokenizer
) -> None:
    model = varied_model(*variant, vocabulary=tokenizer.size)
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)
    found = head_losses(model, prepare_pair(model, tokenizer, SOURCE, TARGET))

    def log_probability(*off: HeadName) -> float:
        with evaluating(model), without_heads(model, off):
            table = model(*tokens.inputs(torch.device("cpu")))[0].log_softmax(dim=-1)
        return sum(table[place, index].item() for place, index in enumerate(tokens.written.ids))

    assert list(found.without) == head_names(model)
    assert found.log_probability == pytest.approx(log_probability(), abs=5e-5)
    assert found.without == pytest.approx({name: log_probability(name) for name in head_names(model)}, abs=5e-5)
    assert to_json(found)["without"].keys() == set(map(str, head_names(model)))


def test_a_masked_head_is_not_among_those_in_question(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.head_mask=['cross.2.1']", vocabulary=tokenizer.size)
    found = explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), stack="cross", layer=2)
    assert found.choice is not None
    assert list(found.choice.without) == [HeadName("cross", 2, 2), HeadName("cross", 2, 3)]
    assert not found["head_outputs"][0].any()
    with pytest.raises(InputError, match="there is no 1; choose one of 2, 3"):
        explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET), stack="cross", layer=2, head=1)


@pytest.mark.parametrize("word", [" o\u00adld", "\ufeffold", "OLD"])
def test_a_word_is_found_however_it_is_typed(tokenizer: Tokenizer, word: str) -> None:
    assert explained(tokenizer, word=word, head=None).word == "old"


# As data and as text


def test_json_and_arrays_hold_the_same_numbers(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, word="old", head=None)
    data, arrays = to_json(found), to_arrays(found)
    for step in (step for stage in data["stages"] for step in stage["steps"]):
        numbers = np.array(step["values"], dtype=arrays[step["name"]].dtype)  # float32 comes back
        assert np.array_equal(numbers, arrays[step["name"]])
        if step["over"] != "row":
            assert len(step["values"]) == len(data["columns" if step["over"] == "keys" else "heads"])
    assert (data["stack"], data["layer"], data["head"]) == found.head
    assert [data["word"], data["row"], data["columns"]] == ["old", found.row, list(found.columns)]
    assert data["choice"]["without"][str(found.head)] == min(data["choice"]["without"].values())
    assert data["contributions"] == pytest.approx(arrays["contributions"].tolist())
    assert data["in_words"] == in_words(found)


@pytest.mark.parametrize(
    ("model", "sides"), [("model.kind=transformer", {"target", "source"}), ("model.kind=recurrent", {"target"})]
)
def test_the_words_that_could_be_explained_are_named_with_their_pieces(
    tokenizer: Tokenizer, model: str, sides: set[str]
) -> None:
    rows = explained(tokenizer, model, stack="cross", word="man").rows
    assert rows.keys() == sides
    assert [word for word, _ in rows["target"]] == ["The", "old", "man", "is", "reading", ".", "</s>"]
    for side, stack in (("target", "cross"), ("source", "encoder")):
        for number, (word, pieces) in enumerate(rows.get(side, ()), start=1):
            for place, piece in enumerate(pieces, start=1):
                again = explained(tokenizer, model, stack=stack, word=str(number), piece=place)
                assert (again.word, again.piece) == (word, piece)


def printed(explanation: Explanation, *, width: int) -> list[str]:
    return [*map(str, lines_of(explanation, width=width))]


def test_every_step_has_its_words_its_formula_and_its_numbers(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.position=alibi", "model.residual=post_norm")
    lines = printed(found, width=500)
    text = "\n".join(lines)
    for number, stage in enumerate(found.stages, start=1):
        assert f"\n\n{number}. {stage.title}\n" in text
    for step in found.steps():
        assert f"   {step.words[:1].upper()}{step.words[1:]}: {step.symbol}" in text
        assert f"{step.symbol} = {step.formula}" in text or not step.formula
        if step.over == "row" and step.is_vector:
            assert f"‖{step.symbol}‖ = {step.values.norm().item():.4g}   [" in text
    for symbol, name in (("α_j", "weights"), ("share_j", "column_shares")):
        start = next(
            place for place, line in enumerate(lines) if line.split()[:2] == ["j", "column"] and symbol in line
        )
        column = lines[start].split().index(symbol) - len(lines[start].split())
        for line, number in zip(lines[start + 1 :], found[name].tolist(), strict=False):
            assert float(line.split()[column]) == pytest.approx(number, abs=1e-3)


@pytest.mark.parametrize("width", [40, 61, 80])
@pytest.mark.parametrize("variant", ["model.attention.score=cosine", "model.attention.position=relative(2)"])
def test_lines_are_no_wider_than_the_terminal(width: int, variant: str, tokenizer: Tokenizer) -> None:
    lines = printed(explained(tokenizer, variant), width=width)
    assert max(map(cell_len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def with_state(found: Explanation, values: Tensor) -> Explanation:
    return replace(found, stages=(Stage("One", (Step("x", "", values),)), *found.stages[1:]))


def test_vectors_are_abbreviated_and_small_numbers_keep_four_digits(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer)
    lines = printed(with_state(found, torch.arange(29.0)), width=80)
    assert "      ‖x‖ = 87.83   [ 0.000  1.000  2.000  3.000 … 28.000]" in lines
    lines = printed(with_state(found, torch.tensor([0.00123456, -0.0000004])), width=80)
    assert "      ‖x‖ = 0.001235   [0.001235 0.000000]" in lines


def with_shares(found: Explanation, columns: tuple[str, ...], numbers: Tensor) -> Explanation:
    step = Step("share_j", "", numbers, "keys")
    rest = (replace(stage, steps=tuple(one for one in stage.steps if one.over != "keys")) for stage in found.stages)
    return replace(found, columns=columns, stages=(Stage("One", (step,)), *rest))


def test_the_largest_contributions_are_told_in_words(tokenizer: Tokenizer) -> None:
    numbers = torch.tensor([0.7, 0.21, 0.15, 0.04, -0.02, -0.08])
    found = with_shares(explained(tokenizer, stack="cross"), ("a", "b", "c", "a", "d", "e"), numbers)
    first, second = in_words(found)
    assert first == (
        f"a (j = 0) gives 70 % of what head 1 of layer 1 adds to {found.piece}; b gives 21 %; c gives 15 %; "
        "e takes away 8 %."
    )
    share = 100 * found["head_shares"][0].item()
    assert second == f"Head 1 gives {share:.0f} % of what the heads of layer 1 add together."
    nothing = with_shares(found, found.columns, torch.zeros(6))
    assert in_words(nothing) == [f"No column gives anything to {found.piece}: head 1 of layer 1 adds nothing there."]


def test_it_says_which_row_it_is_and_why_this_head(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, stack=None, word="man", layer=None, head=None)
    assert found.choice is not None
    text = " ".join(printed(found, width=500))
    stack, layer, head = found.head
    name = {"cross": "Cross-attention", "decoder": "Decoder self-attention"}[stack]
    assert text.startswith(
        f"{name}, layer {layer}, head {head}, row i = {found.row}, which reads {found.read} and writes {found.piece} "
        f"ln p of {found.piece} is {found.choice.log_probability:.4g} with all heads and "
        f"{found.choice.without[found.head]:.4g} without this one: of 12 heads it matters most. The row i and "
    )
    read = explained(tokenizer, stack="encoder")
    title, notes, *_ = printed(read, width=500)
    assert title == f"Encoder self-attention, layer 1, head 1, row i = {read.row}, which reads {read.piece}"
    assert notes.startswith("The row i")


def test_pieces_from_strangers_are_shown_and_command_nothing(tokenizer: Tokenizer) -> None:
    columns = ("a\x1b[31m", "b\u202ec", "\x9b", "[bold]", "d\ne")
    hostile = with_shares(explained(tokenizer, stack="cross"), columns, torch.ones(5))
    text = "\n".join(printed(replace(hostile, piece="x\x1b]0;", read="\u202ey"), width=80))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    for shown in ("a␛[31m", "b⟨U+202E⟩c", "⟨U+009B⟩", "[bold]", "d␊e", "x␛]0;", "reads ⟨U+202E⟩y"):
        assert shown in text


def test_nothing_is_left_on_the_model(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    model.train()
    assert explain(model, prepare_pair(model, tokenizer, SOURCE, TARGET)).source == SOURCE
    assert model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(getattr(module, "head_mask", None) is not None for module in model.modules())


@pytest.mark.parametrize("width", [500, 80, 40])
def test_pieces_that_are_read_from_right_to_left_move_no_number(tokenizer: Tokenizer, width: int) -> None:
    columns = ("▁كلب", "▁בית", "a", "▁كلب", "كتب")
    found = with_shares(explained(tokenizer, stack="cross"), columns, torch.tensor([0.5, 0.25, 0.125, 0.0625, -0.125]))
    lines = printed(replace(found, piece="▁كلب", read="▁בית"), width=width)
    assert not moved(lines, "0123456789")
    assert in_words(replace(found, piece="▁كلب"))[0].isprintable(), "--json has no isolates"
