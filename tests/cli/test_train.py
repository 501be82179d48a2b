import errno
import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import PROGRAM, OnTerminal, Outcome, Tmt, settings

from transformer_mt.cli.train import new_config
from transformer_mt.cli.training_display import TrainLog
from transformer_mt.config.sections import Config
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.runs.directory import Run

Train = Callable[..., Outcome]


@pytest.fixture
def train(data: str, tmt: Tmt) -> Train:
    """Return a function that trains the run `new` on the shared corpus with these options and settings."""
    return lambda *options, **changes: tmt("train", "--data", data, "--run-dir", "new", *settings(**changes), *options)


def metrics(run: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text("utf-8").splitlines()]


def test_log_on_stderr_result_on_stdout(train: Train) -> None:
    outcome = train()
    assert outcome.code == 0
    assert re.fullmatch(r"new: validation loss \d+\.\d{4} at step [36]\n", outcome.out)
    assert all(line.startswith("tmt: ") for line in outcome.err.splitlines())
    steps = re.findall(r"^tmt: step (\d)/6  epoch \d+  loss \d+\.\d+  rate ", outcome.err, re.MULTILINE)
    validated = re.findall(r"^tmt: step (\d)  validation loss \d", outcome.err, re.MULTILINE)
    assert (steps, validated) == (["2", "4", "6"], ["3", "6"])
    assert "tmt: finished at step 6: all steps are done; best validation at step" in outcome.err
    assert 'tmt: try: tmt translate --model new "…" and tmt attend --model new' in outcome.err


def test_run_is_named_after_its_configuration(data: str, tmt: Tmt) -> None:
    assert tmt("train", "laboratory/rotary", "--data", data, *settings(training__steps="1")).code == 0
    assert Run(Path("runs/rotary")).config().model.attention.position == "rotary"  # type: ignore[union-attr]


def test_few_own_pairs_have_defaults_of_their_own(
    data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def chosen(config: str | None, source: str | None, *overrides: str) -> tuple[float, int]:
        found = new_config(config and Path(config), source, [*overrides], init_from=None, vocabulary=None)
        return found.model.dropout, found.training.steps

    usual = Config().model.dropout, Config().training.steps
    for given, expected, said in (
        ([], (0.2, 3000), "model.dropout=0.2, training.steps=3000"),
        (["model.dropout = 0.1"], (0.1, 3000), "training.steps=3000"),
        (["training.steps=5", "training.epochs=0"], (0.2, 5), "model.dropout=0.2"),
        (["training.epochs=5"], (0.2, usual[1]), "model.dropout=0.2"),
        (["model.dropout=0.1", "training.steps=5"], (0.1, 5), ""),
    ):
        assert chosen(None, data, *given) == expected
        assert capsys.readouterr().err == (f"tmt: defaults for up to 20,000 pairs: {said}\n" if said else "")
    assert [chosen("multi30k", data), chosen(None, None)] == [(0.25, 5600), usual]
    assert chosen(None, "builtin", "data.builtin.train=500") == usual
    pairs = len(Corpus.from_file(data).splits["train"])
    for most, expected in ((pairs, (0.2, 3000)), (pairs - 1, usual)):
        monkeypatch.setattr("transformer_mt.config.fine_tuning.FEW_OWN_PAIRS", most)
        assert chosen(None, data) == expected


def test_epoch_numbers_agree(train: Train, tmt: Tmt) -> None:
    err = train(training__epochs="3", training__log_every="700", training__validate_every="700").err
    said = [(int(step), int(epoch)) for step, epoch in re.findall(r"^tmt: step (\d+)  epoch (\d+)/3", err, re.M)]
    measured = [(line["kind"], (line["step"], line["epoch"])) for line in metrics("new")]
    assert said == [place for kind, place in measured if kind == "training"]
    assert {epoch for _, epoch in said} == {1, 2, 3}
    listed = tmt("runs", "new", "--json").json
    assert (listed["step"], listed["epochs"]) == said[-1]
    assert ("validation", said[-1]) in measured


@pytest.mark.slow
def test_resume_remembers_the_last_end(own_run: Path, tmt: Tmt) -> None:
    resume = ("train", "--resume", str(own_run))
    assert tmt(*resume).code == 0
    assert tmt(*resume, "--steps", "9").code == 0
    listed = tmt("runs", str(own_run), "--json").json
    assert (listed["step"], listed["steps"], listed["state"]) == (9, 9, "finished")
    before = (own_run / "model.safetensors").read_bytes()
    assert f"tmt: continuing {own_run} from step 9\n" in tmt(*resume).err
    assert (own_run / "model.safetensors").read_bytes() == before


@pytest.mark.slow
def test_progress_on_a_terminal(data: str, terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, screen = terminal("train", "--data", data, "--run-dir", "new", *settings())
    assert code == 0
    assert "\x1b[" in screen  # the cursor moves
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8])[0-9;]*m", screen)  # but there are no colours
    assert " 100 % " in screen[screen.rindex("step 6 ") :]
    assert "finished at step 6" in screen


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def log_of(run: Path) -> list[str]:
    """The lines of a run's log without timestamps."""
    lines = (run / "train.log").read_text("utf-8").splitlines()
    assert all(re.match(rf"{TIME} ", line) for line in lines)
    return [line[len("2000-01-01 00:00:00 ") :] for line in lines]


@pytest.mark.slow
def test_log_holds_all_starts(train: Train) -> None:
    said: list[str] = []
    for steps in ("3", "6"):
        _, *lines = train(training__steps=steps).err.splitlines()  # the first is about the configuration
        said += [line.removeprefix("tmt: ") for line in lines]
    assert log_of(Path("new")) == said
    assert "continuing new from step 3" in said
    train("--overwrite", training__steps="1")
    assert not any("step 3" in line for line in log_of(Path("new")))


@pytest.mark.slow
def test_log_holds_the_final_error(train: Train) -> None:
    error = train(schedule__factor="1000", schedule__warmup="1", model__norm="none").err.splitlines()[-1]
    assert log_of(Path("new"))[-1] == error.removeprefix("tmt: ")


@pytest.mark.slow
def test_training_survives_a_broken_pipe(data: str) -> None:
    arguments = shlex.join([*PROGRAM, "train", "--data", data, "--run-dir", "new", *settings()])
    shell = ["bash", "-c", f"{arguments} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"]
    ended = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.count("\n"), ended.stderr) == (141, 1, "")
    assert any(line.startswith("finished at step 6") for line in log_of(Path("new")))
    assert Path("new/model.safetensors").exists()


class Deaf(io.StringIO):
    """A stream with no reader."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_log_is_written_without_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Deaf())
    TrainLog(Run(tmp_path), is_main=True).write("one", "two\x1b[31m")
    assert log_of(tmp_path) == ["one", "two␛[31m"]


@pytest.mark.slow
def test_options_set_configuration_keys(train: Train) -> None:
    outcome = train("--epochs", "2", "--learning-rate", "0.003")
    assert "all epochs are done" in outcome.err
    config = load_config("new/config.toml")
    assert (config.training.epochs, config.schedule.learning_rate) == (2, 0.003)
    Path("by_epochs.toml").write_text("[training]\nepochs = 2\n")
    assert train("by_epochs.toml", "--overwrite", "--steps", "1").code == 0
    assert load_config("new/config.toml").training.epochs == 0
    assert metrics("new")[-1]["step"] == 1
