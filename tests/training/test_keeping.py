from pathlib import Path

import pytest
from support.small_training import opened

from transformer_mt.errors import InputError
from transformer_mt.runs.checkpoints import saved_steps
from transformer_mt.training.keeping import KEEPING, build_keep

STEPS = [3, 4, 6, 8, 9, 12]


@pytest.mark.parametrize(
    ("text", "kept"),
    [("needed", set()), ("all", {*STEPS}), ("last(3)", {8, 9, 12}), ("every(4)", {4, 8, 12}), ("last(99)", {*STEPS})],
)
def test_the_rules(text: str, kept: set[int]) -> None:
    assert build_keep(text)(STEPS) == kept


def test_every_rule_is_tested() -> None:
    assert set(KEEPING) == {"needed", "all", "last", "every"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("al", "training.keep: there is no 'al'; did you mean all?"),
        ("last", "training.keep: 'last': last is written last(count); correct it"),
        ("last(0)", "training.keep: 'last(0)': the count must be at least 1"),
        ("every(0)", "training.keep: 'every(0)': the number of steps must be at least 1"),
    ],
)
def test_a_rule_that_there_is_not_is_refused_before_anything_is_written(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "run", f"training.keep={text}")
    assert str(caught.value) == message
    assert not (tmp_path / "run").exists()


# Checkpoints are written at 3, 4, 6 and 8; training needs the newest two and the best, which is the last.
def test_what_is_kept_stays_besides_what_is_needed(tmp_path: Path) -> None:
    list(opened(tmp_path, "training.keep=every(3)").train())
    assert saved_steps(tmp_path / "checkpoints") == [3, 6, 8]
