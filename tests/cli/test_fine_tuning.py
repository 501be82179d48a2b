import json
import re
import shutil
from pathlib import Path

import pytest
from support.command_line import Tmt, settings

from transformer_mt.config.sections import MixedConfig
from transformer_mt.config.toml import load_config

pytestmark = pytest.mark.slow

FINE_TUNING = ("--epochs", "20", "--learning-rate", "0.002")
OWN = [("Der Ärger wächst.", "The trouble grows."), ("Der Hund bellt.", "The dog barks.")] * 8


@pytest.fixture
def own() -> str:
    """Two text files of other pairs."""
    for side, language in enumerate(("de", "en")):
        Path(f"own.{language}").write_text("".join(f"{pair[side]}\n" for pair in OWN), "utf-8")
    return "own.de,own.en"


@pytest.mark.parametrize("begun", ["schedule.factor=0.5", "training.epochs=1"])
def test_readme_command_works_for_every_parent(begun: str, data: str, own: str, tmt: Tmt) -> None:
    changes = [part for change in ("schedule.warmup=4", begun) for part in ("--set", change)]
    assert tmt("train", "--data", data, "--run-dir", "parent", *settings(), *changes).code == 0
    outcome = tmt("train", "--from", "parent", "--data", own, *FINE_TUNING, "--set", "model.dropout=0.3")
    assert outcome.code == 0, outcome.err
    rates = [json.loads(line).get("learning_rate") for line in Path("runs/own/metrics.jsonl").read_text().splitlines()]
    assert max(rate for rate in rates if rate) == 0.002


def mixed_in(run: str) -> dict[str, MixedConfig]:
    return dict(load_config(f"{run}/config.toml").data.mixture)


def test_mixes_in_the_parents_data_and_says_so(trained: str, data: str, own: str, tmt: Tmt) -> None:
    command = ("train", "--from", trained, "--data", own, "--epochs", "1")
    outcome = tmt(*command)
    assert outcome.code == 0, outcome.err
    said = f"mixing in the parent's data ({Path(data).resolve()}): "
    assert f"tmt: {said}" in outcome.err
    assert [one.corpus for one in mixed_in("runs/own").values()] == [str(Path(data).resolve())]
    assert "continuing runs/own from step" in tmt(*command[:-1], "2").err
    before = mixed_in("runs/own")["parent"].weight
    for path in map(Path, own.split(",")):  # overwriting chooses the mixture again
        path.write_text(path.read_text("utf-8") * 3, "utf-8")
    assert tmt(*command, "--overwrite").code == 0
    assert mixed_in("runs/own")["parent"].weight < before
    changed = tmt(*command, "--only-own").mistake
    assert changed.startswith("runs/own: belongs to another configuration (data.mixture.parent.corpus is ")
    assert changed.count(" there, ") == 5  # a mixture has more keys
    assert re.search(r"; and [0-9]+ more\); choose another directory, or start over with --overwrite$", changed)
    assert tmt(*command, "--only-own", "--overwrite").code == 0
    assert mixed_in("runs/own") == {}


def test_own_mixture_and_length_win_over_the_defaults(trained: str, data: str, own: str, tmt: Tmt) -> None:
    mixture = f'data.mixture.mine={{corpus="{Path(data).resolve()}", weight=0.5}}'
    outcome = tmt("train", "--from", trained, "--data", own, "--set", mixture, "--set", "training.steps=2")
    assert outcome.code == 0, outcome.err
    assert "mixing in" not in outcome.err
    assert {name: one.weight for name, one in mixed_in("runs/own").items()} == {"mine": 0.5}
    training = load_config("runs/own/config.toml").training
    assert (training.steps, training.epochs, training.validate_every) == (2, 0, 0)


def test_resuming_needs_the_mixed_data_but_not_the_parent(data: str, own: str, tmt: Tmt) -> None:
    shutil.copytree(data, "theirs")
    assert tmt("train", "--data", "theirs", "--run-dir", "parent", *settings()).code == 0
    command = ("train", "--from", "parent", "--data", own, "--steps")
    assert tmt(*command, "2").code == 0
    before = mixed_in("runs/own")
    assert [*before] == ["parent"]
    shutil.move("theirs", "elsewhere")
    assert tmt(*command, "4").mistake.startswith(f"data.mixture.parent: {Path.cwd()}/theirs")
    shutil.move("elsewhere", "theirs")
    shutil.rmtree("parent")
    outcome = tmt(*command, "4")
    assert outcome.code == 0, outcome.err
    assert "tmt: continuing runs/own from step 2\n" in outcome.err
    assert mixed_in("runs/own") == before


def test_vocabulary_without_weights(trained: str, own: str, tmt: Tmt) -> None:
    command = ("train", "--vocabulary", trained, "--data", own, *settings()[8:], "--run-dir", "new")
    outcome = tmt(*command)
    assert outcome.code == 0, outcome.err
    assert "tmt: characters missing from the vocabulary become bytes: " in outcome.err
    assert Path("new/tokenizer.model").read_bytes() == Path(trained, "tokenizer.model").read_bytes()
    assert load_config("new/config.toml").tokenizer.from_run == str(Path(trained).resolve())
    assert tmt(*command, "--steps", "7").err.count("continuing new from step 6") == 1
