"""One row of an attention head, step by step: numbers match the model and their formulas."""

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from rich.cells import cell_len
from support.right_to_left import moved
from support.shown import values_of
from support.tiny import varied_model
from support.variants import REPRESENTATIVES, VARIANTS, Variant, quick_for_some
from torch import Tensor

from transformer_mt.extensions.explain.explain import (
    Explanation,
    Stage,
    Step,
    explain_row,
    in_words,
    lines_of,
    projected_shares,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.tokens import prepare_pair
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.models.recurrent import RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views import head_importance
from transformer_mt.views.serialise import to_json

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
# The layer to explain; in the encoder, the first one.
LAYERS = {"encoder": 1, "decoder": 2, "cross": 2}
# Variants of the feed-forward network, and models without attention, do not matter here.
ALL = [variant for variant in VARIANTS if not re.search(r"score=none|feed_forward", " ".join(variant))]


def row_of(model: Seq2Seq, tokenizer: Tokenizer, **options: Any) -> Explanation:
    return explain_row(model, prepare_pair(model, tokenizer, SOURCE, TARGET), **options)


def explained(tokenizer: Tokenizer, *overrides: str, stack: str | None = "decoder", **options: Any) -> Explanation:
    options = {"word": "3", "layer": 1, "head": 1} | options
    return row_of(varied_model(*overrides, vocabulary=tokenizer.size), tokenizer, stack=stack, **options)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@quick_for_some(ALL, REPRESENTATIVES)
def test_numbers_match_the_model_and_their_formulas(variant: Variant, tokenizer: Tokenizer) -> None:
    model = varied_model(*variant, vocabulary=tokenizer.size)
    inputs = prepare_pair(model, tokenizer, SOURCE, TARGET).inputs(model)
    with evaluating(model), values_of("α_j") as weights:
        model(*inputs)
    for stack, modules in model.attention_stacks().items():
        layer, head = min(LAYERS[stack], len(modules)), modules[0].heads
        found = row_of(model, tokenizer, word="3", stack=stack, layer=layer, head=head)
        rows = torch.cat([value for module, value in weights if module is modules[layer - 1]], dim=2)
        close(found["weights"], rows[0, -1, found.row])
        step, zero = {step.symbol: step.values for step in found.steps()}, torch.tensor(0.0)
        bias = getattr(getattr(modules[layer - 1], "output_projection", None), "bias", zero).detach()
        close(step["α_j"], rows[0, -1, found.row])
        close(step["head"], step["α_j"] @ (step["v_j"] + step.get("a^V_j", zero)))
        close(step["o"], step["o_j"].sum(dim=0))
        close(step["o"], step["o_r"][head - 1])
        close(step["y"], step["o_r"].sum(dim=0) + bias)
        for share, part, whole in (("share_j", "o_j", "o"), ("share_r", "o_r", "y")):
            close(step[share], projected_shares(step[part], step[whole]))
        total = "z" if "z" in step or "i_c" in step else "x′"
        for one, other, both in (("x", "y", total), ("e_j", "b_j", "e′_j"), ("√D e", "pe", "x")):
            if {one, both} <= set(step):
                close(step[one] + step.get(other, zero), step[both])
        assert len({one.name for one in found.steps()}) == len(step) == len(list(found.steps()))
        assert all(one.formula or one.symbol in UNEXPLAINED for one in found.steps())


# Symbols of learned, looked-up or given values.
UNEXPLAINED = {"√D e", "x", "h", "μ_r", "v", "τ", "j ∈ N"}


def test_steps_of_a_pre_norm_layer_are_in_order_of_computation(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.position=rotary", stack="encoder")
    symbols = "√D e x h q k_j q′ k′_j e_j j ∈ N α_j v_j head o o_j share_j o_r share_r y x′"
    assert " ".join(step.symbol for step in found.steps()) == symbols
    formulas = {step.symbol: step.formula for step in found.steps()}
    assert formulas["h"] == "norm(x) = γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵"


def test_projections_belong_to_the_head(tokenizer: Tokenizer) -> None:
    model = varied_model("model.attention.position=relative(2)", vocabulary=tokenizer.size)
    found = row_of(model, tokenizer, word="3", stack="encoder", layer=2, head=2)
    module: Any = model.attention_stacks()["encoder"][1]
    part = slice(2, 4)  # the second of three heads, width 6
    with torch.no_grad():
        close(found["query"], module.projections.query_projection.weight[part] @ found["read"])
        share = module.output_projection.weight[:, part]
        close(found["head_output"], share @ found["head"])
        values = found["values"] + found["position_values"]
        close(found["column_outputs"], found["weights"][:, None] * values @ share.T)
    assert found["distances"].tolist() == [max(-2, min(2, column - found.row)) for column in range(len(found.columns))]


def test_recurrent_decoder_explains_its_gates(tokenizer: Tokenizer) -> None:
    model = varied_model("model.kind=recurrent", "model.score=additive", vocabulary=tokenizer.size)
    found = row_of(model.train(), tokenizer, word="man")
    assert model.training
    assert isinstance(model, RecurrentSeq2Seq)
    source, read = prepare_pair(model, tokenizer, SOURCE, TARGET).inputs(model)
    with evaluating(model):
        states, *_ = model.decoder(model.target_embedding(read), model.start(source))
    close(found["state"], states[0, found.row - 1])
    close(found["output"], states[0, found.row])
    assert row_of(model, tokenizer, word="1").stages[0].title.startswith("Decoder:")
    assert (found.choice, found.head) == (None, HeadName("cross", 1, 1))  # there is only one head


def test_contributions_are_shares_of_the_head_output() -> None:
    parts = torch.tensor([[3.0, 1.0], [-1.0, 5.0]])
    assert projected_shares(parts, torch.tensor([4.0, 5.0])).tolist() == pytest.approx([17 / 41, 21 / 41])
    assert projected_shares(parts, torch.zeros(2)).tolist() == [0.0, 0.0]


def test_fully_masked_row_gets_nothing(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.graph=edges(0, 1)", stack="encoder")
    for name in ("weights", "head_output", "mask"):
        assert not found[name].any()
    assert not found["column_shares"].any()


# Choosing the head


def log_probability(model: Seq2Seq, tokenizer: Tokenizer, row: int | None, *off: HeadName) -> float:
    """ln p of a row's token, or of the translation, without some heads."""
    tokens = prepare_pair(model, tokenizer, SOURCE, TARGET)
    with evaluating(model), without_heads(model, off):
        logs = model(*tokens.inputs(model)).log_softmax(dim=-1)[0]
    each = logs.gather(1, torch.tensor(tokens.written.ids)[:, None])[:, 0]
    return (each.sum() if row is None else each[row]).item()


@pytest.mark.parametrize("stack", [None, "encoder"])
def test_default_head_is_the_one_that_matters_most(
    stack: str | None, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_importance, "BATCH_TOKENS", 5 * 20)  # several copies at a time, not all
    model = varied_model("model.attention.head_mask=['cross.2.1']", vocabulary=tokenizer.size)
    found: Any = row_of(model, tokenizer, word="3", stack=stack)
    row = None if stack == "encoder" else found.row
    assert found.choice.log_probability == pytest.approx(log_probability(model, tokenizer, row), abs=5e-5)
    names = [name for name in head_names(model) if name.stack == stack or (stack is None and name.stack != "encoder")]
    expected = {name: log_probability(model, tokenizer, row, name) for name in names}
    assert found.choice.without == pytest.approx(expected, abs=5e-5)
    assert found.head == min(expected, key=expected.__getitem__)
    assert found.choice.of == ("the translation" if stack == "encoder" else found.token)
    assert list(to_json(found.choice)["without"]) == [*map(str, names)]
    with pytest.raises(InputError, match="1 is unknown or off; choose one of 2, 3"):
        row_of(model, tokenizer, stack="cross", layer=2, head=1)


# Choosing the row


@pytest.fixture
def places(model: Seq2Seq, tokenizer: Tokenizer) -> Any:
    """Explain a row of a longer pair; return word, row and stack."""
    tokens = prepare_pair(model, tokenizer, "Der Mann, der die Kinder grüßt.", "The old man, the one in it.")

    def place(**options: Any) -> tuple[str, int, str]:
        found = explain_row(model, tokens, **{"layer": 1, "head": 1} | options)
        return found.word, found.row, found.head.stack

    return place


@pytest.mark.parametrize(
    ("word", "stack", "expected", "of"),
    [
        ("Kinder", None, "Kinder", "source"),
        ("OLD", None, "old", "target"),
        ("</s>", None, "</s>", "target"),
        ("3", None, "man", "target"),
        ("3", "encoder", ",", "source"),
        ("the", None, "the", "target"),  # not `The`
        ("THE", None, "The", "target"),  # the first of several
        (" o\u00adld", "decoder", "old", "target"),
        (None, "encoder", "Mann", "source"),  # the first of four letters
        (None, None, "The", "target"),  # no word is long enough
    ],
)
def test_word_is_searched_in_the_target_then_the_source(
    word: str | None, stack: str | None, expected: str, of: str, places: Any
) -> None:
    found = places(word=word, stack=stack)
    assert (found[0], found[2] == "encoder") == (expected, of == "source")


def test_default_word_without_letters_is_the_first_row(tokenizer: Tokenizer, model: Seq2Seq) -> None:
    assert explain_row(model, prepare_pair(model, tokenizer, "…", "…")).row == 0


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"word": "Mann", "stack": "cross"}, "word: 'Mann' is not in the translation; did you mean man?"),
        ({"word": "10", "stack": "encoder"}, "word: '10' is not in the source; "),
        ({"word": "</s>", "token": 0}, "token: '</s>' has no token 0; "),
        ({"word": "</s>", "token": 2}, "token: '</s>' has no token 2; "),
    ],
)
def test_unknown_word_or_token_is_an_input_error(options: dict[str, Any], place: str, places: Any) -> None:
    with pytest.raises(InputError) as raised:
        places(**options)
    assert str(raised.value).startswith(place)


def test_stack_without_heads_is_an_input_error(tokenizer: Tokenizer) -> None:
    off = [f"{stack}.{layer}.{head}" for stack in ("cross", "decoder") for layer in (1, 2) for head in (1, 2, 3)]
    mask = f"model.attention.head_mask={off}"
    for stack, name in (("cross", "cross"), (None, "cross and decoder")):
        with pytest.raises(InputError, match=f"^stack: {name} attention has no heads left in this model; choose an"):
            explained(tokenizer, mask, stack=stack)


# Data and text


@pytest.mark.parametrize(("kind", "sides"), [("transformer", {"target", "source"}), ("recurrent", {"target"})])
def test_rows_list_every_word_with_its_tokens(kind: str, sides: set[str], tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, f"model.kind={kind}", stack="cross", word="man")
    assert found.rows.keys() == sides
    assert [word for word, _ in found.rows["target"]] == ["The", "old", "man", "is", "reading", ".", "</s>"]
    for row, piece in enumerate(found.rows["target"][4][1]):  # `reading`
        again = explained(tokenizer, f"model.kind={kind}", stack="cross", word="reading", token=row + 1)
        assert (again.token, again.row) == (piece, again.row)


def printed(explanation: Explanation, *, width: int) -> list[str]:
    return [*map(str, lines_of(explanation, width=width))]


@pytest.mark.parametrize("width", [40, 61])
@pytest.mark.parametrize("variant", ["model.attention.score=cosine", "model.attention.position=relative(2)"])
def test_lines_fit_the_terminal(width: int, variant: str, tokenizer: Tokenizer) -> None:
    lines = printed(explained(tokenizer, variant), width=width)
    assert max(map(cell_len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_every_step_has_a_description_formula_and_numbers(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, "model.attention.position=alibi", "model.residual=post_norm")
    lines = printed(found, width=500)
    text = "\n".join(lines)
    for number, stage in enumerate(found.stages, start=1):
        assert f"\n\n{number}. {stage.title}\n" in text
    for step in found.steps():
        assert f"   {step.words[:1].upper()}{step.words[1:]}: {step.symbol}" in text
        assert f"{step.symbol} = {step.formula}" in text or not step.formula
    for j, piece in enumerate(found.columns):
        cells = " ".join(line for line in lines if line.split()[:2] == [str(j), piece]).split()
        assert {f"{found[name][j].item():.4f}" for name in ("weights", "column_shares")} <= {*cells}


def with_state(found: Explanation, values: Tensor) -> Explanation:
    return replace(found, stages=(Stage("One", (Step.of("x", "", values),)), *found.stages[1:]))


def test_vectors_are_abbreviated_and_small_numbers_keep_four_digits(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer)
    lines = printed(with_state(found, torch.arange(29.0)), width=80)
    assert "      ‖x‖ = 87.83   [ 0.000  1.000  2.000  3.000 … 28.000]" in lines
    lines = printed(with_state(found, torch.tensor([0.00123456, -0.0000004])), width=80)
    assert "      ‖x‖ = 0.001235   [0.001235 0.000000]" in lines


def with_shares(found: Explanation, columns: tuple[str, ...], numbers: Tensor) -> Explanation:
    step = Step.of("share_j", "", numbers, "keys")
    rest = (replace(stage, steps=tuple(one for one in stage.steps if one.over != "keys")) for stage in found.stages)
    return replace(found, columns=columns, stages=(Stage("One", (step,)), *rest))


def test_summary_has_the_largest_contributions(tokenizer: Tokenizer) -> None:
    numbers = torch.tensor([0.7, 0.21, 0.15, 0.04, -0.02, -0.08])
    found = with_shares(explained(tokenizer, stack="cross"), ("a", "b", "c", "a", "d", "e"), numbers)
    share = 100 * found["head_shares"][0].item()
    assert in_words(found) == [
        f"a (j = 0) gives 70 % of what head 1 of layer 1 adds to {found.token}; b gives 21 %; c gives 15 %; "
        "e takes away 8 %.",
        f"Head 1 gives {share:.0f} % of what the heads of layer 1 add together.",
    ]
    nothing = with_shares(found, found.columns, torch.zeros(6))
    assert in_words(nothing) == [f"No column gives anything to {found.token}: head 1 of layer 1 adds nothing there."]


@pytest.mark.parametrize("stack", ["cross", "encoder"])
def test_title_names_the_row_and_the_reason_for_the_head(stack: str, tokenizer: Tokenizer) -> None:
    found: Any = explained(tokenizer, stack=stack, layer=None, head=None)
    title, reason, *_ = printed(found, width=500)
    _, layer, head = found.head
    name, token = {"cross": "Cross-attention", "encoder": "Encoder self-attention"}[stack], found.token
    reads = f"{found.read} and writes {token}" if stack == "cross" else token
    assert title == f"{name}, layer {layer}, head {head}, row i = {found.row}, which reads {reads}"
    of = token if stack == "cross" else "the translation"
    assert reason.startswith(
        f"ln p of {of} is {found.choice.log_probability:.4g} with all heads and "
        f"{found.choice.without[found.head]:.4g} without this one: of 6 heads it matters most. The row i and "
    )


def test_hostile_tokens_are_escaped(tokenizer: Tokenizer) -> None:
    columns = ("a\x1b[31m", "b\u202ec", "\x9b", "[bold]", "d\ne")
    hostile = with_shares(explained(tokenizer, stack="cross"), columns, torch.ones(5))
    text = "\n".join(printed(replace(hostile, token="x\x1b]0;", read="\u202ey"), width=80))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    for shown in ("a␛[31m", "b⟨U+202E⟩c", "⟨U+009B⟩", "[bold]", "d␊e", "x␛]0;", "reads ⟨U+202E⟩y"):
        assert shown in text


def test_right_to_left_tokens_do_not_move_numbers(tokenizer: Tokenizer) -> None:
    columns = ("▁كلب", "▁בית", "a", "▁كلب", "كتب")
    found = with_shares(explained(tokenizer, stack="cross"), columns, torch.tensor([0.5, 0.25, 0.125, 0.0625, -0.125]))
    lines = printed(replace(found, token="▁كلب", read="▁בית"), width=80)
    assert not moved(lines, "0123456789")
    assert in_words(replace(found, token="▁كلب"))[0].isprintable(), "--json has no isolates"
