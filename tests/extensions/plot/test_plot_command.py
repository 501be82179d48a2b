import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import torch
from support.command_line import Tmt

from transformer_mt.attention.positions import sinusoids
from transformer_mt.config.toml import load_config
from transformer_mt.extensions.plot.plot import read_curves
from transformer_mt.runs.directory import Run
from transformer_mt.training.schedules import build_schedule
from transformer_mt.views.serialise import to_json


def test_plots_a_run(trained: str, tmt: Tmt) -> None:
    outcome = tmt("plot", trained, "--figure", "run.svg")
    assert (outcome.code, outcome.err) == (0, "")
    assert {"loss, nats per target token", "learning rate", "BLEU on validation"} < {*outcome.lines}
    assert max(map(len, outcome.lines)) <= 100
    assert "BLEU on validation" in ET.parse("run.svg").getroot().itertext()
    (found,) = tmt("plot", trained, "--json").json["runs"]
    assert found == {"run": trained} | to_json(read_curves(Run(Path(trained))))
    assert found["bleu"] != []


def test_several_runs_have_letters(trained: str, own_run: Path, tmt: Tmt) -> None:
    assert re.search(rf"a {trained}\s+b {own_run}$", tmt("plot", trained, str(own_run)).out, re.MULTILINE)


def test_default_is_the_newest_run(own_run: Path, tmt: Tmt) -> None:
    Path("runs").mkdir()
    own_run.rename("runs/run")
    assert tmt("plot").err == "tmt: using runs/run\n"
    assert tmt("plot", "--quiet").err == ""


def test_schedules_match_training(tmt: Tmt) -> None:
    overrides = ("schedule.name=cosine", "training.steps=50", "schedule.warmup=7")
    options = [part for override in overrides for part in ("--set", override)]
    outcome = tmt("plot", "--schedule", *options, "--json", "--figure", "schedule.png")
    assert (outcome.code, outcome.err) == (0, "")
    rate = build_schedule(load_config(None, overrides))
    curve = {"name": "default", "points": [[step, rate(step)] for step in range(1, 51)]}
    assert outcome.json == {"curves": [curve]}
    assert Path("schedule.png").read_bytes().startswith(b"\x89PNG")
    outcome = tmt("plot", "--schedule", "multi30k", "iwslt14")
    assert "learning rate" in outcome.lines
    assert outcome.lines[-1].split() == ["a", "multi30k", "b", "iwslt14"]


def test_positions(tmt: Tmt) -> None:
    outcome = tmt("plot", "--positions", "--set", "model.width=12", "--json", "--figure", "p.pdf")
    rows = np.array(outcome.json["rows"])
    expected = sinusoids(len(rows), 12, torch.device("cpu"), torch.float64).numpy()
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-6)
    assert Path("p.pdf").read_bytes().startswith(b"%PDF")
    title, *lines = tmt("plot", "--positions", "--set", "model.width=12").lines
    assert title == "sinusoidal encoding: 24 positions down, 12 features across; blank -1, full 1"
    assert len(lines) == 24


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--schedule --positions", "--positions: --schedule plots something else; "),
        ("--set model.width=12", "--set: changes the configuration of --schedule or --positions; "),
        ("--positions a.toml b.toml", "--positions: takes one configuration; "),
        ("nowhere", "nowhere: not a run directory "),
    ],
)
def test_usage_errors(options: str, message: str, tmt: Tmt) -> None:
    assert tmt("plot", *options.split()).mistake.startswith(message)
