"""`tmt heads`, runs without some heads, and `tmt attend --without`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.command_line import PAIRS, SIZES, Tmt

from transformer_mt.cli.heads import parse_amount
from transformer_mt.errors import InputError
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import escape_controls

SOURCE, TARGET = PAIRS[0]
TRANSFORMER_KEYS = {"model.feed_forward_width", "model.attention.heads"}
HEADS = [f"{stack}.1.{head}" for stack in ("encoder", "decoder", "cross") for head in (1, 2)]


def test_the_table_names_every_head_and_what_it_was_measured_on(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt("heads", "--data", data, "--model", trained)
    assert outcome.code == 0, outcome.err
    assert "tmt: measuring on 15 sentences of " in outcome.err
    assert outcome.err.endswith(", split validation\n")
    assert outcome.lines[0].startswith("15 sentences, loss ")
    assert all(any(line.startswith(f"{head} ") for line in outcome.lines) for head in HEADS)
    assert max(map(len, outcome.lines)) <= 80


def test_json_and_npz_have_the_same_numbers(trained: str, data: str, tmt: Tmt) -> None:
    options = ("--data", data, "--split", "test", "--sentences", "3", "--bleu", "--quiet")
    outcome = tmt("heads", "--model", trained, *options, "--json", "--npz", "heads.npz")
    assert outcome.code == 0, outcome.err
    found, arrays = json.loads(outcome.out), np.load("heads.npz")
    assert found["sentences"] == 3
    assert [head["head"] for head in found["heads"]] == arrays["heads.head"].tolist() == HEADS
    assert [head["loss"]["value"] for head in found["heads"]] == arrays["heads.loss.value"].tolist()
    assert all(head["bleu"] is not None for head in found["heads"])
    assert found["relations"] == []


def test_faithful_shows_how_far_each_method_agrees_with_erasure(trained: str, data: str, tmt: Tmt) -> None:
    options = ("heads", "--data", data, "--model", trained, "--faithful", "--sentences", "2", "--quiet")
    shown, plain = tmt(*options), tmt(*options, "--json", "--npz", "faithful.npz")
    assert (shown.code, plain.code) == (0, 0), shown.err + plain.err
    assert shown.lines[0].startswith("Agreement with erasure in 2 sentences")
    names = ["weights", "values", "gradient", "shuffled"]
    assert all(any(line.startswith(f"{name} ") for line in shown.lines) for name in names)
    found = json.loads(plain.out)["agreements"]
    assert [row["method"] for row in found] == np.load("faithful.npz")["agreements.method"].tolist()
    assert set(names) <= {row["method"] for row in found}


@pytest.mark.slow
def test_a_pruned_run_is_written_and_every_command_takes_it(trained: str, data: str, tmt: Tmt) -> None:
    outcome = tmt(
        "heads",
        "--data",
        data,
        "--model",
        trained,
        "--prune",
        "50%",
        "--run-dir",
        "pruned",
        "--quiet",
        "--npz",
        "heads.npz",
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[0] == "pruned: a run without 3 of 6 heads"
    config = Run(Path("pruned")).config()
    left_out = outcome.lines[1].removeprefix("off: ").split(", ")
    assert list(config.model.attention.head_mask) == left_out
    assert config.init_from.run == str(Path(trained).resolve())
    assert np.load("heads.npz")["pruned"].tolist() == left_out
    without = tmt("attend", "--model", trained, SOURCE, "--without", ",".join(left_out), "--json")
    translated = tmt("translate", "--model", "pruned", SOURCE).out
    assert translated == f"{escape_controls(json.loads(without.out)['target'])}\n"
    for command in (
        ("translate", SOURCE),
        ("evaluate", "--data", data),
        ("attend", SOURCE, "--stack", "decoder", "--head", "all"),
        ("heads", "--data", data, "--sentences", "2"),
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
        (("--prune", "1", "--run-dir", "x", "--importance", "exat"), "--importance: there is no 'exat'; did you mean"),
        (("--prune", "6", "--run-dir", "x"), "--prune: 6 of 6 heads cannot be removed"),
        (("--prune", "0", "--run-dir", "x"), "--prune: 0 of 6 heads cannot be removed"),
        (
            ("--prune", "few", "--run-dir", "x"),
            "--prune: 'few' is no number of heads; give one",
        ),
        (("--prune", "1", "--run-dir", "."), ".: exists; choose another directory"),
        (("--split", "dev"), "--split: there is no 'dev'"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    options: tuple[str, ...], message: str, trained: str, data: str, tmt: Tmt
) -> None:
    Path("something").touch()
    outcome = tmt("heads", "--data", data, "--model", trained, "--quiet", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"tmt: error: {message}")
    assert not Path("x").exists()


def test_pairs_that_are_too_long_are_left_out_and_some_must_be_left(trained: str, tmt: Tmt) -> None:
    for name, short in (("long", ""), ("mixed", "Der Hund.")):
        for language in ("de", "en"):
            Path(f"{name}.{language}").write_text(f"{'Hund ' * 99}\n{short}\n" * 3, "utf-8")
    command = ("heads", "--model", trained, "--split", "train", "--data")
    for faithful in ((), ("--faithful",)):
        outcome = tmt(*command, "long.de,long.en", "--quiet", *faithful)
        message = "--split train: no pair is within the model's 96 tokens; give another"
        assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")
    outcome = tmt(*command, "mixed.de,mixed.en")
    assert outcome.code == 0
    assert re.search(r"^tmt: measuring on \d sentences of", outcome.err, re.MULTILINE)


@pytest.mark.parametrize(("score", "code"), [("dot", 0), ("none", 2)])
def test_a_recurrent_model_has_one_head_or_none(score: str, code: int, data: str, tmt: Tmt) -> None:
    sizes = [f"{key}={value}" for key, value in SIZES.items() if key not in TRANSFORMER_KEYS]
    chosen = ["model.kind=recurrent", f"model.score={score}", *sizes]
    trained = tmt("train", "--data", data, "--run-dir", "gru", *(part for one in chosen for part in ("--set", one)))
    assert trained.code == 0, trained.err
    outcome = tmt("heads", "--data", data, "--model", "gru", "--sentences", "3", "--quiet")
    assert outcome.code == code
    if code:
        assert outcome.err == "tmt: error: gru: this model has no attention to show; choose a model that has\n"
        return
    assert any(line.startswith("cross.1.1 ") for line in outcome.lines)
    outcome = tmt("heads", "--data", data, "--model", "gru", "--prune", "1", "--run-dir", "x", "--quiet")
    assert outcome.err == "tmt: error: --prune: the heads of a recurrent model cannot be masked; give another run\n"


@pytest.mark.parametrize(
    ("text", "count"), [("12", 12), ("0.33", 12), (".5", 18), ("33%", 12), ("2.5%", 1), ("100%", 36), ("0%", 0)]
)
def test_heads_are_counted_or_a_share(text: str, count: int) -> None:
    assert parse_amount(text, heads=36) == count


@pytest.mark.parametrize("text", ["", "-1", "1.5", "%", "1/3", "1e3", "0.3.3", "٣"])
def test_anything_else_is_no_number_of_heads(text: str) -> None:
    with pytest.raises(InputError, match=r"^--prune: .* is no number of heads; "):
        parse_amount(text, heads=36)


def test_without_a_head_both_translations_are_shown(trained: str, tmt: Tmt) -> None:
    attend = ("attend", "--model", trained, SOURCE)
    outcome = tmt(*attend, "--without", "encoder.1.1,cross.1.2", "--without", "cross.1.1")
    assert outcome.code == 0, outcome.err
    usual = json.loads(tmt(*attend, "--json").out)["target"]
    found = json.loads(tmt(*attend, "--without", "encoder.1.1,cross.1.2,cross.1.1", "--json").out)
    title = "without encoder.1.1, cross.1.2, cross.1.1:"
    own, usual_line = (escape_controls(text) for text in (found["target"], usual))
    assert outcome.lines[:2] == [f"{title} {own}", f"{'as usual:':<{len(title)}} {usual_line}"]
    assert (found["without"], found["usual"]) == (["encoder.1.1", "cross.1.2", "cross.1.1"], usual)


def test_a_given_translation_is_looked_at_without_a_head(trained: str, tmt: Tmt) -> None:
    attend = ("attend", "--model", trained, SOURCE, "--target", TARGET)
    whole = json.loads(tmt(*attend, "--json").out)
    off = json.loads(tmt(*attend, "--without", "encoder.1.1", "--json").out)
    assert (off["without"], off["usual"]) == (["encoder.1.1"], None)
    [[_, *whole_others], *_] = whole["stacks"]["encoder"]["weights"]
    [[masked, *others], *_] = off["stacks"]["encoder"]["weights"]
    assert (masked, others) == (None, whole_others)
    assert whole["stacks"]["cross"] != off["stacks"]["cross"]
    assert tmt(*attend, "--without", "encoder.1.1").lines[0] == "without encoder.1.1: the given translation"


def test_a_head_that_cannot_be_off_is_named(trained: str, tmt: Tmt) -> None:
    for text, problem in (("cross.9.1", "the model has no head cross.9.1; it has "), ("cross", "'cross' is no head; ")):
        outcome = tmt("attend", "--model", trained, SOURCE, "--without", text)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"tmt: error: --without: {problem}")
