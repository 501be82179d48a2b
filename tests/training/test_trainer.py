import copy
import math
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import torch
from support.processes import OneOf
from support.small_training import (
    corpus_in_memory,
    gradients_of_a_step,
    opened,
    small_config,
    steps_of,
    unwritten,
    validations_of,
    weights_digest,
)

from transformer_mt.config.sections import Config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import Diverged, MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.batch_stream import TrainingCorpora, train_tokenizer
from transformer_mt.training.reports import FinishReport, Validation
from transformer_mt.training.session import open_training
from transformer_mt.training.trainer import MOST_BETWEEN, Trainer

WITHOUT_DROPOUT = ("model.dropout=0", "model.attention.dropout=0")


def test_reports_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[None] = []
    monkeypatch.setattr("transformer_mt.training.trainer.return_freed", lambda: returned.append(None))
    reports = list(opened(tmp_path, "training.steps=7", "training.log_every=3").train())
    kinds = [f"{type(report).__name__[0]}{report.step}" for report in reports]  # step, window, validation, finish
    assert " ".join(kinds) == "S1 S2 S3 W3 S4 V4 S5 S6 W6 S7 V7 F7"
    assert all(report.seconds > 0 for report in steps_of(reports))
    assert validations_of(reports)[0].best
    assert len(returned) == 2  # with each window


def test_divergence_is_a_one_line_error_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    trainer = opened(tmp_path).trainer
    next(report for report in trainer.train() if report.step == 5)
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(math.nan)
    with pytest.raises(Diverged) as caught:
        list(trainer.train())
    assert str(caught.value) == (
        "training: the loss diverged at step 6, at a learning rate of 1.0e-01; lower schedule.factor or "
        "schedule.learning_rate, or raise schedule.warmup, and start again; the checkpoint of step 4 is intact"
    )
    assert caught.value.exit_code == 4
    again = opened(tmp_path).trainer
    assert again.progress.step == 4
    assert all(tensor.isfinite().all() for tensor in weights_of(again.model).values())


def test_gradients_are_clipped_to_the_norm(tmp_path: Path) -> None:
    gradients, report = gradients_of_a_step(opened(tmp_path, "optimizer.max_grad_norm=0.001").trainer)
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    assert float(norm) == pytest.approx(0.001, rel=1e-3)
    assert report.gradient_norm > 0.01


@pytest.mark.parametrize("accumulated", [1, 3])
def test_loss_and_gradient_are_those_of_the_mean_over_all_tokens(tmp_path: Path, accumulated: int) -> None:
    overrides = (f"training.accumulation_steps={accumulated}", "optimizer.max_grad_norm=999")
    trainer = opened(tmp_path, *WITHOUT_DROPOUT, *overrides).trainer
    other = opened(tmp_path / "other", *WITHOUT_DROPOUT).trainer
    batches = [other.stream.take() for _ in range(accumulated)]
    assert len({batch.target_tokens for batch in batches}) > accumulated // 2
    total = sum(other.objective(other.model, batch) for batch in batches)
    mean = total / sum(batch.target_tokens for batch in batches)
    expected = torch.autograd.grad(mean, list(other.model.parameters()))
    gradients, report = gradients_of_a_step(trainer)
    torch.testing.assert_close(gradients, list(expected), rtol=1e-4, atol=1e-6)
    assert report.loss == pytest.approx(mean.item(), rel=1e-5)


def validated_with(trainer: Trainer, scores: list[tuple[float, float, float]]) -> FinishReport:
    """Train with validations that return these (loss, BLEU, chrF) in turn."""
    found = iter(scores)
    trainer.validate = lambda model: Validation(*next(found), ())
    *_, finish = trainer.train()
    assert isinstance(finish, FinishReport)
    return finish


def test_the_share_done_counts_the_steps_of_all_epochs(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.epochs=3", "training.steps=2").trainer
    trainer.progress.step = len(trainer.stream.plan)
    assert trainer.share_done() == pytest.approx(1 / 3)


@pytest.mark.parametrize(("score", "best"), [("loss", 1), ("bleu", 2), ("chrf", 3)])
def test_best_validation_uses_the_configured_metric(tmp_path: Path, score: str, best: int) -> None:
    overrides = ("training.steps=3", "training.validate_every=1", f"training.choose_by={score}")
    finish = validated_with(opened(tmp_path, *overrides).trainer, [(1.0, 2.0, 3.0), (2.0, 9.0, 4.0), (3.0, 1.0, 5.0)])
    assert finish.best_step == best


def test_training_of_the_default_length_can_stop_early(tmp_path: Path) -> None:
    validations = math.ceil(Config().training.steps / MOST_BETWEEN)
    overrides = (f"training.steps={validations}", "training.validate_every=1", "training.choose_by=chrf")
    scores = [(1.0, 2.0, chrf) for chrf in (1.0, 2.0, *[1.9] * validations)]
    finish = validated_with(opened(tmp_path, *overrides).trainer, scores)
    assert (finish.step, finish.reason, finish.best_step) == (8, "no better chrf for training.patience=6", 2)


@pytest.mark.parametrize(("pairs", "asked", "used"), [(49, "auto", "loss"), (50, "auto", "chrf"), (50, "bleu", "bleu")])
def test_chrf_chooses_the_weights_if_there_are_enough_sentences(
    pairs: int, asked: str, used: str, tmp_path: Path
) -> None:
    corpus = corpus_in_memory(validation=[SentencePair(f"Haus {number}", "house") for number in range(pairs)])
    session = open_training(small_config(f"training.choose_by={asked}"), tmp_path, corpus)
    assert session.config.training.choose_by == Run(tmp_path).config().training.choose_by == used
    assert open_training(small_config(f"training.choose_by={asked}"), tmp_path, corpus).config == session.config


def test_validation_is_logged_before_its_checkpoint(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.checkpoint_every=99").trainer
    kinds_at_save: list[list[str]] = []
    trainer.save = lambda: kinds_at_save.append([line["kind"] for line in trainer.run.metrics()])  # type: ignore[method-assign]
    list(trainer.train())
    assert [kinds[-1] for kinds in kinds_at_save] == ["validation", "validation"]


@pytest.mark.slow
def test_only_the_main_process_writes_the_run(tmp_path: Path) -> None:
    config = small_config("training.steps=4", "training.choose_by=loss")
    corpora = TrainingCorpora(corpus_in_memory())
    tokenizer = train_tokenizer(corpora.weighted, config.tokenizer)
    written = []
    for rank in (1, 0):
        run = Run.create(tmp_path / str(rank), config, tokenizer, corpora.record, None)
        before = {path.name for path in run.path.rglob("*")}
        trainer = unwritten(config, run, corpora, tokenizer=tokenizer, distributed=OneOf(2, rank)).trainer
        trainer.validate = lambda model: Validation(1.0, 2.0, 3.0, ())  # no second process for its share
        list(trainer.train())
        written.append({path.name for path in run.path.rglob("*")} - before)
    assert written[0] == set()
    assert {"model.safetensors", "metrics.jsonl", "step-4"} <= written[1]


def test_infinite_weights_are_neither_averaged_nor_saved(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.log_every=1").trainer
    trainer.step()
    before = weights_digest(trainer.averaging.candidate())
    trainer.optimizer.schedule = lambda step: 1e39
    with pytest.raises(Diverged, match=r"the weights diverged at step 2, at a learning rate of 1\.0e"):
        trainer.step()
    assert weights_digest(trainer.averaging.candidate()) == before
    assert trainer.progress.step == 1
    assert not trainer.checkpoints.steps()


def test_non_finite_validation_is_never_the_best(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.choose_by=bleu").trainer
    with pytest.raises(Diverged, match="the validation loss diverged at step 4"):
        validated_with(trainer, [(math.nan, 99.0, 99.0)])
    assert trainer.progress.best_score is None
    assert not (tmp_path / "model.safetensors").exists()


class Stop(BaseException):
    """A signal."""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["trainer.validate", "trainer.stream.seek"])
def test_interruption_at_a_safe_place_resumes_exactly(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = ("training.accumulation_steps=3", "tokenizer.sampling=subword", "training.averaging=ema")
    whole = opened(tmp_path / "whole", *overrides)
    list(whole.train())
    stopped = opened(tmp_path / "run", *overrides)
    trainer = stopped.trainer

    def stop(*arguments: Any) -> Any:
        assert trainer.can_interrupt
        raise Stop

    owner, _, name = place.rpartition(".")
    monkeypatch.setattr(attrgetter(owner)(stopped), name, stop)
    with pytest.raises(Stop):
        list(trainer.train())
    assert not trainer.can_interrupt
    assert 0 < trainer.progress.step < whole.trainer.progress.step
    trainer.save()
    continued = opened(tmp_path / "run", *overrides)
    assert continued.trainer.progress.step == trainer.progress.step
    list(continued.train())
    assert continued.trainer.progress.history == whole.trainer.progress.history
    assert weights_digest(continued.trainer.model) == weights_digest(whole.trainer.model)


def test_steps_and_the_end_of_a_validation_cannot_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = opened(tmp_path, "training.averaging=none").trainer
    seen = set()

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            seen.add(name)
            assert not trainer.can_interrupt, name
            return function(*arguments, **options)

        return call

    for owner, name in (
        (trainer, "backward"), (trainer, "save"), (trainer.optimizer, "step"), (trainer.run, "save_model"),
        (trainer.averaging, "update"), (trainer.log, "validation"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, noted(name, getattr(owner, name)))
    list(trainer.train())
    assert len(seen) == 6


def test_gradient_that_is_not_finite_is_divergence(tmp_path: Path) -> None:
    trainer = opened(tmp_path).trainer
    next(trainer.model.parameters()).register_hook(lambda gradient: gradient * math.nan)
    with pytest.raises(Diverged, match="the loss diverged at step 1"):
        trainer.step()


def test_numbers_are_checked_every_step_only_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = opened(tmp_path, "training.log_every=700").trainer
    monkeypatch.setattr("transformer_mt.training.trainer.build_optimizer", lambda *_: trainer.optimizer)
    config = small_config("training.log_every=700")
    on_gpu = Trainer(
        trainer.run,
        config,
        copy.deepcopy(trainer.model),
        device=torch.device("meta"),
        distributed=trainer.distributed,
        stream=trainer.stream,
        schedule=trainer.optimizer.schedule,
        validate=trainer.validate,
    )
    assert (trainer.check_every, on_gpu.check_every) == (1, trainer.stream.steps_of(1))
    assert trainer.log.every == on_gpu.log.every == on_gpu.check_every


def test_step_on_a_gpu_does_not_synchronise(tmp_path: Path) -> None:
    """On the device `meta`, reading a value is an error."""
    trainer = opened(tmp_path).trainer
    batch = trainer.stream.take()
    trainer.model.to("meta")
    trainer.device = torch.device("meta")
    trainer.backward(batch.to("meta"), batch.target_tokens)


def with_infinite_weights(trainer: Trainer) -> Trainer:
    """A trainer with infinite weights that checks its numbers as rarely as on a GPU."""
    trainer.check_every = 3
    with torch.no_grad():
        next(trainer.model.parameters()).fill_(math.nan)
    return trainer


def test_divergence_on_a_gpu_is_found_at_the_next_check(tmp_path: Path) -> None:
    trainer = with_infinite_weights(opened(tmp_path).trainer)
    assert [math.isnan(float(trainer.step().loss)) for _ in range(2)] == [True, True]
    with pytest.raises(Diverged, match=r"^training: the loss diverged by step 3, "):
        trainer.step()


@pytest.mark.slow
@pytest.mark.parametrize("call", ["save", "_validated"])
def test_weights_on_a_gpu_are_checked_before_saving_and_validating(tmp_path: Path, call: str) -> None:
    trainer = with_infinite_weights(opened(tmp_path).trainer)
    trainer.step()
    with pytest.raises(Diverged, match=r"^training: the weights diverged by step 1, "):
        getattr(trainer, call)()
    assert trainer.checkpoints.steps() == []


@pytest.mark.parametrize("place", ["model.forward", "optimizer.step"])
def test_out_of_memory_error_names_batch_and_remedy(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = opened(tmp_path).trainer
    batch = opened(tmp_path / "other").trainer.stream.take()

    def fail(*arguments: Any) -> Any:
        raise MemoryError

    owner, _, name = place.partition(".")
    monkeypatch.setattr(getattr(trainer, owner), name, fail)
    with pytest.raises(MachineError) as caught:
        trainer.step()
    pairs, source = batch.source.shape
    assert str(caught.value) == (
        f"training: out of memory at step 1, in a batch of {pairs}×{source} source and "
        f"{pairs}×{batch.decoder_input.shape[1]} target tokens; lower training.batch_tokens and raise "
        "training.accumulation_steps, or lower model.width"
    )


def test_parameter_without_a_gradient_trains_and_resumes(tmp_path: Path) -> None:
    trainer = opened(tmp_path, "training.accumulation_steps=2").trainer
    idle = next(trainer.model.parameters())
    idle.requires_grad_(False)
    trainer.step()
    trainer.save()
    assert opened(tmp_path, "training.accumulation_steps=2").trainer.progress.step == 1


def test_short_trainings_validate_at_least_five_times(tmp_path: Path) -> None:
    for steps, every in ((10, 2), (7, 1), (1700, 200)):
        trainer = opened(tmp_path / str(steps), f"training.steps={steps}", "training.validate_every=0").trainer
        assert trainer.validate_every == every
