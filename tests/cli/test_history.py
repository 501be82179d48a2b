import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.cli.history import PAUSE
from transformer_mt.runs.watched import WATCHED, Frame, add_frame

SOURCE, _ = PAIRS[0]


def frame(step: int, *, translation: str = "The dog", source: str = SOURCE, heads: int = 2) -> Frame:
    weights = [[[[0.1 * head, 1 - 0.1 * head]] * 2 for head in range(layer, layer + heads)] for layer in (1, 2)]
    return Frame(
        step, step / 16, source, translation, "dog", ["▁dog", "</s>"], ["▁Hund", "</s>"], weights, {"cross.1.1": 0.5}
    )


@pytest.fixture
def watched(own_run: Path) -> str:
    """A run that has two frames of a made-up model."""
    add_frame(own_run, frame(2))
    add_frame(own_run, frame(4, translation="The \x1b[2Jdog"))
    return str(own_run)


def test_frames_follow_each_other_and_the_legend_comes_last(watched: str, tmt: Tmt) -> None:
    lines = tmt("attend", "--model", watched, "--history").lines
    matrix = [
        "cross-attention, layer 2 of 2, mean of 2 heads",
        "      ▁Hund",
        "      │    </s>",
        "▁dog ▒.25 █.75",
        "</s> ▒.25 █.75",
    ]
    assert lines == [
        *("step 2  validation loss 0.125", SOURCE, "The dog", "", *matrix, ""),
        *("step 4  validation loss 0.250", SOURCE, "The ␛[2Jdog", "", *matrix, ""),
        "shades from ░.05 ▒.25 ▓.50 █.75",
        "A number is the weight that the row's token gives to the column's; a row sums to 1.",
    ]


def test_a_sentence_from_strangers_commands_no_terminal(own_run: Path, tmt: Tmt) -> None:
    add_frame(own_run, frame(2, source="Der \x1b[2JHund"))
    outcome = tmt("attend", "--model", str(own_run), "--history")
    assert "Der ␛[2JHund" in outcome.lines
    assert "\x1b" not in outcome.out


def test_without_a_model_it_is_the_newest_run_and_of_several_it_says_no(watched: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", watched, "--model", watched, "--history")
    assert (outcome.code, outcome.err) == (2, "tmt: error: --model: --history plays one run; give one\n")
    Path("runs").mkdir()
    Path(watched).rename("runs/own")
    assert tmt("attend", "--history").lines[0] == "step 2  validation loss 0.125"


def test_layer_and_head_choose_the_matrix(watched: str, tmt: Tmt) -> None:
    mean = tmt("attend", "--model", watched, "--history")
    assert mean.out.count("cross-attention, layer 2 of 2, mean of 2 heads") == 2
    assert ".25" in mean.out
    one = tmt("attend", "--model", watched, "--history", "--layer", "1", "--head", "2")
    assert one.out.count("cross-attention, layer 1 of 2, head 2 of 2") == 2
    assert ".20" in one.out
    named = tmt("attend", "--model", watched, "--history", "--head", "mean")
    assert named.out == mean.out
    assert "\x1b" not in mean.out


def test_on_a_terminal_frames_take_each_others_place(
    watched: str, terminal: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    code, screen = terminal("attend", "--model", watched, "--history")
    assert code == 0
    assert len(re.findall(r"\x1b\[2J", screen)) == 2
    assert "␛[2J" in screen
    assert waited == [0.0, PAUSE]


def test_json_and_npz_have_all_frames(watched: str, tmt: Tmt) -> None:
    found = json.loads(tmt("attend", "--model", watched, "--history", "--json", "--npz", "history.npz").out)
    assert [one["step"] for one in found["frames"]] == [2, 4]
    arrays = np.load("history.npz")
    assert arrays["step"].tolist() == [2, 4]
    assert arrays["loss"].tolist() == [0.125, 0.25]
    for number, one in enumerate(found["frames"]):
        assert arrays[f"{number}.weights"] == pytest.approx(np.array(one["weights"]))
        assert arrays[f"{number}.rows"].tolist() == one["rows"]


def test_layers_with_other_numbers_of_heads_stand_apart_in_npz(own_run: Path, tmt: Tmt) -> None:
    one = frame(2)
    add_frame(own_run, replace(one, weights=[one.weights[0], one.weights[1][:1]]))
    assert tmt("attend", "--model", str(own_run), "--history", "--npz", "history.npz").code == 0
    arrays = np.load("history.npz")
    assert "0.weights" not in arrays
    assert [len(arrays[f"0.weights.{layer}"]) for layer in (1, 2)] == [2, 1]


CHOSEN = "--history shows what was watched in training; leave one of the two out"
ONE = "is no number; --history takes one layer, and one head or their mean"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", "3"), "--layer: there is no 3; give a number from 1 to 2"),
        (("--head", "0"), "--head: there is no 0; give a number from 1 to 2"),
        (("--head", "all"), f"--head: 'all' {ONE}"),
        (("--beam", "2"), f"--beam: {CHOSEN}"),
        ((SOURCE,), f"SENTENCE: {CHOSEN}"),
        (("--layer", "9999999999"), f"--layer: '9999999999' {ONE}"),
        (("--pieces",), f"--pieces: {CHOSEN}"),
        (("--compact",), f"--compact: {CHOSEN}"),
        (("--without", "cross.1.1"), f"--without: {CHOSEN}"),
        (("--stack", "cross"), f"--stack: {CHOSEN}"),
        (("--device", "cpu"), f"--device: {CHOSEN}"),
    ],
)
def test_what_history_cannot_do_is_one_line(options: tuple[str, ...], message: str, watched: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", watched, "--history", *options)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")


def test_where_nothing_was_watched_it_says_what_to_do(trained: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", trained, "--history")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"tmt: error: {trained}: nothing was watched\n"


def test_a_damaged_frame_is_one_line(watched: str, tmt: Tmt) -> None:
    with (Path(watched) / WATCHED).open("a") as file:
        file.write("{}\n")
    outcome = tmt("attend", "--model", watched, "--history")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == f"tmt: error: {watched}/{WATCHED}:3: damaged; delete the line, or restore the file\n"
