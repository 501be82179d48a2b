"""A class of twenty asks at once."""

from pathlib import Path

import pytest
from support.load import measure

pytestmark = pytest.mark.slow


def test_a_class_gets_right_answers_and_the_server_stays_as_it_was(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    figures: list[str] = []
    measure(home / "runs", "Der Hund schläft.", figures.append)
    assert len(figures) == 4
