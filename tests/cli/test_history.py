import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.command_line import PAIRS, Tmt, settings

from transformer_mt.runs.watched import WATCHED, Frame, add_frame, read_frames

SOURCE, TARGET = PAIRS[0]


def frame(step: int, *, target: str = "The dog") -> Frame:
    weights = [[[[0.1 * head, 1 - 0.1 * head]] * 2 for head in (layer, layer + 1)] for layer in (1, 2)]
    return Frame(
        step, step / 10, SOURCE, target, "dog", ["▁dog", "</s>"], ["▁Hund", "</s>"], weights, {"cross.1.1": 0.5}
    )


@pytest.fixture
def watched(own_run: Path) -> str:
    """A run that has two frames of a made-up model."""
    add_frame(own_run, frame(2))
    add_frame(own_run, frame(4, target="The \x1b[2Jdog"))
    return str(own_run)


def test_training_watches_an_example_and_its_frames_are_played(data: str, tmt: Tmt) -> None:
    assert tmt("train", "--data", data, "--run-dir", "new", "--watch", *settings()).code == 0
    assert f'watch = "{SOURCE}"' in Path("new/config.toml").read_text()
    outcome = tmt("attend", "--model", "new", "--history")
    assert (outcome.code, outcome.err) == (0, "")
    frames = read_frames(Path("new"))
    assert len(frames) == 2
    heads = [line for line in outcome.lines if line.startswith("step ")]
    assert heads == [f"step {one.step}  validation loss {one.loss:.3f}" for one in frames]
    assert outcome.lines.count(SOURCE) == 2
    assert {one.target for one in frames} == {TARGET}  # the reference, whatever the model says


def test_a_sentence_of_ones_own_is_watched(data: str, tmt: Tmt) -> None:
    options = ("--data", data, "--run-dir", "new", *settings(training__steps="1"))
    assert tmt("train", "--watch-sentence", "Der Tisch.", *options).code == 0
    assert read_frames(Path("new"))[0].source == "Der Tisch."
    outcome = tmt("train", "--watch-sentence", " ", *options)
    assert (outcome.code, outcome.err) == (2, "tmt: error: --watch-sentence: empty; give a sentence, or --watch\n")


def test_layer_and_head_choose_the_matrix(watched: str, tmt: Tmt) -> None:
    mean = tmt("attend", "--model", watched, "--history")
    assert mean.out.count("cross-attention, layer 2 of 2, mean of 2 heads") == 2
    assert ".25" in mean.out
    one = tmt("attend", "--model", watched, "--history", "--layer", "1", "--head", "2")
    assert one.out.count("cross-attention, layer 1 of 2, head 2 of 2") == 2
    assert ".20" in one.out
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
    assert sum(waited) > 0


def test_json_and_npz_have_all_frames(watched: str, tmt: Tmt) -> None:
    found = json.loads(tmt("attend", "--model", watched, "--history", "--json", "--npz", "history.npz").out)
    assert [one["step"] for one in found["frames"]] == [2, 4]
    arrays = np.load("history.npz")
    assert arrays["step"].tolist() == [2, 4]
    assert arrays["loss"].tolist() == [0.2, 0.4]
    for number, one in enumerate(found["frames"]):
        assert arrays[f"{number}.weights"] == pytest.approx(np.array(one["weights"]))
        assert arrays[f"{number}.rows"].tolist() == one["rows"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", "3"), "--layer: there is no 3; give a number from 1 to 2"),
        (("--head", "0"), "--head: there is no 0; give a number from 1 to 2"),
        (("--head", "all"), "--head: 'all' is no number; --history takes one layer, and one head or their mean"),
        (("--beam", "2"), "--beam: --history shows what was watched in training; leave one of the two out"),
        ((SOURCE,), "SENTENCE: --history shows what was watched in training; leave one of the two out"),
        (("--stack", "cross"), "--stack: --history shows what was watched in training; leave one of the two out"),
    ],
)
def test_what_history_cannot_do_is_one_line(options: tuple[str, ...], message: str, watched: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", watched, "--history", *options)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")


def test_where_nothing_was_watched_it_says_what_to_do(trained: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", trained, "--history")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"tmt: error: {trained}: nothing was watched; train with: tmt train --watch\n"


def test_a_damaged_frame_is_one_line(watched: str, tmt: Tmt) -> None:
    with (Path(watched) / WATCHED).open("a") as file:
        file.write("{}\n")
    outcome = tmt("attend", "--model", watched, "--history")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == f"tmt: error: {watched}/{WATCHED}:3: damaged; delete the line, or restore the file\n"
