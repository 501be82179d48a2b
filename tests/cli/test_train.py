import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.command_line import Tmt, contents, settings


def metrics(run: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text("utf-8").splitlines()]


def test_training_writes_lines_to_stderr_and_its_result_to_stdout(data: str, tmt: Tmt) -> None:
    outcome = tmt("train", "--data", data, "--run-dir", "new", *settings())
    assert outcome.code == 0
    assert re.fullmatch(r"new: validation loss \d+\.\d{4} at step [36]\n", outcome.out)
    assert "\x1b" not in outcome.err
    assert all(line.startswith("tmt: ") for line in outcome.err.splitlines())
    for step in (2, 4, 6):
        assert re.search(rf"^tmt: step {step}/6  epoch \d+  loss \d+\.\d+  rate ", outcome.err, re.MULTILINE)
    for step in (3, 6):
        assert re.search(rf"^tmt: step {step}  validation loss \d", outcome.err, re.MULTILINE)
    assert "tmt: finished at step 6: all steps are done; best validation at step" in outcome.err
    assert 'tmt: try: tmt translate --model new "…" and tmt attend --model new' in outcome.err


def test_metrics_are_json_lines_with_increasing_steps(trained: str) -> None:
    found = metrics(trained)
    assert [(line["kind"], line["step"]) for line in found] == [
        ("training", 2),
        ("validation", 3),
        ("training", 4),
        ("training", 6),
        ("validation", 6),
    ]


def test_a_finished_run_says_so_and_changes_nothing(own_run: Path, data: str, tmt: Tmt) -> None:
    before = contents(own_run)
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings())
    assert outcome.code == 0
    assert "tmt: continuing run from step 6" in outcome.err
    assert "tmt: finished at step 6: all steps are done" in outcome.err
    assert contents(own_run) == before


def test_more_steps_continue_a_run_as_if_it_had_never_ended(own_run: Path, data: str, tmt: Tmt) -> None:
    longer = settings(training__steps="9")
    assert tmt("train", "--data", data, "--run-dir", str(own_run), *longer).code == 0
    assert tmt("train", "--data", data, "--run-dir", "straight", *longer).code == 0
    continued, straight = (load_file(run / "model.safetensors") for run in (own_run, Path("straight")))
    assert continued.keys() == straight.keys()
    assert all(torch.equal(continued[name], tensor) for name, tensor in straight.items())
    assert [line["step"] for line in metrics("run")] == [line["step"] for line in metrics("straight")]


def test_overwrite_starts_anew_and_keeps_what_is_not_the_runs(own_run: Path, data: str, tmt: Tmt) -> None:
    (own_run / "notes.txt").write_text("mine")
    changed = settings(model__feedforward="17")
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), "--overwrite", *changed)
    assert outcome.code == 0
    assert "continuing" not in outcome.err
    assert (own_run / "notes.txt").read_text() == "mine"
    assert "feedforward = 17" in (own_run / "config.toml").read_text()
    assert [line["step"] for line in metrics("run")] == [2, 3, 4, 6, 6]


def test_the_runs_name_is_the_configurations(data: str, tmt: Tmt) -> None:
    Path("small.toml").write_text("[training]\npatience = 7\n")
    assert tmt("train", "small.toml", "--data", data, *settings(training__steps="1")).code == 0
    assert "patience = 7" in Path("runs/small/config.toml").read_text()


def test_check_writes_nothing_and_learns_a_batch_by_heart(data: str, tmt: Tmt, workplace: Path) -> None:
    wider = settings(model__width="64", model__feedforward="64", training__batch_tokens="64")
    outcome = tmt("train", "--check", "--data", data, *wider)
    assert outcome.code == 0
    assert contents(workplace) == {}
    assert re.fullmatch(r"learning    one batch of \d+ pairs by heart in \d+ steps", outcome.lines[-1])
    for name in ("device", "corpus", "vocabulary", "batches", "parameters", "shapes", "fits", "time"):
        assert re.search(rf"^{name} ", outcome.out, re.MULTILINE)


def test_check_says_when_a_batch_cannot_be_learned(data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.training.sanity_check.MOST_STEPS", 10)
    outcome = tmt("train", "--check", "--data", data, *settings())
    assert outcome.code == 3
    assert re.fullmatch(
        r"tmt: error: --check: after 10 steps only \d+\.\d % of one batch are right; "
        "the model is too small or something in it is broken; try a larger model.width",
        outcome.err.splitlines()[-1],
    )


def test_on_a_terminal_progress_is_live(
    data: str, terminal: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, screen = terminal("train", "--data", data, "--run-dir", "new", *settings())
    assert code == 0
    assert "\x1b[" in screen  # the cursor moves
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8])[0-9;]*m", screen)  # but nothing is coloured
    last = screen[screen.rindex("step 6/6") :]
    assert " 100 % " in last
    assert "[progress" not in screen
    assert "BLEU" in last
    assert "translation now" in last
    assert "finished at step 6" in last
    assert "Traceback" not in screen
