import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file
from support.command_line import Tmt, settings

from transformer_mt.config.sections import CosineConfig, MixedConfig
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


def test_starts_from_parent_weights(trained: str, own: str, tmt: Tmt) -> None:
    outcome = tmt("train", "--from", trained, "--data", own, "--steps", "2", "--learning-rate", "1e-9")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("runs/own: validation loss ")
    assert f"tmt: starting from the weights and vocabulary of {Path(trained).resolve()}\n" in outcome.err
    assert "tmt: characters missing from the vocabulary become bytes: " in outcome.err
    old, new = (load_file(Path(run) / "model.safetensors") for run in (trained, "runs/own"))
    assert all((new[name] - tensor).abs().max() < 1e-6 for name, tensor in old.items())
    assert Path("runs/own/tokenizer.model").read_bytes() == Path(trained, "tokenizer.model").read_bytes()


@pytest.mark.parametrize("begun", ["schedule.factor=0.5", "training.epochs=1"])
def test_readme_command_works_for_every_parent(begun: str, data: str, own: str, tmt: Tmt) -> None:
    changes = [part for change in ("schedule.warmup=4", begun) for part in ("--set", change)]
    assert tmt("train", "--data", data, "--run-dir", "parent", *settings(), *changes).code == 0
    outcome = tmt("train", "--from", "parent", "--data", own, *FINE_TUNING, "--set", "model.dropout=0.3")
    assert outcome.code == 0, outcome.err
    rates = [json.loads(line).get("learning_rate") for line in Path("runs/own/metrics.jsonl").read_text().splitlines()]
    assert max(rate for rate in rates if rate) == 0.002


def test_new_schedule_keeps_no_parent_keys(data: str, own: str, tmt: Tmt) -> None:
    first = (*settings(), "--set", "schedule.name=noam", "--set", "schedule.warmup=4")
    assert tmt("train", "--data", data, "--run-dir", "parent", *first).code == 0
    command = ("train", "--from", "parent", "--data", own, "--steps", "2", "--set", "schedule.name=cosine")
    for rate in ((), ("--learning-rate", "0.002")):
        outcome = tmt(*command, *rate, "--overwrite")
        assert outcome.code == 0, outcome.err
        expected = CosineConfig(warmup=4, **({"learning_rate": 0.002} if rate else {}))
        assert load_config("runs/own/config.toml").schedule == expected


@pytest.mark.parametrize(
    ("options", "place"),
    [(("--overwrite",), "runs/own"), (("--run-dir", "runs/../runs/own"), "runs/../runs/own")],
)
def test_never_replaces_the_parent(options: tuple[str, ...], place: str, trained: str, own: str, tmt: Tmt) -> None:
    shutil.copytree(trained, "runs/own")
    before = Path("runs/own/model.safetensors").read_bytes()
    outcome = tmt("train", "--from", "runs/own", "--data", own, "--steps", "2", *options)
    assert outcome.mistake == f"--run-dir: {place} is the run to start from; give another directory"
    assert Path("runs/own/model.safetensors").read_bytes() == before


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
    changed = tmt(*command, "--only-own").mistake
    assert changed.startswith("runs/own: belongs to another configuration (data.mixture.parent.corpus is ")
    assert changed.count(" there, ") == 5  # a mixture has more keys
    assert re.search(r"; and [0-9]+ more\); choose another directory, or overwrite the run$", changed)
    assert tmt(*command, "--only-own", "--overwrite").code == 0
    assert mixed_in("runs/own") == {}


def test_overwriting_chooses_the_mixture_again(trained: str, own: str, tmt: Tmt) -> None:
    command = ("train", "--from", trained, "--data", own, "--steps", "1")
    assert tmt(*command).code == 0
    before = mixed_in("runs/own")["parent"].weight
    for path in map(Path, own.split(",")):
        path.write_text(path.read_text("utf-8") * 3, "utf-8")
    assert tmt(*command, "--overwrite").code == 0
    assert mixed_in("runs/own")["parent"].weight < before


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "RUN"), "--from: takes the configuration from RUN, but not the data; "),
        (("mine.toml", "--from", "RUN", "--data", "own.de,own.en"), "--from: takes the configuration from RUN, "),
        (("--from", "none", "--data", "own.de,own.en"), "none: not a run directory"),
        (("--only-own", "--data", "own.de,own.en"), "--only-own: belongs to --from; leave it out"),
        (("--vocabulary", "none", "--data", "own.de,own.en"), "none: not a run directory"),
        (("--vocabulary", "RUN", "--from", "RUN", "--data", "own.de,own.en"), "--vocabulary: --from also sets "),
        (("--from", "RUN", "--data", "own.de,own.en", "--set", "model.width=18"), "model.width: "),
        (("--from", "RUN", "--data", "own.de,own.en", "--set", "tokenizer.kind=bpe"), "tokenizer.kind: is unigram"),
    ],
)
def test_usage_errors(trained: str, own: str, tmt: Tmt, arguments: tuple[str, ...], message: str) -> None:
    assert tmt("train", *(argument.replace("RUN", trained) for argument in arguments)).mistake.startswith(
        f"{message.replace('RUN', trained)}"
    )
    assert not Path("runs/own").exists()


def test_run_name_must_be_utf8(trained: str, own: str, tmt: Tmt) -> None:
    shutil.copytree(trained, "run\udcff")
    assert tmt("train", "--from", "run\udcff", "--data", own).mistake.startswith(
        f"{Path.cwd()}/run⟨U+DCFF⟩: not UTF-8, "
    )
    assert not Path("runs").exists()


def test_vocabulary_without_weights(trained: str, own: str, tmt: Tmt) -> None:
    command = ("train", "--vocabulary", trained, "--data", own, *settings()[8:], "--run-dir", "new")
    outcome = tmt(*command)
    assert outcome.code == 0, outcome.err
    assert "tmt: characters missing from the vocabulary become bytes: " in outcome.err
    assert Path("new/tokenizer.model").read_bytes() == Path(trained, "tokenizer.model").read_bytes()
    assert load_config("new/config.toml").tokenizer.from_run == str(Path(trained).resolve())
    assert tmt(*command, "--steps", "7").err.count("continuing new from step 6") == 1
