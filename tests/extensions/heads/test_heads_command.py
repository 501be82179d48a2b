"""`tmt heads`, and `tmt attend --without`."""

import re
from collections.abc import Callable
from pathlib import Path

from support.command_line import PAIRS, Tmt

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
    options = ("--data", data, "--split", "test", "--sentences", "3", "--quiet")
    outcome = on_run("heads", *options, "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert found["sentences"] == 3
    assert [head["head"] for head in found["heads"]] == HEADS


def test_unknown_split(data: str, on_run: Tmt) -> None:
    assert on_run("heads", "--data", data, "--split", "dev").mistake.startswith("--split: 'dev' is unknown")


def test_skips_long_pairs(on_run: Tmt) -> None:
    for name, short in (("long", ""), ("mixed", "Der Hund.")):
        for language in ("de", "en"):
            Path(f"{name}.{language}").write_text(f"{'Hund ' * 99}\n{short}\n" * 3, "utf-8")
    command = ("heads", "--split", "train", "--data")
    outcome = on_run(*command, "long.de,long.en", "--quiet")
    message = "--split train: no pair fits the model's 96 tokens; give another"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")
    outcome = on_run(*command, "mixed.de,mixed.en")
    assert outcome.code == 0
    assert re.search(r"^tmt: measuring on \d sentences of", outcome.err, re.MULTILINE)


def test_recurrent_model(recurrent: Callable[[str], str], data: str, tmt: Tmt) -> None:
    outcome = tmt("heads", "--data", data, "--model", recurrent("dot"), "--quiet", "--sentences", "3")
    assert outcome.code == 0
    assert any(line.startswith("cross.1.1 ") for line in outcome.lines)


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
