"""A score and a schedule of one's own, from outside the package, as CONTRIBUTING.md shows them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt, settings

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.mark.slow
def test_the_program_of_the_page_has_its_own_parts_and_without_it_they_are_named(
    data: str, workplace: Path, tmt: Tmt
) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    Path("mine.py").write_text(found[1], "utf-8")

    def mine(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "mine.py", *arguments], check=True, capture_output=True, text=True
        ).stdout

    own = ["schedule.fall=3", "schedule.warmup=1", "schedule.learning_rate=0.25", "model.attention.score=halved"]
    sets = [part for key in ("schedule.name=falling", *own) for part in ("--set", key)]
    mine("train", "--data", data, "--run-dir", "run", *settings(), *sets)
    log = Path("run/train.log").read_text("utf-8")
    assert re.findall(r"step (\d)/6 .* rate (\S+)", log) == [("2", "2.50e-01"), ("4", "2.50e-02"), ("6", "2.50e-02")]
    assert mine("translate", "--model", "run", PAIRS[0][0]).count("\n") == 1
    assert "tenth of it in the end" in mine("config", "schedule.name")
    without = tmt("translate", "--model", "run", PAIRS[0][0])
    own = "(or import the module that registers it first)"
    assert (without.code, without.out) == (2, "")
    assert without.err.startswith("tmt: error: run/config.toml: schedule.name: there is no 'falling'; ")
    assert without.err.endswith(f"{own}\n")
    text = Path("run/config.toml").read_text("utf-8").replace('"falling"', '"constant"').replace("fall = 3", "")
    Path("own.toml").write_text(text, "utf-8")
    begun = tmt("train", "own.toml", "--run-dir", "new")
    assert begun.err == f"tmt: error: model.attention.score: there is no 'halved'; did you mean scaled_dot? {own}\n"
