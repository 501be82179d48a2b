import json
from pathlib import Path

import pytest
import safetensors.torch
from support.command_line import SIZES
from support.experiments import planned, scores

from transformer_mt.errors import InputError, TmtError
from transformer_mt.experiments.runner import Runner

TINY = [f"{key}={value}" for key, value in SIZES.items()]


def test_a_process_that_fails_is_reported_with_its_last_line(tmp_path: Path) -> None:
    [experiment] = planned(tmp_path, "dot", overrides=[*TINY, "tokenizer.vocabulary_size=1"])
    experiment.runs.mkdir()
    log = experiment.runs / "dot-seed1.log"
    log.write_text("an earlier start\n")
    with pytest.raises(TmtError) as raised:
        Runner(jobs=1, threads=1).train(experiment)
    assert log.read_text("utf-8").startswith("an earlier start\n")
    assert str(raised.value).startswith("tmt: error: ")
    assert str(raised.value).endswith(f"(exit code 2, see {log})")


def test_a_training_is_summed_up_and_evaluated_and_fewer_steps_need_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [experiment] = planned(tmp_path, "baseline", overrides=TINY)
    experiment.runs.mkdir()
    runner = Runner(jobs=1, threads=1)
    summary = runner.train(experiment)
    metrics = [json.loads(line) for line in (experiment.run / "metrics.jsonl").read_text("utf-8").splitlines()]
    speeds = [line["tokens_per_second"] for line in metrics if line["kind"] == "training"]
    assert len(speeds) == 3
    assert summary.tokens_per_second == sorted(speeds)[1]
    assert summary.target_tokens > 6 * 64
    weights = safetensors.torch.load_file(experiment.run / "model.safetensors")
    assert summary.parameters == sum(tensor.numel() for tensor in weights.values())
    assert set(scores()) <= set(runner.evaluate(experiment, "test"))
    [shorter] = planned(tmp_path, "baseline", overrides=[*TINY, "training.steps=4"])
    monkeypatch.setattr(runner, "_tmt", lambda experiment, *arguments: "")  # what it would say: all steps are done
    with pytest.raises(InputError) as raised:
        runner.train(shorter)
    assert str(raised.value) == f"{experiment.run}: trained for 6 steps, not 4; choose another --runs"
