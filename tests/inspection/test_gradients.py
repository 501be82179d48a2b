"""Gradient × input and integrated gradients."""

import pytest
import torch
from support.pairs import pair_tokens
from support.tiny import VOCABULARY, tiny_model, varied_model
from torch import Tensor, nn

from transformer_mt.inspection import gradients
from transformer_mt.inspection.gradients import gradient_times_input, integrated_gradients, quadrature
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.views.words import PairTokens

pytestmark = pytest.mark.usefixtures("float64")

# No token stands twice, so that a row of a table is one place of a sentence.
PAIR = pair_tokens([5, 7, 11], [8, 4])
STACKS = pytest.mark.parametrize("stack", ["cross", "decoder"])
UNTIED = "model.tied=none"


def columns(stack: str) -> tuple[int, ...]:
    return PAIR.sides(stack)[1].ids


def table_of(model: Seq2Seq, stack: str) -> nn.Embedding:
    side = model.source_embedding if stack == "cross" else model.target_embedding
    assert isinstance(side.table, nn.Embedding)
    return side.table


def log_probabilities(model: Seq2Seq, tokens: PairTokens) -> Tensor:
    source, read = tokens.inputs(torch.device("cpu"))
    with torch.no_grad():
        rows = model(source, read)[0].log_softmax(dim=-1)
    return rows[torch.arange(len(tokens.written.ids)), list(tokens.written.ids)]


@STACKS
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_gradient_times_input_is_the_slope_when_one_embedding_grows(kind: str, stack: str) -> None:
    model = tiny_model(f"model.kind={kind}", UNTIED)
    found = gradient_times_input(model, PAIR, stack=stack)
    table, step = table_of(model, stack), 1e-5
    for column, token in enumerate(columns(stack)):
        slopes = []
        for factor in (1.0 + step, (1.0 - step) / (1.0 + step), 1.0 / (1.0 - step)):
            with torch.no_grad():
                table.weight[token] *= factor
            slopes.append(log_probabilities(model, PAIR))
        torch.testing.assert_close(found[:, column], (slopes[0] - slopes[1]) / (2.0 * step), rtol=1e-6, atol=1e-8)
    assert found.abs().max() > 0.01


@pytest.mark.parametrize(
    "variant",
    [
        "model.attention.position=sinusoidal",
        "model.attention.position=none",
        "model.attention.position=relative(2)",
        "model.attention.kind=linear",
        "model.attention.score=cosine",
        "model.norm=rms",
        "model.residual=post_norm",
        "model.kind=recurrent",
    ],
)
def test_rows_of_integrated_gradients_sum_to_what_all_embeddings_together_change(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "MOST_POINTS", 2048)  # where only a norm sees embeddings near zero
    for stack in ("cross", "decoder"):
        model = varied_model(variant, UNTIED, vocabulary=VOCABULARY)
        found = integrated_gradients(model, PAIR, stack=stack)
        before = log_probabilities(model, PAIR)
        with torch.no_grad():
            table_of(model, stack).weight.zero_()
        change = before - log_probabilities(model, PAIR)
        assert (found.sum(dim=-1) - change).abs().max() <= gradients.TOLERANCE
        assert change.abs().max() > 2.0 * gradients.TOLERANCE


@STACKS
def test_the_shared_table_is_taken_away_on_the_side_that_is_asked_about_alone(stack: str) -> None:
    tied = tiny_model("model.tied=all")
    apart = tiny_model(UNTIED)
    apart.load_state_dict(tied.state_dict())
    for method in (gradient_times_input, integrated_gradients):
        torch.testing.assert_close(method(tied, PAIR, stack=stack), method(apart, PAIR, stack=stack))


def test_points_are_doubled_until_rows_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    model, used = tiny_model("model.attention.position=none", UNTIED), []

    def counted(count: int) -> object:
        used.append(count)
        return quadrature(count)

    monkeypatch.setattr(gradients, "quadrature", counted)
    monkeypatch.setattr(gradients, "TOLERANCE", 0.0)
    monkeypatch.setattr(gradients, "FEWEST_POINTS", 3)
    monkeypatch.setattr(gradients, "MOST_POINTS", 12)
    integrated_gradients(model, PAIR, stack="cross")
    assert used == [3, 6, 12]
    used.clear()
    monkeypatch.setattr(gradients, "TOLERANCE", 100.0)
    integrated_gradients(model, PAIR, stack="cross")
    assert used == [3]


@pytest.mark.parametrize("power", [0, 1, 3])
def test_the_points_integrate_powers(power: int) -> None:
    points, weights = quadrature(101)
    assert (points > 0.0).all()
    assert (weights * points**power).sum() == pytest.approx(1.0 / (power + 1), abs=1e-3)


def test_long_sentences_are_computed_in_parts_that_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model()
    monkeypatch.setattr(gradients, "FEWEST_POINTS", 5)
    monkeypatch.setattr(gradients, "MOST_POINTS", 5)
    whole = integrated_gradients(model, PAIR, stack="cross")
    monkeypatch.setattr(gradients, "BATCH_TOKENS", 9)  # two points at a time
    torch.testing.assert_close(integrated_gradients(model, PAIR, stack="cross"), whole)


def test_no_piece_depends_on_what_is_read_after_it() -> None:
    found = gradient_times_input(tiny_model(), PAIR, stack="decoder")
    assert not found.triu(diagonal=1).any()
    assert (found.tril() != 0.0).sum() == 6


def test_the_model_is_left_as_it_was() -> None:
    model = tiny_model("model.dropout=0.3").train()
    first, second = (gradient_times_input(model, PAIR, stack="cross") for _ in range(2))
    torch.testing.assert_close(first, second)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())
