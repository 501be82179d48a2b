import os
import shutil
import time
from pathlib import Path

import pytest
from support.command_line import Tmt

from transformer_mt.runs.lock import acquire, release


@pytest.fixture
def listed(trained: str, workplace: Path) -> Path:
    """A folder of runs with a copy of the trained one: `runs/one`."""
    shutil.copytree(trained, workplace / "runs/one")
    return Path("runs")


def described(tmt: Tmt) -> dict[str, dict[str, object]]:
    outcome = tmt("runs", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return {found["run"]: found for found in outcome.records}


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def aged(run: Path, seconds: float) -> None:
    for path in run.rglob("*"):
        os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_lists_a_run(listed: Path, tmt: Tmt) -> None:
    aged(listed / "one", 3 * 3600 + 5)
    headings, row = tmt("runs").lines
    size = sum(path.stat().st_size for path in (listed / "one").rglob("*") if path.is_file())
    found = described(tmt)["runs/one"]
    assert headings.split() == ["run", "corpus", "languages", "score", "step", "size", "age", "state"]
    score = f"loss {found['score']:.3f}"
    assert " ".join(row.split()) == f"runs/one data de → en {score} 6/6 {size / 1e6:.1f} MB 3 h finished"
    assert found.keys() == {
        "run", "corpus", "source_language", "target_language", "score", "score_name", "step", "steps", "epochs",
        "bytes", "seconds_since", "state", "init_from", "best_step",
    }  # fmt: skip
    assert (found["corpus"], found["steps"], found["bytes"], found["init_from"]) == ("data", 6, size, None)


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ('"steps": 6', '"steps": 9', "stopped"),
        ('"validated_step": 6', '"validated_step": 3', "stopped"),
        ('"epochs": 0', '"epochs": 1', "finished"),
        ('"steps": 6', '"steps": 5', "finished"),
    ],
)
def test_state_finished_or_stopped(old: str, new: str, state: str, listed: Path, tmt: Tmt) -> None:
    changed(listed / "one/checkpoints/step-6/progress.json", old, new)
    assert described(tmt)["runs/one"]["state"] == state


def test_state_training(listed: Path, tmt: Tmt) -> None:
    acquire(listed / "one")
    try:
        assert described(tmt)["runs/one"]["state"] == "training"
    finally:
        release(listed / "one")
    assert described(tmt)["runs/one"]["state"] == "finished"


def test_newest_first(listed: Path, tmt: Tmt) -> None:
    for name, age in (("old", 10_000), ("new", 0), ("older", 90_000)):
        shutil.copytree(listed / "one", listed / name)
        aged(listed / name, age)
    shutil.rmtree(listed / "one")
    assert [line.split()[0] for line in tmt("runs").lines[1:]] == ["runs/new", "runs/old", "runs/older"]


def test_takes_a_run_or_a_folder(listed: Path, tmt: Tmt) -> None:
    listed.rename("elsewhere")
    for place in ("elsewhere", "elsewhere/one"):
        assert [line.split()[0] for line in tmt("runs", place).lines[1:]] == ["elsewhere/one"]


def test_no_score_before_the_first_checkpoint(listed: Path, tmt: Tmt) -> None:
    shutil.rmtree(listed / "one/checkpoints")
    assert " –  " in tmt("runs").lines[1]
    found = described(tmt)["runs/one"]
    assert (found["score"], found["step"], found["state"]) == (None, 0, "stopped")


def test_damaged_runs_get_one_line(listed: Path, tmt: Tmt) -> None:
    evil = "no\x1b[31mname"
    for name in ("config", "link", "deep", evil, "empty"):
        shutil.copytree(listed / "one", listed / name)
        if name != "deep":
            (listed / name / "config.toml").unlink()
    (listed / "config/config.toml").write_text("[data\x1b[31m")
    (listed / "link/config.toml").symlink_to("/dev/zero")
    (listed / "deep/checkpoints/step-6/progress.json").write_text("[" * 10**5)
    os.mkfifo(listed / evil / "config.toml")
    (listed / "a file").touch()
    outcome = tmt("runs")
    assert (outcome.code, outcome.err) == (0, "")
    assert not {"\x1b", "\r"} & set(outcome.out)
    assert outcome.lines[1].endswith("finished")
    assert sorted(line.split(": ")[0] for line in outcome.lines[2:]) == [
        "runs/config/config.toml", "runs/deep/checkpoints/step-6/progress.json", "runs/link/config.toml",
        "runs/no␛[31mname/config.toml",
    ]  # fmt: skip
    assert "not a regular file" in str(described(tmt)["runs/link"]["error"])


def test_size_ignores_links(listed: Path, tmt: Tmt) -> None:
    before = described(tmt)["runs/one"]["bytes"]
    (listed / "one/more").symlink_to("/usr")
    (listed / "one/model").symlink_to(listed.absolute() / "one/model.safetensors")
    assert described(tmt)["runs/one"]["bytes"] == before


def test_no_runs(tmt: Tmt) -> None:
    outcome = tmt("runs")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tmt: runs: no runs here; train one with tmt train, or name another folder\n"
