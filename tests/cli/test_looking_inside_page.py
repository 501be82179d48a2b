"""The Python block of the page on looking inside runs as printed."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "views.md"


def test_python_block_runs(own_run: Path) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    Path("runs").mkdir()
    own_run.rename("runs/builtin")
    names: dict[str, Any] = {}
    exec(block, names)
    layers, heads, rows, columns = names["weights"].shape
    assert (layers, heads) == (1, 1)  # erasure has one matrix for the whole model
    assert (rows, columns) == (6, 5)  # words, punctuation and </s> of both sentences
    assert names["lens"].target == "The dog is sleeping."
    assert names["steps"].word == "dog"
