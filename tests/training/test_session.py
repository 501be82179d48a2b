import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.processes import OneOf
from support.small_training import (
    TRAIN,
    VALIDATION,
    corpus_in_memory,
    opened,
    small_config,
    train,
    weights_digest,
)

from transformer_mt.config.toml import load_config
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.ground.errors import InputError
from transformer_mt.links.counts import link_counts
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.alignment import ALIGNMENT
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.reports import FinishReport, Report, StepReport, ValidationReport
from transformer_mt.training.session import open_training


def test_training_chooses_heads_for_word_links_at_its_end(tmp_path: Path) -> None:
    config = small_config("training.steps=4")
    linked = [replace(pair, links=((0, 0), (1, 1))) for pair in VALIDATION]
    session = open_training(config, tmp_path / "run", corpus_in_memory(TRAIN, linked))
    reports = session.train()
    while not isinstance(next(reports), FinishReport):
        assert not (tmp_path / "run" / ALIGNMENT).exists()
    found = session.trainer.run.alignment()
    assert found is not None
    assert (found.chosen_by, {head.stack for head in found.heads}) == ("links", {"cross"})
    run = session.trainer.run
    counts = link_counts(run.network(), run.tokenizer(), linked, found)
    assert found.error_rate == pytest.approx(counts.error_rate, abs=1e-9)
    trained = session.trainer.checkpoints.load(4).state["averaging"]  # behind the running average
    assert all(torch.equal(tensor, trained[name]) for name, tensor in weights_of(session.trainer.model).items())


def test_length_is_the_number_of_steps(tmp_path: Path) -> None:
    session = opened(tmp_path / "steps", "training.steps=3")
    assert len(session) == 3
    assert repr(session).startswith(f"TrainingSession({str(tmp_path / 'steps')!r}, step 0 of 3, Corpus(")
    steps = [report.step for report in session.train() if isinstance(report, StepReport)]
    assert steps == [1, 2, 3]
    assert "step 3 of 3" in repr(session)
    epochs = opened(tmp_path / "epochs", "training.epochs=3", "training.accumulation_steps=2")
    *_, finish = epochs.train()
    batches = 3 * len(epochs.trainer.stream.plan)
    assert finish == FinishReport(len(epochs), "all epochs are done", epochs.trainer.progress.best_step)
    assert (len(epochs), epochs.trainer.progress.validated_step) == (math.ceil(batches / 2), finish.step)


def test_progress_counts_steps_also_after_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for report in opened(tmp_path).train(progress=True):
        if report.step == 5:
            break
    assert re.findall(r"([0-9]+)/8 \[", capsys.readouterr().err)[-1] in ("4", "5")
    list(opened(tmp_path).train(progress=True))
    counts = re.findall(r"([0-9]+)/8 \[", capsys.readouterr().err)
    assert (counts[0], counts[-1]) == ("5", "8")
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    list(opened(tmp_path / "another", "training.steps=1").train(progress=True))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    list(opened(tmp_path / "notebook", "training.steps=1").train(progress=True))
    out, err = capsys.readouterr()
    assert ("1/1" in out, err) == (True, "")


def test_training_builds_its_model_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[str, int]] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        model = build_model(*arguments, **options)
        built.append((next(model.parameters()).device.type, options["vocabulary_size"]))
        return model

    for module in ("models.build_model", "training.build"):
        monkeypatch.setattr(f"transformer_mt.{module}.build_model", counted)
    list(opened(tmp_path, "training.steps=1").train())
    assert (tmp_path / ALIGNMENT).exists()
    assert built == [("meta", 300), ("cpu", 300)]  # the first without values


@pytest.mark.parametrize(
    ("kind", "is_resumed"), [(ValidationReport, False), pytest.param(FinishReport, True, marks=pytest.mark.slow)]
)
def test_break_after_a_checkpoint_does_not_save_again(
    kind: type[Report], is_resumed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_resumed:
        list(opened(tmp_path).train())
    session = opened(tmp_path)
    reports = session.train()
    while not isinstance(next(reports), kind):
        assert not is_resumed
    monkeypatch.setattr(session.trainer, "save", None)
    reports.close()  # type: ignore[attr-defined]


def test_break_in_one_of_several_processes_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path)
    reports = session.train()
    next(reports)
    monkeypatch.setattr(session.trainer, "distributed", OneOf(2, 0))
    monkeypatch.setattr(session.trainer, "save", None)
    reports.close()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_program_may_exit_inside_the_loop(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from support.small_training import opened\n"
        "reports = opened(Path(sys.argv[1])).train(); next(reports)"
    )
    path = os.pathsep.join((str(Path(__file__).parents[1]), *sys.path))
    command = [sys.executable, "-c", program, str(tmp_path / "run")]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, timeout=120, check=False)
    assert ended.returncode == 0
    assert opened(tmp_path / "run").trainer.progress.step == 0


def test_model_without_attention_has_no_alignment(tmp_path: Path) -> None:
    config = small_config("model.kind=recurrent", "model.score=none", "training.steps=1")
    list(open_training(config, tmp_path / "run", corpus_in_memory()).train())
    assert not (tmp_path / "run" / ALIGNMENT).exists()


@pytest.mark.parametrize(("there", "missing"), [("train", "validation"), ("validation", "train")])
def test_missing_split_is_refused_before_writing(there: str, missing: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^mine: no {missing} split; give one$"):
        open_training(small_config(), tmp_path / "run", Corpus.from_pairs({there: TRAIN}, name="mine"))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_training_works_with_gradients_disabled(tmp_path: Path) -> None:
    list(opened(tmp_path / "with").train())
    with torch.no_grad():
        train(opened(tmp_path / "without"), until=4)
        assert not torch.is_grad_enabled()
    continued = opened(tmp_path / "without")
    with torch.inference_mode():
        list(continued.train())
    first, second = (Run.open(tmp_path / name).network() for name in ("with", "without"))
    assert weights_digest(first) == weights_digest(second)


@pytest.mark.slow
@pytest.mark.parametrize(
    "override",
    ["model.width=65536", "model.attention.position=relative(9999)", "training.batch_tokens=100000000"],
)
def test_model_larger_than_memory_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str) -> None:
    monkeypatch.setattr("transformer_mt.ground.device.free_memory", lambda: 10**7)
    opened(tmp_path / "small")
    with pytest.raises(InputError, match=r"^model, training\.batch_tokens: needs .* GB of memory, 0\.0 GB are free"):
        opened(tmp_path / "large", override)
    assert not (tmp_path / "large").exists()


@pytest.mark.slow
def test_resuming_on_another_machine_adds_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # CTranslate2 in the same process changes it
    list(opened(tmp_path, "training.steps=4").train())
    (same,) = opened(tmp_path, "training.steps=4").notes
    assert same == f"continuing {tmp_path} from step 4"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    said, continuing = opened(tmp_path, "training.steps=4").notes
    assert continuing == same
    assert re.fullmatch(
        r"resuming is not bit-exact: "
        r"torch \S+, cpu \S+, threads: 1, processes: 1 before, torch \S+, cpu \S+, threads: 7, processes: 1 now",
        said,
    )


@pytest.mark.parametrize(
    "key",
    [
        "model.kind", "model.norm", "model.residual", "model.feed_forward", "model.attention.kind",
        "model.attention.score", "model.attention.position", "model.attention.graph", "model.attention.qk_projection",
        "model.attention.normaliser", "objective.name", "optimizer.name", "schedule.name", "training.averaging",
        "training.choose_by", "training.precision",
    ],
)  # fmt: skip
def test_unknown_name_is_refused_before_reading_the_corpus(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer_mt.training.session.load_corpus", None)
    with pytest.raises(InputError, match=re.escape(key)):
        open_training(load_config(None, [f"{key}=nobody"]), tmp_path / "run")


def test_sampling_from_bpe_is_refused_before_reading_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer_mt.training.session.load_corpus", None)
    config = load_config(None, ["tokenizer.kind=bpe", "tokenizer.sampling=subword"])
    with pytest.raises(InputError, match=r"^tokenizer\.sampling: subword needs a unigram vocabulary; choose none, or"):
        open_training(config, tmp_path / "run")
