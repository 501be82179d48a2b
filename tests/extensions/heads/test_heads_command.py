"""`tmt heads`, pruned runs, and `tmt attend --without`."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.errors import InputError
from transformer_mt.extensions.heads.heads_command import parse_amount
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import escape_controls

SOURCE, TARGET = PAIRS[0]
HEADS = [f"{stack}.1.{head}" for stack in ("encoder", "decoder", "cross") for head in (1, 2)]


def test_table_names_every_head(data: str, on_run: Tmt) -> None:
    outcome = on_run("heads", "--data", data)
    assert outcome.code == 0, outcome.err
    assert "tmt: measuring on 15 sentences of " in outcome.err
    assert outcome.err.endswith(", split validation\n")
    assert outcome.lines[0].startswith("15 sentences, loss ")
    assert all(any(line.startswith(f"{head} ") for line in outcome.lines) for head in HEADS)
    assert max(map(len, outcome.lines)) <= 80


def test_json(data: str, on_run: Tmt) -> None:
    options = ("--data", data, "--split", "test", "--sentences", "3", "--bleu", "--quiet")
    outcome = on_run("heads", *options, "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert found["sentences"] == 3
    assert [head["head"] for head in found["heads"]] == HEADS
    assert all(head["bleu"] is not None for head in found["heads"])
    assert found["relations"] == []


def test_faithful(data: str, on_run: Tmt) -> None:
    options = ("heads", "--data", data, "--faithful", "--sentences", "2", "--quiet")
    shown, plain = on_run(*options), on_run(*options, "--json")
    assert (shown.code, plain.code) == (0, 0), shown.err + plain.err
    assert shown.lines[0].startswith("Agreement with erasure in 2 sentences")
    names = ["weights", "gradient", "shuffled"]
    assert all(any(line.startswith(f"{name} ") for line in shown.lines) for name in names)
    found = plain.json["agreements"]
    assert set(names) <= {row["method"] for row in found}


@pytest.mark.slow
def test_pruned_run_works_in_every_command(trained: str, data: str, tmt: Tmt, on_run: Tmt) -> None:
    options = ("--prune", "50%", "--run-dir", "pruned", "--quiet")
    title, names = on_run("heads", "--data", data, *options).lines[:2]
    assert title == "pruned: a run without 3 of 6 heads"
    left_out = names.removeprefix("off: ").split(", ")
    config = Run(Path("pruned")).config()
    assert list(config.model.attention.head_mask) == left_out
    assert config.init_from.run == str(Path(trained).resolve())
    assert Path("pruned/doubt.json").read_bytes() == (Path(trained) / "doubt.json").read_bytes()
    without = on_run("attend", SOURCE, "--without", ",".join(left_out), "--json").json["target"]
    assert tmt("translate", "--model", "pruned", SOURCE).lines == [escape_controls(without)]
    for command in (
        ("evaluate", "--data", data),
        ("attend", SOURCE, "--stack", "decoder", "--head", "all"),
        ("heads", "--data", data, "--prune", "1", "--run-dir", "again"),
    ):
        assert tmt(*command, "--model", "pruned").code == 0, command
    assert set(left_out) < set(Run(Path("again")).config().model.attention.head_mask)
    assert tmt("train", "--from", "pruned", "--data", data, "--steps", "1", "--run-dir", "tuned").code == 0
    assert tmt("translate", "--model", "tuned", SOURCE).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--prune", "1"), "--prune, --run-dir: "),
        (("--run-dir", "x"), "--prune, --run-dir: "),
        (("--prune", "1", "--run-dir", "x", "--importance", "exat"), "--importance: 'exat' is unknown; did you mean"),
        (("--prune", "6", "--run-dir", "x"), "--prune: 6 of 6 heads cannot be removed"),
        (("--prune", "0", "--run-dir", "x"), "--prune: 0 of 6 heads cannot be removed"),
        (
            ("--prune", "few", "--run-dir", "x"),
            "--prune: 'few' is not a number of heads; give a",
        ),
        (("--prune", "1", "--run-dir", "."), ".: exists; choose another directory"),
        (("--split", "dev"), "--split: 'dev' is unknown"),
    ],
)
def test_usage_errors(options: tuple[str, ...], message: str, data: str, on_run: Tmt) -> None:
    Path("something").touch()
    assert on_run("heads", "--data", data, "--quiet", *options).mistake.startswith(message)
    assert not Path("x").exists()


def test_skips_long_pairs(on_run: Tmt) -> None:
    for name, short in (("long", ""), ("mixed", "Der Hund.")):
        for language in ("de", "en"):
            Path(f"{name}.{language}").write_text(f"{'Hund ' * 99}\n{short}\n" * 3, "utf-8")
    command = ("heads", "--split", "train", "--data")
    for faithful in ((), ("--faithful",)):
        outcome = on_run(*command, "long.de,long.en", "--quiet", *faithful)
        message = "--split train: no pair fits the model's 96 tokens; give another"
        assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")
    outcome = on_run(*command, "mixed.de,mixed.en")
    assert outcome.code == 0
    assert re.search(r"^tmt: measuring on \d sentences of", outcome.err, re.MULTILINE)


def test_recurrent_head_cannot_be_pruned(recurrent: Callable[[str], str], data: str, tmt: Tmt) -> None:
    heads = ("heads", "--data", data, "--model", recurrent("dot"), "--quiet")
    outcome = tmt(*heads, "--sentences", "3")
    assert outcome.code == 0
    assert any(line.startswith("cross.1.1 ") for line in outcome.lines)
    problem = "--prune: the heads of a recurrent model cannot be masked; give another run"
    assert tmt(*heads, "--prune", "1", "--run-dir", "x").mistake == problem


@pytest.mark.parametrize(
    ("text", "count"), [("12", 12), ("0.33", 12), (".5", 18), ("33%", 12), ("2.5%", 1), ("100%", 36), ("0%", 0)]
)
def test_parses_counts_and_shares(text: str, count: int) -> None:
    assert parse_amount(text, heads=36) == count


@pytest.mark.parametrize("text", ["", "-1", "1.5", "%", "1/3", "1e3", "0.3.3", "٣"])
def test_rejects_other_amounts(text: str) -> None:
    with pytest.raises(InputError, match=r"^--prune: .* is not a number of heads; "):
        parse_amount(text, heads=36)


def test_without_prints_both_translations(on_run: Tmt) -> None:
    attend = ("attend", SOURCE)
    outcome = on_run(*attend, "--without", "encoder.1.1,cross.1.2", "--without", "cross.1.1")
    assert outcome.code == 0, outcome.err
    usual = on_run(*attend, "--json").json["target"]
    found = on_run(*attend, "--without", "encoder.1.1,cross.1.2,cross.1.1", "--json").json
    title = "without encoder.1.1, cross.1.2, cross.1.1:"
    own, usual_line = (escape_controls(text) for text in (found["target"], usual))
    assert outcome.lines[:2] == [f"{title} {own}", f"{'as usual:':<{len(title)}} {usual_line}"]
    assert (found["without"], found["usual"]) == (["encoder.1.1", "cross.1.2", "cross.1.1"], usual)


def test_without_and_target(on_run: Tmt) -> None:
    attend = ("attend", SOURCE, "--target", TARGET)
    whole = on_run(*attend, "--json").json
    off = on_run(*attend, "--without", "encoder.1.1", "--json").json
    assert (off["without"], off["usual"]) == (["encoder.1.1"], None)
    [[_, *whole_others], *_] = whole["stacks"]["encoder"]["weights"]
    [[masked, *others], *_] = off["stacks"]["encoder"]["weights"]
    assert (masked, others) == (None, whole_others)
    assert whole["stacks"]["cross"] != off["stacks"]["cross"]
    assert on_run(*attend, "--without", "encoder.1.1").lines[0] == "without encoder.1.1: the given translation"


def test_without_names_unknown_heads(on_run: Tmt) -> None:
    for text, problem in (
        ("cross.9.1", "the model has no head cross.9.1; it has "),
        ("cross", "'cross' is not a head; "),
    ):
        assert on_run("attend", SOURCE, "--without", text).mistake.startswith(f"--without: {problem}")
