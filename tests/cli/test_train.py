import errno
import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import PROGRAM, Tmt, contents, settings, write_corpus

from transformer_mt.cli.training_display import TrainLog
from transformer_mt.config.toml import load_config
from transformer_mt.runs.directory import Run
from transformer_mt.training.session import open_training


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


def test_a_finished_run_says_so_and_changes_nothing(own_run: Path, data: str, tmt: Tmt) -> None:
    before = contents(own_run)
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings())
    assert outcome.code == 0
    assert "tmt: continuing run from step 6" in outcome.err
    assert "tmt: finished at step 6: all steps are done" in outcome.err
    log = before.pop("train.log")
    after = contents(own_run)
    assert log is not None
    assert (after.pop("train.log") or b"").startswith(log)
    assert after == before


def test_a_run_of_a_configuration_that_comes_with_the_package_has_its_name(data: str, tmt: Tmt) -> None:
    for name in ("multi30k", "laboratory/rotary"):
        assert tmt("train", name, "--data", data, *settings(training__steps="1")).code == 0
    assert Run(Path("runs/multi30k")).config().tokenizer.whole_words == 0
    assert Run(Path("runs/rotary")).config().model.attention.position == "rotary"  # type: ignore[union-attr]


def test_every_epoch_has_its_line_and_its_number_is_the_same_everywhere(data: str, tmt: Tmt) -> None:
    ends = settings(training__epochs="3", training__log_every="700", training__validate_every="700")
    outcome = tmt("train", "--data", data, "--run-dir", "run", *ends)
    assert outcome.code == 0, outcome.err
    said = [
        (int(step), int(epoch)) for step, epoch in re.findall(r"^tmt: step (\d+)  epoch (\d+)/3", outcome.err, re.M)
    ]
    windows = [line for line in metrics("run") if line["kind"] == "training"]
    assert said == [(line["step"], line["epoch"]) for line in windows]
    assert {epoch for _, epoch in said} == {1, 2, 3}
    (last,) = (line for line in metrics("run") if line["kind"] == "validation")
    listed = tmt("runs", "run", "--json").json
    assert (last["step"], last["epoch"]) == (listed["step"], listed["epochs"]) == said[-1]


@pytest.mark.slow
def test_resume_needs_no_other_option_and_remembers_the_end_that_was_set_last(
    own_run: Path, data: str, tmt: Tmt, capsys: pytest.CaptureFixture[str]
) -> None:
    finished = tmt("train", "--resume", str(own_run))
    assert finished.code == 0
    step = tmt("runs", str(own_run), "--json").json["step"]
    assert tmt("train", "--resume", str(own_run), "--steps", str(step + 3)).code == 0
    listed = tmt("runs", str(own_run), "--json").json
    assert (listed["step"], listed["steps"], listed["state"]) == (step + 3, step + 3, "finished")
    before = (own_run / "model.safetensors").read_bytes()
    outcome = tmt("train", "--resume", str(own_run))
    assert f"tmt: continuing {own_run} from step {step + 3}\n" in outcome.err
    assert (own_run / "model.safetensors").read_bytes() == before
    for extra in (
        ["--data", data],
        ["--run-dir", "x"],
        ["--overwrite"],
        ["--from", str(own_run)],
        ["--check"],
        ["a.toml"],
    ):
        problem = f"--resume: continues {own_run} as it was started; give --steps, --epochs and --set alone"
        assert tmt("train", "--resume", str(own_run), *extra).mistake == problem
    assert tmt("train", "--resume", "none").err.startswith("tmt: error: none: not a run directory")


def test_a_run_that_was_begun_in_python_with_a_relative_path_is_resumed(tmt: Tmt) -> None:
    write_corpus(Path("pairs"))
    config = load_config(None, ["data.corpus=pairs", *settings(training__steps="1")[1::2]])
    list(open_training(config, "python").train())
    outcome = tmt("train", "--resume", "python", "--steps", "2")
    assert outcome.code == 0, outcome.err
    assert "tmt: continuing python from step 1\n" in outcome.err


def test_overwrite_starts_anew_and_keeps_what_is_not_the_runs(own_run: Path, data: str, tmt: Tmt) -> None:
    (own_run / "notes.txt").write_text("mine")
    changed = settings(model__feed_forward_width="17")
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), "--overwrite", *changed)
    assert outcome.code == 0
    assert "continuing" not in outcome.err
    assert (own_run / "notes.txt").read_text() == "mine"
    assert "feed_forward_width = 17" in (own_run / "config.toml").read_text()
    assert [line["step"] for line in metrics("run")] == [2, 3, 4, 6, 6]


def test_check_writes_nothing_and_learns_a_batch_by_heart(data: str, tmt: Tmt, workplace: Path) -> None:
    wider = settings(model__width="64", model__feed_forward_width="64", training__batch_tokens="64")
    outcome = tmt("train", "--check", "--data", data, *wider)
    assert outcome.code == 0
    assert contents(workplace) == {}
    assert re.fullmatch(r"learning    one batch of \d+ pairs overfitted in \d+ steps", outcome.lines[-1])
    for name in ("device", "corpus", "vocabulary", "batches", "parameters", "shapes", "fits", "time"):
        assert re.search(rf"^{name} ", outcome.out, re.MULTILINE)


@pytest.mark.slow
def test_check_says_when_a_batch_cannot_be_learned(data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.training.sanity_check.MOST_STEPS", 10)
    outcome = tmt("train", "--check", "--data", data, *settings())
    assert outcome.code == 3
    assert re.fullmatch(
        r"tmt: error: --check: after 10 steps only \d+\.\d % of one batch are right; "
        "try a larger model.width",
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
    assert " 100 % " in screen[screen.rindex("step 6 ") :]
    assert "[progress" not in screen
    assert "BLEU" in screen
    assert "finished at step 6" in screen
    assert "Traceback" not in screen


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def log_of(run: Path) -> list[str]:
    """The lines of a run's log without their times."""
    lines = (run / "train.log").read_text("utf-8").splitlines()
    assert all(re.match(rf"{TIME} ", line) for line in lines)
    return [line[len("2000-01-01 00:00:00 ") :] for line in lines]


@pytest.mark.slow
def test_the_log_holds_what_was_said_start_after_start(data: str, tmt: Tmt) -> None:
    said: list[str] = []
    for steps in ("3", "6"):
        outcome = tmt("train", "--data", data, "--run-dir", "new", *settings(training__steps=steps))
        said += [line.removeprefix("tmt: ") for line in outcome.err.splitlines()]
    assert log_of(Path("new")) == said
    assert "continuing new from step 3" in said
    tmt("train", "--data", data, "--run-dir", "new", "--overwrite", *settings(training__steps="1"))
    assert not any("step 3" in line for line in log_of(Path("new")))


@pytest.mark.slow
def test_the_log_holds_the_error_that_ended_training(data: str, tmt: Tmt) -> None:
    wild = settings(schedule__factor="1000", schedule__warmup="1", model__norm="none")
    error = tmt("train", "--data", data, "--run-dir", "new", *wild).err.splitlines()[-1]
    assert log_of(Path("new"))[-1] == error.removeprefix("tmt: ")


@pytest.mark.slow
def test_the_log_is_not_written_through_a_link(own_run: Path, data: str, tmt: Tmt) -> None:
    Path("mine").write_text("mine")
    (own_run / "train.log").unlink()
    (own_run / "train.log").symlink_to(Path("mine").absolute())
    outcome = tmt("train", "--data", data, "--run-dir", str(own_run), *settings(training__steps="9"))
    assert outcome.code == 3
    assert outcome.err.startswith("tmt: error: run/train.log: cannot be written (")
    assert Path("mine").read_text() == "mine"


@pytest.mark.slow
def test_training_goes_on_when_nobody_reads_what_it_says(data: str) -> None:
    arguments = shlex.join([*PROGRAM, "train", "--data", data, "--run-dir", "new", *settings()])
    ended = subprocess.run(
        ["bash", "-c", f"{arguments} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.count("\n"), ended.stderr) == (141, 1, "")
    log = log_of(Path("new"))
    assert any(line.startswith("finished at step 6") for line in log)
    assert Path("new/model.safetensors").exists()


class Deaf(io.StringIO):
    """A stream that nobody reads."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_where_stderr_cannot_be_written_the_log_still_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Deaf())
    log = TrainLog(Run(tmp_path), is_main=True)
    log.write("one", "two\x1b[31m")
    assert [line.split(" ", 2)[2] for line in (tmp_path / "train.log").read_text().splitlines()] == ["one", "two␛[31m"]


def test_of_several_processes_the_first_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TrainLog(Run(tmp_path), is_main=False).write("one")
    assert capsys.readouterr().err == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_short_options_are_keys_of_the_configuration(data: str, tmt: Tmt) -> None:
    options = ("--epochs", "2", "--learning-rate", "0.003")
    outcome = tmt("train", "--data", data, "--run-dir", "new", *settings(), *options)
    assert outcome.code == 0
    assert "all epochs are done" in outcome.err
    assert re.search(r"^tmt: step 2  epoch \d/2  loss", outcome.err, re.MULTILINE)
    written = Path("new/config.toml").read_text()
    assert "\nepochs = 2\n" in written
    assert "\nlearning_rate = 0.003\n" in written
    Path("by_epochs.toml").write_text("[training]\nepochs = 2\n")
    assert tmt("train", "by_epochs.toml", "--data", data, "--run-dir", "steps", *settings(), "--steps", "1").code == 0
    assert "\nepochs = 0\n" in Path("steps/config.toml").read_text()
    assert metrics("steps")[-1]["step"] == 1
