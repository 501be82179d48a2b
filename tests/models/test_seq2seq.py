"""Properties of every model with every variant of attention. New table entries are tested automatically."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shown import values_of
from support.tiny import VOCABULARY, gradients, sentences, targets, tiny_model
from support.variants import REPRESENTATIVES, VARIANTS, Variant, quick_for_some
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.models.seq2seq import Seq2Seq, State, evaluating
from transformer_mt.tokenizer.symbols import PAD

pytestmark = pytest.mark.usefixtures("float64")

UNSCALED = {"model.norm=none", "model.norm=batch"}
UNTIED = [("model.tied=none",), ("model.tied=target",)]

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
some_variants = quick_for_some(VARIANTS, REPRESENTATIVES)
representatives = pytest.mark.parametrize("variant", REPRESENTATIVES, ids=" ".join)

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def some_loss(logits: Tensor, real: Tensor) -> Tensor:
    """A random combination of the logits at real tokens, independent of padding."""
    direction = torch.randn(int(real.sum()), logits.shape[-1], generator=torch.Generator().manual_seed(3))
    return (logits[real] * direction).sum()


def embeddings_of(model: Seq2Seq, target: Tensor, state: State) -> tuple[Tensor, Tensor]:
    """The embeddings of the target tokens as the decoder looks them up, and its logits."""
    looked_up: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if inputs[0].shape == target.shape and module.weight.shape[0] == VOCABULARY:
            looked_up.append(output)

    hooks = [module.register_forward_hook(keep) for module in model.modules() if isinstance(module, nn.Embedding)]
    logits, _ = model.decode(target, state)
    for hook in hooks:
        hook.remove()
    (embeddings,) = looked_up
    return embeddings, logits


# Reading the target step by step


@every_variant
@torch.no_grad()
def test_decoding_token_by_token_equals_decoding_at_once(variant: Variant) -> None:
    model, target = tiny_model(*variant), targets(7, 7)
    state = model.start(sentences(5, 3))
    whole, _ = model.decode(target, state)
    for t in range(7):
        logits, state = model.decode(target[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t], **TOLERANCE)


@every_variant
@torch.no_grad()
def test_selecting_rows_midway_equals_decoding_them_separately(variant: Variant) -> None:
    model, source, target = tiny_model(*variant), sentences(5, 3, 2), targets(7, 7, 7)
    for rows, cut in (([1], 0), ([2, 0], 5), ([1, 2, 1, 0, 1], 2)):
        chosen, state = torch.tensor(rows), model.start(source)
        if cut:
            _, state = model.decode(target[:, :cut], state)
        logits, _ = model.decode(target[chosen, cut:], state.select(chosen))
        torch.testing.assert_close(logits, model(source[chosen], target[chosen])[:, cut:], **TOLERANCE)


@representatives
@settings(max_examples=3)
@given(seed=st.integers(0, 999), in_order=st.booleans(), most=st.sampled_from([3, 7, 41]))
@torch.no_grad()
def test_changing_hypotheses_equal_decoding_them_separately(
    variant: Variant, seed: int, in_order: bool, most: int
) -> None:
    model, source, draw = tiny_model(*variant), sentences(5, 3, 2, 4), torch.Generator().manual_seed(seed)
    state, sentence, target = model.start(source), torch.arange(4), targets(1, 1, 1, 1)
    for _ in range(11):
        logits, state = model.decode(target[:, -1:], state)
        torch.testing.assert_close(logits[:, 0], model(source[sentence], target)[:, -1], **TOLERANCE)
        count = int(torch.randint(1, most + 1, (), generator=draw))
        rows = torch.randint(len(target), (count,), generator=draw)
        rows = rows.sort().values if in_order else rows
        state, sentence = state.select(rows), sentence[rows]
        target = torch.cat((target[rows], torch.randint(4, VOCABULARY, (count, 1), generator=draw)), dim=1)


# Padding and the other sentences of a batch


@every_variant
def test_padding_changes_neither_outputs_nor_gradients(variant: Variant) -> None:
    model, source, target = tiny_model(*variant), sentences(5, 3), targets(7, 4)
    padded_source, padded_target = F.pad(source, (0, 3), value=PAD), F.pad(target, (0, 4), value=PAD)
    real, padded_real = target != PAD, padded_target != PAD
    logits, padded_logits = model(source, target), model(padded_source, padded_target)
    torch.testing.assert_close(padded_logits[padded_real], logits[real], **TOLERANCE)
    expected = gradients(model, some_loss(logits, real))
    torch.testing.assert_close(gradients(model, some_loss(padded_logits, padded_real)), expected, **TOLERANCE)


@representatives
def test_a_source_of_padding_only_yields_finite_outputs_and_gradients(variant: Variant) -> None:
    model, target = tiny_model(*variant), targets(7, 4)
    logits = model(sentences(5, 0), target)
    assert logits.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(model, some_loss(logits, target != PAD)).values())


# Gradients


@some_variants
def test_no_gradient_flows_from_the_future(variant: Variant) -> None:
    model, target = tiny_model(*variant), targets(7, 7)
    embeddings, logits = embeddings_of(model, target, model.start(sentences(5, 3)))
    direction = torch.randn(VOCABULARY)
    reads_the_past = False
    for t in range(7):
        (gradient,) = torch.autograd.grad((logits[:, t] @ direction).sum(), embeddings, retain_graph=True)
        assert (gradient[:, t + 1 :] == 0.0).all()
        assert (gradient[:, t] != 0.0).any()
        reads_the_past |= bool((gradient[:, :t] != 0.0).any())
    assert reads_the_past


@quick_for_some([*VARIANTS, *UNTIED], [*REPRESENTATIVES, *UNTIED])
def test_gradients_reach_every_parameter(variant: Variant) -> None:
    model, target = tiny_model(*variant), targets(7, 4)
    found = gradients(model, some_loss(model(sentences(5, 3), target), target != PAD))
    assert [name for name, gradient in found.items() if not gradient.any()] == []


# Weights, seeds and precision


@some_variants
@torch.no_grad()
def test_every_layer_shows_its_weights(variant: Variant) -> None:
    model, source, target = tiny_model(*variant), sentences(5, 3), targets(7, 7)
    with values_of("α_j") as found:
        watched = model(source, target)
    torch.testing.assert_close(model(source, target), watched, **TOLERANCE)
    stacks = model.attention_stacks()
    assert {module for module, _ in found} == {module for stack in stacks.values() for module in stack}
    sides = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    for name, stack in stacks.items():
        asks, reads = sides[name]
        for module in stack:
            weights = torch.cat([value for shown, value in found if shown is module], dim=2)
            assert weights.shape[2:] == (asks.shape[1], reads.shape[1])
            sums = weights.sum(dim=-1)  # 0 for a query without neighbours
            torch.testing.assert_close(sums, sums.round(), **TOLERANCE)
            assert not weights.masked_select((reads == PAD)[:, None, None]).any()
            assert name != "decoder" or not weights.triu(1).any()


@representatives
def test_dropout_acts_only_in_training(variant: Variant) -> None:
    model = tiny_model(*variant, "model.dropout=0.5")
    source, target = sentences(5, 3), targets(7, 4)
    torch.testing.assert_close(model(source, target), model(source, target), rtol=0.0, atol=0.0)
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


@some_variants
@torch.no_grad()
def test_half_precision_stays_close_to_single_precision(variant: Variant) -> None:
    model, source, target = tiny_model(*variant).float(), sentences(5, 3), targets(7, 4)
    expected = model(source, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, state = model.decode(target[:, :3], model.start(source))
        logits, _ = model.decode(target[:, 3:], state)
    close = 0.1 * max(1.0, expected.std().item())  # without norms logits are large
    torch.testing.assert_close(logits.float()[0], expected[0, 3:], rtol=0.0, atol=close)


# Without norms, or with norms that have not measured anything yet, the states grow from layer to layer.
@quick_for_some([v for v in VARIANTS if not UNSCALED & set(v)] + UNTIED, [*REPRESENTATIVES, *UNTIED])
@torch.no_grad()
def test_an_untrained_model_is_nearly_uniform(variant: Variant) -> None:
    model = tiny_model(*variant, "model.width=96", vocabulary=503)
    logits = model(sentences(*[23] * 11, vocabulary=503), targets(*[29] * 11, vocabulary=503))
    assert 0.5 < logits.std().item() < 2.0
    entropy = F.cross_entropy(logits.flatten(0, 1), torch.randint(503, (11 * 29,))).item()
    assert abs(entropy - math.log(503)) < 1.5


def test_evaluating_restores_training_mode() -> None:
    model = nn.Dropout(0.5)
    with evaluating(model):
        with evaluating(model, gradients=True):
            assert not model.training
        assert not model.training
        assert torch.is_inference_mode_enabled()
    assert model.training
