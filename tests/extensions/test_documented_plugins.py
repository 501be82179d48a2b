"""The plugins in docs/extensions.md: a command, and a view in the terminal and over HTTP."""

import json
from pathlib import Path

import pytest
from support.command_line import Tmt
from support.plugins import loaded, write_example
from support.serving import serving

PAGE = "docs/extensions.md"
PAIR = {"source": "Der Hund schläft.", "target": "The dog sleeps."}


@pytest.fixture
def spread(workplace: Path) -> Path:
    write_example("addTab", workplace / "spread.js", page=PAGE)
    return write_example("tmt spread", workplace / "spread.py", page=PAGE)


def test_a_command(workplace: Path, trained: str, tmt: Tmt) -> None:
    path = write_example("tmt longest", workplace / "longest.py", page=PAGE)
    assert len(path.read_text("utf-8").splitlines()) <= 40
    with loaded(path):
        assert "  longest    Print the longest words of a run\n" in tmt("--help").out
        words = tmt("longest", "--model", trained).lines
    assert len(words) == 5
    assert words == sorted(words, key=len, reverse=True)
    assert tmt("longest").code == 2


def test_a_view_in_the_terminal_and_over_http(spread: Path, home: Path, trained: str, tmt: Tmt) -> None:
    assert len(spread.read_text("utf-8").splitlines()) <= 40
    asked = ("spread", PAIR["source"], "--target", PAIR["target"], "--model", trained)
    with loaded(spread):
        lines = tmt(*asked).lines
        printed = json.loads(tmt(*asked, "--json").out)
        with serving(home) as served:
            assert served.ask("spread", run="run", **PAIR).json.items() >= printed.items()
    assert lines[:3] == [*PAIR.values(), ""]
    assert [line.split() for line in lines[3:]] == [
        [f"{number:.1f}", word] for word, number in zip(printed["words"], printed["spread"], strict=True)
    ]
    assert all(1 <= number <= len(printed["words"]) for number in printed["spread"])


_HOSTILE = """from transformer_mt.ground.plugins import Extension, View
def fails(subject, asked): return {}["missing"]
def leaves(subject, asked): raise SystemExit(1)
def counts(subject, asked): return {"numbers": [1.0, float("nan")], "inf": float("inf")}
EXTENSION = Extension(views={one.__name__: View(one) for one in (fails, leaves, counts)})
"""


def test_a_faulty_view_gets_the_blame(home: Path, workplace: Path) -> None:
    path = workplace / "hostile.py"
    path.write_text(_HOSTILE)
    with loaded(path), serving(home) as served:
        for view, line, reason in (("fails", 2, "KeyError: 'missing'"), ("leaves", 3, "SystemExit: 1")):
            answer = served.ask(view, run="run", **PAIR)
            assert answer.status == 500
            assert answer.json["error"].startswith(f"{path}:{line}: {reason}; correct the plugin (")
        found = served.ask("counts", run="run", **PAIR).json
    assert (found["numbers"], found["inf"]) == ([1.0, None], None)
