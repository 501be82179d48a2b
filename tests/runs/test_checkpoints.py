"""Training resumes bit for bit after any stop."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from support.hostile import pieces_of
from support.small_training import opened, train
from support.variants import REPRESENTATIVES, Variant
from torch import Tensor

from transformer_mt.config.sections import CHOSEN, FORMAT, TrainingConfig
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.checkpoints import STATE, Checkpoint, take_tensors
from transformer_mt.runs.directory import CONFIG, METRICS, MODEL, TOKENIZER, Run, saved_steps
from transformer_mt.runs.lock import release
from transformer_mt.runs.weights import digest
from transformer_mt.training.averaging import AVERAGING
from transformer_mt.training.reports import Report, StepReport
from transformer_mt.training.session import TrainingSession

# Eight steps take more batches than an epoch has, so stops fall before, at and after its end.
HARDEST = (
    "training.accumulation_steps=2",
    "tokenizer.sampling=subword",
    "training.checkpoint_every=3",
    "training.validate_every=4",
)


def kill(training: TrainingSession, *, at: int) -> None:
    """Train up to the report of a step, and skip the session's cleanup."""
    next(report for report in training.trainer.train() if isinstance(report, StepReport) and report.step == at)
    release(training.trainer.run.path)


def state(training: TrainingSession) -> dict[str, Tensor]:
    """The whole state of training, without times."""
    trainer = training.trainer
    trainer.save()
    saved: Checkpoint = trainer.checkpoints.load(trainer.progress.step)
    tensors = {f"weights.{name}": tensor for name, tensor in saved.weights.items()}
    numbers = take_tensors(saved.state, tensors, "state")
    return tensors | {"numbers": torch.frombuffer(bytearray(json.dumps(numbers).encode()), dtype=torch.uint8)}


def outcome(training: TrainingSession) -> dict[str, Any]:
    """The results that a resumed run shares with an uninterrupted one, except the tensors."""
    progress = training.trainer.progress
    run = training.trainer.run
    dropped = ("seconds", "tokens_per_second")
    return {
        "place": (progress.step, progress.epoch, progress.batch, progress.target_tokens),
        "history": progress.history,
        "best": (progress.best_step, progress.best_score, progress.validations_without_improvement),
        "metrics": [{key: record[key] for key in record if key not in dropped} for record in run.metrics()],
        "model": digest(safetensors.torch.load((run.path / MODEL).read_bytes())),
    }


def losses(reports: Iterable[Report]) -> list[tuple[int, int, float, float]]:
    return [(each.step, each.epoch, each.loss, each.gradient_norm) for each in reports if isinstance(each, StepReport)]


def assert_same(one: TrainingSession, other: TrainingSession) -> None:
    there, here = state(one), state(other)
    assert there.keys() == here.keys()
    assert [name for name in there if not torch.equal(there[name], here[name])] == []
    assert outcome(one) == outcome(other)


def assert_resumable(path: Path, stops: Iterable[int], *overrides: str) -> None:
    """Training that is stopped and saved after each of these steps gives the same result as uninterrupted training."""
    whole = opened(path / "whole", *overrides)
    reports = train(whole)
    for stop in stops:
        first = opened(path / f"stopped-{stop}", *overrides)
        before = train(first, until=stop)
        first.trainer.save()
        torch.manual_seed(99)  # a new process has another random state
        second = opened(path / f"stopped-{stop}", *overrides)
        assert second.notes[-1] == f"continuing {path / f'stopped-{stop}'} from step {stop}"
        assert losses(before) + losses(train(second)) == losses(reports)
        assert_same(whole, second)


@pytest.mark.parametrize(
    "averaging", [pytest.param(name, marks=[pytest.mark.slow] if name != "ema" else []) for name in AVERAGING]
)
def test_stopped_training_resumes_bit_for_bit(tmp_path: Path, averaging: str) -> None:
    """The stop comes just before a validation, so validation runs after resuming."""
    assert_resumable(tmp_path, (4,), *HARDEST, f"training.averaging={averaging}")


@pytest.mark.slow
@pytest.mark.parametrize("variant", REPRESENTATIVES, ids=" ".join)
def test_every_kind_of_variant_resumes_bit_for_bit(tmp_path: Path, variant: Variant) -> None:
    few = ("training.steps=4", "training.validate_every=4", "training.token_masking=0.1")
    assert_resumable(tmp_path, (2,), *variant, *few, "tokenizer.sampling=subword")


@pytest.mark.slow
@pytest.mark.parametrize(
    "choice",
    [
        f"{field}.name={name}"
        for field in ("objective", "optimizer", "schedule")
        for name in list(CHOSEN[field].table)[1:]  # the first is the default
    ],
)
def test_every_objective_optimizer_and_schedule_resumes_bit_for_bit(tmp_path: Path, choice: str) -> None:
    assert_resumable(tmp_path, (4,), choice, "training.accumulation_steps=2")


@pytest.mark.slow
@pytest.mark.parametrize(("averaging", "killed", "left"), [("none", 2, 0), ("ema", 5, 4), ("none", 7, 6)])
def test_killed_training_resumes_from_its_last_checkpoint(
    tmp_path: Path, averaging: str, killed: int, left: int
) -> None:
    overrides = (*HARDEST, f"training.averaging={averaging}")
    whole = opened(tmp_path / "whole", *overrides)
    train(whole)
    kill(opened(tmp_path / "killed", *overrides), at=killed)  # steps since the last checkpoint are lost
    again = opened(tmp_path / "killed", *overrides)
    assert again.trainer.progress.step == left
    train(again)
    assert_same(whole, again)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> TrainingSession:
    """A finished training; tests may copy and read its run."""
    session = opened(tmp_path_factory.mktemp("finished") / "run")
    train(session)
    return session


@pytest.fixture
def copy(finished: TrainingSession, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished.trainer.run.path, tmp_path / "run"))


def test_resuming_finished_training_is_a_no_op(finished: TrainingSession, copy: Path) -> None:
    again = opened(copy)
    assert [type(report).__name__ for report in train(again)] == ["FinishReport"]
    assert_same(finished, again)


def damage(path: Path, name: str = "model.safetensors") -> None:
    content = (path / name).read_bytes()
    (path / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def test_training_resumes_from_the_newest_sound_checkpoint(finished: TrainingSession, copy: Path) -> None:
    damage(copy / "checkpoints" / "step-8")
    again = opened(copy)
    assert f"{copy}/checkpoints/step-8/model.safetensors: damaged" in again.notes[-2]
    assert again.notes[-1] == f"continuing {copy} from step 6"
    train(again)
    assert_same(finished, again)


def test_any_flipped_bit_in_a_checkpoint_is_detected(tmp_path: Path) -> None:
    training = opened(tmp_path)
    train(training, until=4)
    for path in sorted((tmp_path / "checkpoints" / "step-4").iterdir()):
        sound = path.read_bytes()
        for place in (*range(0, min(len(sound), 99), 7), *range(99, len(sound), 1 + len(sound) // 29), len(sound) - 1):
            path.write_bytes(sound[:place] + bytes([sound[place] ^ 1 << place % 8]) + sound[place + 1 :])
            with pytest.raises(MachineError, match=str(tmp_path)):
                training.trainer.checkpoints.load(4)
        path.write_bytes(sound)
    assert training.trainer.checkpoints.load(4).progress.step == 4


def test_training_does_not_resume_from_weights_of_another_step(copy: Path) -> None:
    shutil.copy(copy / "checkpoints/step-6" / MODEL, copy / "checkpoints/step-8" / MODEL)
    assert opened(copy).notes[-1].endswith("from step 6")


@pytest.mark.slow
def test_damaged_later_checkpoints_do_not_displace_new_ones(tmp_path: Path) -> None:
    overrides = ("training.checkpoint_every=1", "training.validate_every=8")
    kill(opened(tmp_path, *overrides), at=6)
    checkpoints = tmp_path / "checkpoints"
    shutil.copytree(checkpoints / "step-4", tmp_path / "step-4")
    kill(opened(tmp_path, *overrides), at=8)
    for step in (6, 7):
        damage(checkpoints / f"step-{step}")
    shutil.move(tmp_path / "step-4", checkpoints / "step-4")
    again = opened(tmp_path, *overrides)
    assert again.trainer.progress.step == 4
    again.trainer.step()
    again.trainer.save()
    assert again.trainer.checkpoints.steps() == [4, 5]
    assert opened(tmp_path, *overrides).trainer.progress.step == 5


def test_missing_sound_checkpoint_is_a_one_line_error(copy: Path) -> None:
    for step in (6, 8):
        damage(copy / "checkpoints" / f"step-{step}", STATE)
    with pytest.raises(MachineError) as caught:
        opened(copy)
    message = str(caught.value)
    assert message.startswith(f"{copy}/checkpoints: no sound checkpoint ({copy}/checkpoints/step-8/state")
    assert message.endswith("; start over with --overwrite")
    assert "\n" not in message
    assert opened(copy, overwrite=True).trainer.progress.step == 0


def test_resuming_detects_a_changed_vocabulary_or_configuration(tmp_path: Path) -> None:
    """Even before the first validation, when the run has no weights with checksums."""
    train(opened(tmp_path, "training.checkpoint_every=1"), until=3)
    vocabulary, config = ((tmp_path / name).read_bytes() for name in (TOKENIZER, CONFIG))
    pieces = list(pieces_of(vocabulary))
    exchanged = b"".join([*pieces[:-2], pieces[-1], pieces[-2]]) + vocabulary.removeprefix(b"".join(pieces))
    for name, own, foreign in ((TOKENIZER, vocabulary, exchanged), (CONFIG, config, config + b"# by hand\n")):
        (tmp_path / name).write_bytes(foreign)
        with pytest.raises(MachineError, match=rf"{name}: not the one that model\.safetensors was saved with; restore"):
            opened(tmp_path, "training.checkpoint_every=1")
        (tmp_path / name).write_bytes(own)
    assert opened(tmp_path, "training.checkpoint_every=1").trainer.progress.step == 3


def test_error_lists_every_changed_key(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(InputError) as caught:
        opened(tmp_path, "model.width=32", "schedule.factor=0.5", "training.steps=99", "search.beam=7")
    assert str(caught.value) == (
        f"{tmp_path}: belongs to another configuration (model.width is 16 there, 32 now; schedule.factor is 1.0 "
        "there, 0.5 now); choose another directory, or start over with --overwrite"
    )


def test_overwriting_deletes_only_the_run(copy: Path) -> None:
    (copy / "notes.txt").write_text("mine")
    again = opened(copy, "model.width=18", overwrite=True)
    assert again.trainer.progress.step == 0
    assert " ".join(sorted(path.name for path in copy.iterdir())) == (
        "checkpoints config.toml data.json data.safetensors metrics.jsonl notes.txt tokenizer.model training.lock "
        "words.tsv"
    )
    assert (copy / "notes.txt").read_text() == "mine"
    assert not list((copy / "checkpoints").iterdir())
    assert not [*Run(copy).metrics()]


def test_refused_overwriting_deletes_nothing(copy: Path) -> None:
    before = sorted(path for path in copy.rglob("*"))
    with pytest.raises(InputError, match=r"model\.kind"):
        opened(copy, "model.kind=none", overwrite=True)
    assert sorted(path for path in copy.rglob("*")) == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_directory_with_other_files_is_refused(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(InputError, match=f"^{place}: exists and is not a tmt run; choose another directory"):
            opened(place, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_metrics_of_lost_steps_are_dropped(tmp_path: Path) -> None:
    first = opened(tmp_path, "training.log_every=1")
    train(first, until=5)
    whole_lines = (tmp_path / METRICS).read_bytes()
    lost = whole_lines.splitlines(keepends=True)[-1].replace(b'"step": 5', b'"step": 6')  # after the last checkpoint
    (tmp_path / METRICS).write_bytes(whole_lines + lost + '{"step": 7, "kind": "cut within an ü'.encode()[:-1])
    assert [record["step"] for record in Run(tmp_path).metrics()] == [1, 2, 3, 4, 4, 5, 6]
    opened(tmp_path, "training.log_every=1")
    assert " ".join(f"{each['kind'][0]}{each['step']}" for each in Run(tmp_path).metrics()) == "t1 t2 t3 t4 v4 t5"


FREE = "steps=99 epochs=2 patience=3 device=auto keep_checkpoints=all tensorboard=true"
FIXED = (
    "seed=7 batch_tokens=111 accumulation_steps=2 token_masking=0.5 validate_every=3 checkpoint_every=2 log_every=1 "
    "choose_by=bleu averaging=none ema_decay=0.5 precision=auto"
)


@pytest.mark.slow
def test_resuming_may_change_only_keys_without_effect_on_past_steps(tmp_path: Path) -> None:
    assert {each.partition("=")[0] for each in f"{FREE} {FIXED}".split()} == TrainingConfig.model_fields.keys()
    opened(tmp_path)
    for change in FIXED.split():
        key = change.partition("=")[0]
        with pytest.raises(InputError, match=rf"belongs to another configuration \(training\.{key} is "):
            opened(tmp_path, f"training.{change}")
    for change in FREE.split():
        if "tensorboard" in change:
            pytest.importorskip("tensorboard")
        opened(tmp_path, f"training.{change}")


@pytest.mark.slow
def test_schedule_with_an_end_refuses_a_new_number_of_steps(tmp_path: Path) -> None:
    overrides = ("schedule.name=cosine", "schedule.warmup=3")
    train(opened(tmp_path, *overrides), until=5)
    with pytest.raises(InputError) as caught:
        opened(tmp_path, *overrides, "training.steps=9")
    assert "belongs to another configuration (training.steps is 8 there, 9 now); choose" in str(caught.value)
    assert_resumable(tmp_path, (5,), *overrides, "training.log_every=1")


def test_run_of_another_format_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    path = tmp_path / "config.toml"
    written = path.read_text("utf-8")
    path.write_text(written.replace(f'format = "{FORMAT}"', "format = 1"), "utf-8")
    with pytest.raises(InputError) as caught:
        Run.open(tmp_path).config()
    assert str(caught.value) == f"{path}: of format 1, not {FORMAT}; use the version of tmt that wrote it"
    path.write_text(written.replace(f'format = "{FORMAT}"', ""), "utf-8")
    with pytest.raises(InputError) as caught:
        opened(tmp_path)
    assert str(caught.value).startswith(f"{path}: of format None, not {FORMAT}; ")
    assert opened(tmp_path, overwrite=True).trainer.progress.step == 0


# Checkpoints are written at 3, 4, 6 and 8; 4 and 8 are validated, 8 is the best.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "steps", "complete"),
    [("weights", [4, 6, 8], [6, 8]), ("needed", [6, 8], [6, 8]), ("all", [3, 4, 6, 8], [3, 4, 6, 8])],
)
def test_old_checkpoints_are_kept_as_configured(
    tmp_path: Path, keep: str, steps: list[int], complete: list[int]
) -> None:
    session = opened(tmp_path, f"training.keep_checkpoints={keep}")
    train(session)
    assert saved_steps(tmp_path / "checkpoints") == steps
    assert session.trainer.checkpoints.steps() == complete


def test_training_does_not_resume_from_weights_only(copy: Path) -> None:
    for step in (6, 8):
        (copy / "checkpoints" / f"step-{step}" / STATE).unlink()
    with pytest.raises(MachineError, match=r"checkpoints: no complete checkpoint; start over with --overwrite"):
        opened(copy)


def test_state_larger_than_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = opened(tmp_path).trainer
    trainer.save()
    monkeypatch.setattr("transformer_mt.ground.memory.FREE_ANYWHERE", 0)
    monkeypatch.setattr("transformer_mt.runs.checkpoints.free_memory", lambda: 7)
    with pytest.raises(InputError, match=r"step-0/state\.safetensors: needs 0\.0 GB of memory, 0\.0 GB are free; use"):
        trainer.checkpoints.load(0)
