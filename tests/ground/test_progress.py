"""Progress reports reach the display."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from transformer_mt.ground.progress import advance, bar, shown_by, working


def test_bar_in_a_notebook_is_html(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    page = SimpleNamespace(HTML=str, display=lambda *_, **__: SimpleNamespace(update=shown.append))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    with bar("<training>", 3) as done:
        for count in (0, 1, 1, 1):
            done(count)
    assert shown[-1] == '&lt;training&gt; <progress value="3" max="3"></progress> 3 of 3'
    assert len(shown) <= 3


def test_bar_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("training", 2) as done:
        done(2)
    assert capsys.readouterr() == ("", "")


def test_reports_work_but_not_nested_work() -> None:
    told: list[object] = []

    @contextmanager
    def display(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        told.append((name, total))
        yield told.append
        told.append("end")

    with working("before"):
        advance()
    with shown_by(display):
        with working("outer", total=7):
            advance(2)
            with working("inner"):
                advance(5)
            advance()
        advance(11)
        with pytest.raises(ZeroDivisionError), working("failing"):
            _ = 1 / 0
        with working("next"):
            pass
    with working("after"):
        advance()
    assert told == [("outer", 7), 2, 1, "end", ("failing", None), ("next", None), "end"]
