from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from support.small_training import TRAIN, small_config
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.batching.batches import Batch
from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.config.sections import CHOSEN, RDropConfig, SimCutConfig, TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.objective import (
    MASK,
    OBJECTIVES,
    Objective,
    RDrop,
    SimCut,
    build_objective,
    cross_entropy,
    entropy_of_targets,
)

SMOOTHING = 0.1


def logits_and_labels(vocabulary: int) -> tuple[Tensor, Tensor]:
    logits = 3 * torch.randn(3, 5, vocabulary)
    labels = torch.randint(1, vocabulary, (3, 5))
    labels[1, 3:] = PAD
    labels[2, 1:] = PAD
    return logits, labels


def test_loss_matches_the_formula() -> None:
    logits, labels = logits_and_labels(7)
    log_p = logits - logits.exp().sum(dim=-1, keepdim=True).log()
    q = SMOOTHING / 7 + (1 - SMOOTHING) * F.one_hot(labels, 7)
    expected = -(q * log_p).sum(dim=-1)[labels != PAD].sum()
    torch.testing.assert_close(cross_entropy(logits, labels, label_smoothing=SMOOTHING), expected)


# Objectives: from a model and a batch to the summed loss


def objective(*overrides: str) -> Objective:
    return build_objective(load_config(None, overrides).objective)


def small_batch() -> Batch:
    texts = [text for pair in TRAIN for text in (pair.source, pair.target)]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocabulary_size=300))
    return encode_pairs(TRAIN[:5], tokenizer, max_length=31).batch(range(5))


def small_model(*overrides: str) -> Seq2Seq:
    config = small_config("model.dropout=0", "model.attention.dropout=0", *overrides)
    return build_model(config.model, vocabulary_size=300)


# Without what makes an objective random, other than dropout.
NAMES = [[f"objective.name={name}", *(["objective.cut=0"] if name == "simcut" else [])] for name in OBJECTIVES]


def test_every_objective_has_a_section() -> None:
    assert set(OBJECTIVES) == set(CHOSEN["objective"].table)


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_is_cross_entropy_without_dropout(name: list[str]) -> None:
    model, batch = small_model(), small_batch()
    expected = cross_entropy(model(batch.source, batch.decoder_input), batch.labels, label_smoothing=0.3)
    found = objective(*name, "objective.label_smoothing=0.3")(model, batch)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_padding_does_not_change_the_loss(name: list[str]) -> None:
    model, batch = small_model(), small_batch()
    wider = {part: F.pad(getattr(batch, part), (0, 3), value=PAD) for part in ("source", "decoder_input", "labels")}
    found = objective(*name)(model, replace(batch, **wider))
    torch.testing.assert_close(found, objective(*name)(model, batch))


@pytest.mark.parametrize("vocabulary", [1, 2, 53])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.usefixtures("float64")
def test_entropy_of_targets_is_the_least_cross_entropy(vocabulary: int, smoothing: float) -> None:
    label = torch.tensor([[vocabulary - 1]])
    q = (1 - smoothing) * F.one_hot(label, vocabulary) + smoothing / vocabulary
    found = entropy_of_targets(smoothing, vocabulary)
    assert found == pytest.approx(torch.special.entr(q).sum().item())
    if vocabulary > 1:  # token 0 is padding
        at_least = cross_entropy(q.clamp_min(1e-300).log(), label, label_smoothing=smoothing).item()
        assert found == pytest.approx(at_least)
        others = torch.randn(20, 1, 1, vocabulary)
        worse = [cross_entropy(logits, label, label_smoothing=smoothing).item() for logits in others]
        assert min(worse) > found


class Passes(nn.Module):
    """Returns prepared logits, one tensor per call, and records what it reads."""

    def __init__(self, *passes: Tensor) -> None:
        super().__init__()
        self.passes, self.read = iter(passes), []
        size = passes[0].shape[-1]
        self.output = nn.Linear(size, size)  # changes nothing
        with torch.no_grad():
            self.output.weight.copy_(torch.eye(size))
            self.output.bias.zero_()

    def forward(self, source: Tensor, target: Tensor, head: Callable[[Tensor, nn.Linear], Tensor]) -> Tensor:
        self.read.append((source, target))
        return head(next(self.passes), self.output)


def labelled(labels: Tensor) -> Batch:
    return Batch(labels, labels, labels, [0, 1, 2], 0, int((labels != PAD).sum()))


def test_r_drop_is_half_of_the_paper_formula() -> None:
    one, labels = logits_and_labels(7)
    other, _ = logits_and_labels(7)
    log_p, log_q = one.log_softmax(-1), other.log_softmax(-1)
    divergences = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=-1)  # in both directions
    of_labels = (log_p + log_q).gather(2, labels[..., None])[..., 0]
    expected = (3.0 * divergences / 2 - of_labels)[labels != PAD].sum() / 2
    found = RDrop(RDropConfig(label_smoothing=0.0, weight=3.0))(Passes(one, other), labelled(labels))
    torch.testing.assert_close(found, expected)


def test_passes_of_r_drop_have_different_dropout() -> None:
    model, batch = build_model(small_config("model.dropout=0.3").model, vocabulary_size=300).train(), small_batch()
    torch.manual_seed(3)
    drawn_together = float(RDrop(RDropConfig(label_smoothing=0.0, weight=100.0))(model, batch).detach())
    torch.manual_seed(3)
    alone = float(RDrop(RDropConfig(label_smoothing=0.0, weight=0.0))(model, batch).detach())
    assert drawn_together > alone + 1


def test_simcut_matches_the_formula_and_both_passes_learn() -> None:
    whole, labels = logits_and_labels(7)
    cut, _ = logits_and_labels(7)
    passes = [logits.requires_grad_() for logits in (whole, cut)]
    found = SimCut(SimCutConfig(label_smoothing=SMOOTHING, weight=3.0, cut=0.5))(Passes(*passes), labelled(labels))
    p, q = whole.softmax(-1), cut.softmax(-1)
    divergence = (p * (p / q).log()).sum(-1)[labels != PAD].sum()
    torch.testing.assert_close(found, cross_entropy(whole, labels, label_smoothing=SMOOTHING) + 3.0 * divergence)
    found.backward()
    assert all(logits.grad is not None and logits.grad[labels != PAD].any() for logits in passes)


def test_only_the_second_pass_of_simcut_is_masked_on_both_sides() -> None:
    source, target = torch.randint(9, 99, (2, 20, 30)).unbind()
    source[:, -1], target[:, 0], target[3:, 20:] = EOS, BOS, PAD
    batch, logits = Batch(source, target, target, [], 0, 0), torch.zeros(20, 30, 7)
    model = Passes(logits, logits)
    SimCut(SimCutConfig(label_smoothing=0.0, weight=1.0, cut=0.2))(
        model, replace(batch, labels=torch.ones_like(target))
    )
    (first_source, first_target), masked = model.read
    assert torch.equal(first_source, source)
    assert torch.equal(first_target, target)
    for whole, cut in zip((source, target), masked, strict=True):
        words = (whole != EOS) & (whole != BOS) & (whole != PAD)
        assert torch.equal(cut[~words], whole[~words])
        assert 0.1 < float((cut[words] == MASK).double().mean()) < 0.3
        assert torch.equal(cut[cut != MASK], whole[cut != MASK])
