from pathlib import Path
from typing import Any

import pytest
import typer
from fine_tuning import main, splits_of
from support.small_training import write_corpus

from transformer_mt.ground.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parent": Path("none")}, "none: not a run directory"),
        ({"recipe": ["best"]}, "--recipe: 'best' is unknown; choose one of default, "),
        ({"domain": ["x=none"]}, "none: no such file"),
        ({"domain": ["x"]}, ""),
    ],
)
def test_usage_errors(options: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stop:
        main(**options)
    assert stop.value.exit_code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"fine_tuning: error: {message}")


def test_a_domain_needs_a_test_split(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data: 'test' is unknown; choose one of train, validation$"):
        splits_of(str(write_corpus(tmp_path / "data")))
