import json
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
from experiments.experiment import Experiment, Runner, TrainingSummary
from support.command_line import SIZES
from support.experiments import planned, scores

from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.runs.directory import Run

TINY = [f"{key}={value}" for key, value in SIZES.items()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, TrainingSummary]:
    [experiment] = planned(tmp_path_factory.mktemp("runner"), "baseline", overrides=TINY)
    experiment.runs.mkdir()
    return experiment, Runner(jobs=1, threads=1).train(experiment)


@pytest.mark.slow
def test_training_summary(trained: tuple[Experiment, TrainingSummary]) -> None:
    experiment, summary = trained
    metrics = [json.loads(line) for line in (experiment.run / "metrics.jsonl").read_text("utf-8").splitlines()]
    speeds = [line["tokens_per_second"] for line in metrics if line["kind"] == "training"]
    assert len(speeds) == 3
    assert summary.tokens_per_second == sorted(speeds)[1]
    assert summary.target_tokens > 6 * 64
    weights = safetensors.torch.load_file(experiment.run / "model.safetensors")
    assert summary.parameters == sum(tensor.numel() for tensor in weights.values())


@pytest.mark.slow
def test_evaluates_the_given_split(trained: tuple[Experiment, TrainingSummary]) -> None:
    experiment, _ = trained
    assert set(scores()) <= set(Runner(jobs=1, threads=1).evaluate(experiment, "test_composition"))
    assert "split test_composition" in (experiment.runs / "baseline-seed1.log").read_text("utf-8")


@pytest.mark.slow
def test_failure_reports_the_last_line(trained: tuple[Experiment, TrainingSummary]) -> None:
    experiment, _ = trained
    log = experiment.runs / "baseline-seed1.log"
    before = log.read_text("utf-8")
    with pytest.raises(TmtError) as raised:
        Runner(jobs=1, threads=1).evaluate(experiment, "test_lenght")
    assert log.read_text("utf-8").startswith(before)
    assert str(raised.value).startswith(f"{log}: tmt: error: --split: 'test_lenght' is unknown")
    assert str(raised.value).endswith("(exit code 2)")


@pytest.mark.slow
def test_second_stage_leaves_out_the_mixture_of_the_first(tmp_path: Path) -> None:
    more = tmp_path / "more.tsv"
    more.write_text("".join(f"Der Hund {word} schläft.\tThe dog {word} sleeps.\n" for word in "abcdefgh"), "utf-8")
    [both] = planned(tmp_path, "baseline", overrides=[*TINY, f"data.mixture.more={{corpus={json.dumps(str(more))}}}"])
    both.runs.mkdir()
    then = replace(both, settings=("training.steps=4",), label="then", parent=both)
    for experiment in (both, then):
        Runner(jobs=1, threads=1).train(experiment)
    assert list(Run.open(both.run).config().data.mixture) == ["more"]
    assert Run.open(then.run).config().data.mixture == {}


@pytest.mark.slow
def test_different_steps_need_another_folder(
    trained: tuple[Experiment, TrainingSummary], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, _ = trained
    runner = Runner(jobs=1, threads=1)
    monkeypatch.setattr(runner, "_tmt", lambda experiment, *arguments: "")  # training would find all steps done
    for steps, more in ((4, ""), (9, ", or raise training.patience")):
        [other] = planned(experiment.runs.parent, "baseline", overrides=[*TINY, f"training.steps={steps}"])
        with pytest.raises(InputError) as raised:
            runner.train(other)
        assert str(raised.value) == f"{experiment.run}: trained for 6 steps, not {steps}; choose another --runs{more}"
