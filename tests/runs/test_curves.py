import json
from pathlib import Path

import pytest

from transformer_mt.errors import InputError, MachineError
from transformer_mt.runs.curves import CURVES, read_curves
from transformer_mt.runs.directory import METRICS, Run

LINES: list[dict[str, object]] = [
    {"step": 2, "kind": "training", "loss": 7.5, "learning_rate": 1e-4},
    {"step": 4, "kind": "training", "loss": 6, "learning_rate": 2e-4},
    {"step": 4, "kind": "validation", "loss": 5.5, "bleu": 0.0},
    {"step": 6, "kind": "a kind of later versions"},
]


def written(folder: Path, *lines: str, end: str = "") -> Run:
    text = "".join(f"{line}\n" for line in [*map(json.dumps, LINES), *lines])
    (folder / METRICS).write_text(text + end)
    return Run(folder)


def test_curves_are_what_was_measured(tmp_path: Path) -> None:
    found = read_curves(written(tmp_path, end='{"step": 8, "ki'))
    assert found.training_loss == ((2, 7.5), (4, 6.0))
    assert found.learning_rate == ((2, 1e-4), (4, 2e-4))
    assert found.validation_loss == ((4, 5.5),)
    assert found.bleu == ((4, 0.0),)
    assert list(found.to_json()) == ["run", *CURVES]
    assert found.to_json()["training_loss"] == [[2, 7.5], [4, 6.0]]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no JSON",
        "[1]",
        "7",
        '{"step": 5}',
        '{"step": 5, "kind": "training"}',
        '{"step": "5", "kind": "training", "loss": 1.0, "learning_rate": 1.0}',
        '{"step": -5, "kind": "validation", "loss": 1.0, "bleu": 1.0}',
        '{"step": 5, "kind": "validation", "loss": NaN, "bleu": 1.0}',
        '{"step": 5, "kind": "validation", "loss": 1e999, "bleu": 1.0}',
        '{"step": 5, "kind": "validation", "loss": true, "bleu": 1.0}',
        '{"step": 5, "kind": "validation", "loss": "<script>", "bleu": 1.0}',
        "\x1b[2J",
        "[" * 99_999,
    ],
)
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        read_curves(written(tmp_path, line))
    assert str(caught.value) == (f"{tmp_path / METRICS}:5: no measurement; delete the line, or restore the file")


@pytest.mark.parametrize("is_there", [False, True])  # a pruned run has no such file
def test_nothing_measured_yet_says_what_to_do(is_there: bool, tmp_path: Path) -> None:
    if is_there:
        (tmp_path / METRICS).touch()
    with pytest.raises(InputError) as raised:
        read_curves(Run(tmp_path))
    assert str(raised.value) == f"{tmp_path}: nothing has been measured yet; train it with tmt train"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / METRICS).symlink_to("/dev/zero")
    with pytest.raises(MachineError, match="a symbolic link, where a regular file is expected"):
        read_curves(Run(tmp_path))
