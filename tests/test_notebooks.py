"""The notebooks are valid, have no outputs, and run, folded solutions included."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs/notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details><summary>Solution</summary>\n\n(.*?)\n\n</details>", re.DOTALL)

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[Any]:
    found = json.loads(path.read_text("utf-8"))["cells"]
    assert isinstance(found, list)
    return found


def programs(cell: Any) -> list[str]:
    """The program of a cell, or those in the folded solutions of a text."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "code":
        return [text]
    return [
        program for solution in SOLUTION.findall(text) for program in re.findall(r"```python\n(.*?)```", solution, re.S)
    ]


def test_all_four_exist() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"first-steps", "look-inside", "laboratory", "own-data"}


@every_notebook
def test_notebook_has_no_outputs_and_folded_solutions(path: Path) -> None:
    found = cells(path)
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None for cell in found if cell["cell_type"] == "code"
    )
    texts = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "markdown"]
    exercises = [text for text in texts if text.startswith("**Exercise.**")]
    assert len(exercises) >= 3
    assert all(len(SOLUTION.findall(text)) == 1 for text in exercises)
    for cell in found:
        for program in programs(cell):
            compile(program, cell["id"], "exec")


@every_notebook
def test_links_of_notebooks_exist(path: Path) -> None:
    for cell in cells(path):
        for target in re.findall(r"\]\(([^)#]+)", "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""):
            assert (path.parent / target).is_file(), target


@pytest.mark.interop
@every_notebook
def test_notebook_and_its_solutions_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs the extra notebooks."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "1")  # faster for models this small
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    notebook.cells = [nbformat.v4.new_code_cell(program) for cell in notebook.cells for program in programs(cell)]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert any("text/html" in output.get("data", {}) for output in outputs)
