"""SimCut and R-Drop, as plugins."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.plugins import FOLDER, loaded
from support.small_training import assert_resumed, opened, small_batch, small_config
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.batching.batches import Batch
from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD
from transformer_mt.training.objective import MASK, Objective, build_objective, cross_entropy

NAMES = ("simcut", "r_drop")
every_objective = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def plugins() -> Iterator[None]:
    with loaded(*(FOLDER / f"{name}.py" for name in NAMES)):
        yield


def objective(name: str, **numbers: Any) -> Objective:
    settings = [f"objective.{key}={value}" for key, value in numbers.items()]
    return build_objective(load_config(None, [f"objective.name={name}", *settings]).objective)


class Passes(nn.Module):
    """Returns prepared logits, one tensor per call, and records what it reads."""

    def __init__(self, *passes: Tensor) -> None:
        super().__init__()
        self.passes, self.read = iter(passes), []

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        self.read.append((source, target))
        return next(self.passes)


def problem() -> tuple[Tensor, Tensor, Batch]:
    """The logits of two passes, and a batch of three sentences with 5, 3 and 1 tokens."""
    labels = torch.randint(1, 7, (3, 5))
    labels[1, 3:] = labels[2, 1:] = PAD
    one, other = (3 * torch.randn(3, 5, 7)).requires_grad_(), (3 * torch.randn(3, 5, 7)).requires_grad_()
    return one, other, Batch(labels, labels, labels, [0, 1, 2], 0, 9)


@every_objective
def test_is_cross_entropy_without_what_tells_the_passes_apart(name: str) -> None:
    model = build_model(small_config("model.dropout=0", "model.attention.dropout=0").model, vocabulary_size=300)
    batch = small_batch()
    expected = cross_entropy(model(batch.source, batch.decoder_input), batch.labels, label_smoothing=0.3)
    settings = {"label_smoothing": 0.3} | ({"cut": 0} if name == "simcut" else {})
    torch.testing.assert_close(objective(name, **settings)(model, batch), expected)
    wider = {part: F.pad(getattr(batch, part), (0, 3), value=PAD) for part in ("source", "decoder_input", "labels")}
    torch.testing.assert_close(objective(name, **settings)(model, replace(batch, **wider)), expected)


def test_r_drop_is_half_of_the_paper_formula() -> None:
    one, other, batch = problem()
    log_p, log_q = one.log_softmax(-1), other.log_softmax(-1)
    divergences = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=-1)  # in both directions
    of_labels = (log_p + log_q).gather(2, batch.labels[..., None])[..., 0]
    expected = (3.0 * divergences / 2 - of_labels)[batch.labels != PAD].sum() / 2
    found = objective("r_drop", label_smoothing=0, weight=3.0)(Passes(one, other), batch)
    torch.testing.assert_close(found, expected)


def test_passes_of_r_drop_have_different_dropout() -> None:
    model, batch = build_model(small_config("model.dropout=0.3").model, vocabulary_size=300).train(), small_batch()
    losses = []
    for weight in (100.0, 0.0):
        torch.manual_seed(3)
        losses.append(float(objective("r_drop", weight=weight)(model, batch).detach()))
    assert losses[0] > losses[1] + 1


def test_simcut_matches_the_formula_and_both_passes_learn() -> None:
    whole, cut, batch = problem()
    found = objective("simcut", weight=3.0, cut=0.5)(Passes(whole, cut), batch)
    p, q = whole.softmax(-1), cut.softmax(-1)
    divergence = (p * (p / q).log()).sum(-1)[batch.labels != PAD].sum()
    torch.testing.assert_close(found, cross_entropy(whole, batch.labels, label_smoothing=0.1) + 3.0 * divergence)
    found.backward()
    assert all(logits.grad is not None and logits.grad[batch.labels != PAD].any() for logits in (whole, cut))


def test_only_the_second_pass_of_simcut_is_masked_on_both_sides() -> None:
    source, target = torch.randint(9, 99, (2, 20, 30)).unbind()
    source[:, -1], target[:, 0], target[3:, 20:] = EOS, BOS, PAD
    model = Passes(*[torch.zeros(20, 30, 7)] * 2)
    objective("simcut", cut=0.2)(model, Batch(source, target, torch.ones_like(target), [], 0, 600))
    first, masked = model.read
    for whole, read, cut in zip((source, target), first, masked, strict=True):
        assert torch.equal(read, whole)
        words = (whole != EOS) & (whole != BOS) & (whole != PAD)
        assert torch.equal(cut[~words], whole[~words])
        assert 0.1 < float((cut[words] == MASK).double().mean()) < 0.3
        assert torch.equal(cut[cut != MASK], whole[cut != MASK])


@pytest.mark.slow
@every_objective
def test_resumes_bit_for_bit(name: str, tmp_path: Path) -> None:
    assert_resumed(lambda path: opened(path, f"objective.name={name}"), tmp_path)
