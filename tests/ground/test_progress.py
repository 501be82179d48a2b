"""Progress reports reach the display."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from transformer_mt.ground.progress import advance, shown_by, working


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
