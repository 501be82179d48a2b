import math
from pathlib import Path

import pytest
import torch
from support.small_training import TRAIN, opened, steps_of, validations_of
from torch import Tensor

from transformer_mt.errors import InputError
from transformer_mt.runs.weights import weights_of

WITHOUT_DROPOUT = ("model.dropout=0", "model.attention.dropout=0")


def final_weights(path: Path, *overrides: str) -> dict[str, Tensor]:
    trainer = opened(path, *overrides).trainer
    list(trainer.train())
    return weights_of(trainer.model)


def test_gradient_of_several_batches_is_that_of_all_their_pairs_in_one(tmp_path: Path) -> None:
    trainer = opened(tmp_path, *WITHOUT_DROPOUT).trainer
    pieces = [range(5), range(5, 6), range(6, 17)]
    batches = [trainer.stream.encoded.batch(rows) for rows in pieces]
    together = trainer.stream.encoded.batch(range(17))
    gradients, losses = [], []
    for parts in (batches, [together]):
        losses.append(sum(trainer.backward(batch, together.target_tokens) for batch in parts))
        gradients.append([parameter.grad.clone() for parameter in trainer.model.parameters()])  # type: ignore[union-attr]
        trainer.model.zero_grad()
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


def test_a_step_takes_as_many_batches_as_it_accumulates(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.accumulate=3").trainer
    ahead = opened(tmp_path / "other").trainer.stream
    expected = sum(ahead.take().target_tokens for _ in range(3))
    assert trainer.step().target_tokens == expected
    assert trainer.stream.index == 3


def test_validations_change_nothing(tmp_path: Path) -> None:
    often = final_weights(tmp_path / "often", "training.validate_every=1", "training.patience=99")
    once = final_weights(tmp_path / "once", "training.validate_every=99")
    assert all(torch.equal(often[name], once[name]) for name in once)


def test_checkpoints_change_nothing(tmp_path: Path) -> None:
    often = final_weights(tmp_path / "often", "training.checkpoint_every=1")
    never = final_weights(tmp_path / "never", "training.checkpoint_every=99")
    assert all(torch.equal(often[name], never[name]) for name in never)


def test_reports_come_in_order(tmp_path: Path) -> None:
    reports = list(opened(tmp_path, "training.steps=7").trainer.train())
    kinds = [(type(report).__name__.removesuffix("Report"), report.step) for report in reports]
    steps = [("Step", step) for step in range(1, 8)]
    assert kinds == [*steps[:4], ("Validation", 4), *steps[4:], ("Validation", 7), ("Finish", 7)]
    assert [report.epoch for report in steps_of(reports)] == sorted(report.epoch for report in steps_of(reports))
    assert all(report.seconds > 0 for report in steps_of(reports))
    assert validations_of(reports)[0].best


def test_a_diverging_loss_is_one_line_and_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    trainer = opened(tmp_path).trainer
    for report in trainer.train():
        if report.step == 5:
            break
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(math.nan)
    with pytest.raises(InputError) as caught:
        list(trainer.train())
    assert str(caught.value) == (
        "training: the loss diverged at step 6; lower optimizer.factor or raise optimizer.warmup"
    )
    again = opened(tmp_path).trainer
    assert again.progress.step == 4
    assert all(tensor.isfinite().all() for tensor in weights_of(again.model).values())


def test_gradients_are_clipped_to_the_norm(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "optimizer.clip=0.001").trainer
    seen: list[float] = []
    step = trainer.optimizer.step

    def observed() -> float:
        gradients = [parameter.grad.flatten() for parameter in trainer.model.parameters() if parameter.grad is not None]
        seen.append(float(torch.cat(gradients).norm()))
        return step()

    trainer.optimizer.step = observed  # type: ignore[method-assign]
    report = trainer.step()
    assert report.gradient_norm > 0.01
    assert seen == [pytest.approx(0.001, rel=1e-3)]


def test_loss_of_a_step_is_the_mean_over_its_tokens(tmp_path: Path) -> None:
    trainer = opened(tmp_path, *WITHOUT_DROPOUT, "objective.label_smoothing=0").trainer
    model = trainer.model
    batch = opened(tmp_path / "other").trainer.stream.take()
    with torch.no_grad():
        log_p = model(batch.source, batch.target_in).log_softmax(dim=-1)
    chosen = log_p.gather(2, batch.target_out[:, :, None])[:, :, 0][batch.target_out != 0]
    assert trainer.step().loss == pytest.approx(-float(chosen.mean()), rel=1e-5)
    assert len(TRAIN) > len(batch.pairs)
