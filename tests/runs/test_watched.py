from pathlib import Path

import pytest

from transformer_mt.errors import MachineError
from transformer_mt.runs import watched
from transformer_mt.runs.watched import WATCHED, Frame, add_frame, forget_frames_after, read_frames


def frame(step: int) -> Frame:
    weights = [[[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]]]
    return Frame(
        step, 1.5, "ein Satz", "a", "a\u2028sentence", ["a", "b", "</s>"], ["c", "</s>"], weights, {"cross.1.1": 0.4}
    )


def test_frames_come_back_in_order(tmp_path: Path) -> None:
    for step in (2, 4, 6):
        add_frame(tmp_path, frame(step))
    assert read_frames(tmp_path) == [frame(2), frame(4), frame(6)]
    add_frame(tmp_path, frame(4))
    assert read_frames(tmp_path) == [frame(2), frame(4)]


def test_where_nothing_was_watched_there_are_none(tmp_path: Path) -> None:
    assert read_frames(tmp_path) == []


def test_the_file_stays_bounded_and_keeps_the_first_and_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_frame(tmp_path, frame(1))
    size = (tmp_path / WATCHED).stat().st_size
    monkeypatch.setattr(watched, "LIMIT", 5 * size + 20)
    for step in range(2, 40):
        add_frame(tmp_path, frame(step))
        assert (tmp_path / WATCHED).stat().st_size <= 5 * size + 20
    steps = [one.step for one in read_frames(tmp_path)]
    assert (steps[0], steps[-1]) == (1, 39)
    assert 3 <= len(steps) <= 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"step": 4', '"step": "4"'),
        ('"step": 4', '"step": -4'),
        ("0.25", "NaN"),
        ("0.25", "1.25"),
        ("0.25", "-0.25"),
        ("[0.25, 0.75]", "[0.25]"),
        ("[0.5, 0.5]", "[0.5]"),
        ("ein Satz", "ein Satz" * 1251),  # of more than 10,000 characters
        ("[0.5, 0.5]", "[0.5, 0.5], [1.0, 0.0]"),
        ('"rows"', '"raws"'),
        ('"loss": 1.5', '"loss": 1.5, "loss": 2.5'),
        ("[[[[", "[[[[" * 99_999),
        ("[[[[", "[[], [[["),
        ('"weights": [[[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]]]', '"weights": [[]]'),
    ],
)
def test_a_damaged_line_is_named(old: str, new: str, tmp_path: Path) -> None:
    for step in (2, 4):
        add_frame(tmp_path, frame(step))
    path = tmp_path / WATCHED
    first, second = path.read_text("utf-8").removesuffix("\n").split("\n")
    assert old in second
    path.write_text(f"{first}\n{second.replace(old, new)}\n", "utf-8")
    with pytest.raises(MachineError) as caught:
        read_frames(tmp_path)
    assert str(caught.value) == f"{path}:2: damaged; delete the line, or restore the file"


def test_what_is_no_frame_is_left_out_when_another_is_added(tmp_path: Path) -> None:
    (tmp_path / WATCHED).write_text('x\n[4]\n{"step": true}\n{"step": "2"}\n{}\ncut off')
    add_frame(tmp_path, frame(4))
    assert read_frames(tmp_path) == [frame(4)]


def test_frames_are_forgotten_from_the_step_after_on_and_no_file_is_made_for_that(tmp_path: Path) -> None:
    forget_frames_after(tmp_path, 4)
    assert not (tmp_path / WATCHED).exists()
    for step in (2, 4, 6):
        add_frame(tmp_path, frame(step))
    forget_frames_after(tmp_path, 4)
    assert read_frames(tmp_path) == [frame(2), frame(4)]


def test_two_frames_are_kept_however_large_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_frame(tmp_path, frame(1))
    monkeypatch.setattr(watched, "LIMIT", (tmp_path / WATCHED).stat().st_size + 20)
    for step in (2, 3):
        add_frame(tmp_path, frame(step))
        assert [one.step for one in read_frames(tmp_path)] == [1, step]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / WATCHED).symlink_to("/dev/zero")
    with pytest.raises(MachineError, match="a symbolic link, where a regular file is expected"):
        read_frames(tmp_path)
