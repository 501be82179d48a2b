"""`tmt heads`, and `tmt attend --without`."""

from collections.abc import Callable
from pathlib import Path

import pytest
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
    found = on_run("heads", "--data", data, "--split", "test", "--sentences", "3", "--quiet", "--json")
    assert (found.err, found.json["sentences"]) == ("", 3)
    assert [head["head"] for head in found.json["heads"]] == HEADS


@pytest.mark.parametrize("score", ["dot", "none"])
def test_recurrent_models_have_one_head_or_none(
    score: str, recurrent: Callable[[str], str], data: str, tmt: Tmt
) -> None:
    outcome = tmt("heads", "--data", data, "--model", recurrent(score), "--quiet", "--sentences", "3")
    if score == "none":
        assert outcome.mistake.endswith(": this model has no attention to show; choose a model that has")
    assert any(line.startswith("cross.1.1 ") for line in outcome.lines) == (score == "dot")


def test_skips_long_pairs_and_pairs_with_an_empty_side(data: str, on_run: Tmt) -> None:
    for name, source, target in (("long", "", ""), ("half", "Der Hund.", ""), ("mixed", "Der Hund.", "The dog.")):
        for language, short in (("de", source), ("en", target)):
            Path(f"{name}.{language}").write_text(f"{'Hund ' * 99}\n{short}\n" * 3, "utf-8")
    command = ("heads", "--split", "train", "--data")
    for files in ("long.de,long.en", "half.de,half.en"):
        mistake = on_run(*command, files).mistake
        assert mistake == "--split train: no pair fits the model's 96 tokens; give another"
    assert "\ntmt: measuring on 3 sentences of" in f"\n{on_run(*command, 'mixed.de,mixed.en').err}"
    assert on_run("heads", "--data", data, "--split", "dev").mistake.startswith("--split: 'dev' is unknown")


def test_without_shows_both_translations_or_the_given_one(on_run: Tmt) -> None:
    heads = ["encoder.1.1", "cross.1.2", "cross.1.1"]
    off = ("attend", SOURCE, "--without", ",".join(heads[:2]), "--without", heads[2])
    usual, found = on_run("attend", SOURCE, "--json").json["target"], on_run(*off, "--json").json
    title = f"without {', '.join(heads)}:"
    own, usual_line = (escape_controls(text) for text in (found["target"], usual))
    assert on_run(*off).lines[:2] == [f"{title} {own}", f"{'as usual:':<{len(title)}} {usual_line}"]
    assert (found["without"], found["usual"]) == (heads, usual)
    given = ("attend", SOURCE, "--target", TARGET, "--without", heads[0])
    masked = on_run(*given, "--json").json
    assert (masked["without"], masked["usual"]) == (heads[:1], None)
    assert [row is None for row in masked["stacks"]["encoder"]["weights"][0]] == [True, False]
    assert on_run(*given).lines[0] == "without encoder.1.1: the given translation"
    mistake = on_run("attend", SOURCE, "--without", "cross.9.1").mistake
    assert mistake.startswith("--without: the model has no head cross.9.1; it has ")
