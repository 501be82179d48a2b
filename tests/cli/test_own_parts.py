"""Parts of one's own from outside the package: a score and a schedule as CONTRIBUTING.md shows them, and others."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt, settings

PAGE = Path(__file__).parents[2].joinpath("CONTRIBUTING.md").read_text("utf-8")
OF_PARTS, OF_PATCHING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OWN = " (or import the module that registers it first)"
POSITION_AND_OBJECTIVE = '''
from transformer_mt.attention.positions import POSITIONS, Alibi
from transformer_mt.cli.main import main
from transformer_mt.config.sections import CrossEntropyConfig, add_section
from transformer_mt.training.objective import OBJECTIVES, CrossEntropy


class Near(Alibi):
    """e − n/7 |j − i|."""

    formulas = Alibi.formulas | {"m": "n/7"}

    def __init__(self, place, sevenths: int):
        super().__init__(place)
        self.slopes.fill_(sevenths / 7)


class ScaledConfig(CrossEntropyConfig):
    """Cross-entropy times a number."""

    name: str = "scaled"
    scale: float = 1.0
    """The number."""


class Scaled(CrossEntropy):
    def __init__(self, config):
        super().__init__(label_smoothing=config.label_smoothing)
        self.scale = config.scale

    def loss(self, model, batch):
        return self.scale * super().loss(model, batch)


POSITIONS["near"], OBJECTIVES["scaled"] = Near, Scaled
add_section("objective", ScaledConfig)

if __name__ == "__main__":
    main()
'''


def mine(*arguments: str) -> str:
    """The output of the program of one's own."""
    command = [sys.executable, "mine.py", *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


@pytest.mark.slow
def test_the_program_of_the_page_has_its_own_parts_and_without_it_they_are_named(
    data: str, workplace: Path, tmt: Tmt
) -> None:
    Path("mine.py").write_text(OF_PARTS, "utf-8")
    own = ["schedule.fall=3", "schedule.warmup=1", "schedule.learning_rate=0.25", "model.attention.score=halved"]
    sets = [part for key in ("schedule.name=falling", *own) for part in ("--set", key)]
    mine("train", "--data", data, "--run-dir", "run", *settings(), *sets)
    log = Path("run/train.log").read_text("utf-8")
    assert re.findall(r"step (\d)/6 .* rate (\S+)", log) == [("2", "2.50e-01"), ("4", "2.50e-02"), ("6", "2.50e-02")]
    assert mine("translate", "--model", "run", PAIRS[0][0]).count("\n") == 1
    assert "tenth of it in the end" in mine("config", "schedule.name")
    without = tmt("translate", "--model", "run", PAIRS[0][0])
    assert (without.code, without.out) == (2, "")
    assert without.err.startswith("tmt: error: run/config.toml: schedule.name: there is no 'falling'; ")
    assert without.err.endswith(f"{OWN}\n")
    text = Path("run/config.toml").read_text("utf-8").replace('"falling"', '"constant"').replace("fall = 3", "")
    Path("own.toml").write_text(text, "utf-8")
    begun = tmt("train", "own.toml", "--run-dir", "new")
    assert begun.err == f"tmt: error: model.attention.score: there is no 'halved'; did you mean scaled_dot?{OWN}\n"


@pytest.mark.slow
def test_a_position_and_an_objective_of_ones_own_train_and_without_them_are_named(
    data: str, workplace: Path, tmt: Tmt
) -> None:
    Path("mine.py").write_text(POSITION_AND_OBJECTIVE, "utf-8")
    own = ["model.attention.position=near(3)", "objective.name=scaled", "objective.scale=1000.0"]
    sets = [part for key in own for part in ("--set", key)]
    mine("train", "--data", data, "--run-dir", "run", *settings(), *sets)
    log = Path("run/train.log").read_text("utf-8")
    assert min(float(loss) for loss in re.findall(r"step \d/6 .*?loss (\S+)", log)) > 1000
    assert mine("translate", "--model", "run", PAIRS[0][0]).count("\n") == 1
    shown = mine("explain", "--model", "run", PAIRS[0][0], "--stack", "encoder", "--head", "1")
    assert "m = n/7 = 0.428571\n" in shown
    assert "The number." in mine("config", "objective.scale", "--set", "objective.name=scaled")
    without = tmt("translate", "--model", "run", PAIRS[0][0])
    assert (without.code, without.out) == (2, "")
    assert without.err.startswith("tmt: error: run/config.toml: objective.name: there is no 'scaled'; ")
    assert without.err.endswith(f"{OWN}\n")
    begun = tmt("train", "--data", data, "--run-dir", "new", *settings(), *sets[:2])
    assert begun.err.startswith("tmt: error: model.attention.position: there is no 'near'; ")
    assert begun.err.endswith(f"{OWN}\n")


def test_the_program_of_the_page_brings_a_translation_back_by_patching(
    own_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    exec(compile(OF_PATCHING, "CONTRIBUTING.md", "exec"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    distances = {name: float(distance) for name, distance in lines}
    assert distances["encoder.0.feed_forward_residual"] == distances["decoder.0.cross_residual"] == 0.0
    assert distances["decoder.0.self_residual"] > 1e-4  # which has not seen the source yet
