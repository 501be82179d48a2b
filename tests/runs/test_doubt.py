"""doubt.json: round trip and untrusted content."""

from pathlib import Path

import pytest

from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import DOUBT, Doubt


def test_doubt_round_trips(tmp_path: Path) -> None:
    assert Run(tmp_path).doubt() == Doubt()
    Run(tmp_path).save_beside(DOUBT, kept := Doubt(threshold=-0.35, right=483))
    assert Run(tmp_path).doubt() == kept


@pytest.mark.parametrize(
    "content",
    [
        *(
            '{"threshold": 0.1, "right": 7}',
            '{"threshold": NaN}',
            '{"threshold": "-1"}',
            '{"right": -1}',
            '{"other": 1}',
        ),
        *("", "[]", "7", "\x00", "[" * 1000),
    ],
)
def test_invalid_content_is_a_one_line_error(content: str, tmp_path: Path) -> None:
    (tmp_path / DOUBT).write_text(content)
    with pytest.raises(MachineError) as caught:
        Run(tmp_path).doubt()
    assert str(caught.value) == f"{tmp_path / DOUBT}: damaged; restore it, or delete it to go without"
