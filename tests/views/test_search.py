import io

import pytest

from transformer_mt.translation.alternatives import Alternative, ChosenAmong
from transformer_mt.translation.beam_tree import BEATEN, DROPPED, ENDED, BeamNode, BeamTrace
from transformer_mt.views.translate import alternatives_lines, trace_lines

TREE = BeamTrace(
    ("▁So",),
    (
        BeamNode(1, None, "▁we", -0.5, -0.4, None),
        BeamNode(1, None, "▁I", -2.0, -1.5, DROPPED),
        BeamNode(2, 0, "▁go", -0.75, -0.6, None),
        BeamNode(3, 2, ".", -1.0, -0.7, None),
        BeamNode(3, 2, "</s>", -1.5, -0.9, ENDED),
        BeamNode(4, 3, "</s>", -1.25, -0.8, ENDED),
        BeamNode(4, 3, "\x1b[2J", -9.0, -6.0, BEATEN),
    ),
)


def test_unbranched_tokens_share_a_line_with_their_end() -> None:
    assert [*trace_lines(TREE, width=80)] == [
        "<s> ▁So",
        "├── ▁we ▁go  -0.75",
        "│   ├── .  -1.00",
        "│   │   ├── </s>  -1.25, score -0.800: the best",
        "│   │   └── ␛[2J  -9.00, beaten after step 4",
        "│   └── </s>  -1.50, score -0.900",
        "└── ▁I  -2.00, dropped after step 1",
    ]


def test_tree_is_ascii_if_stdout_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert [*trace_lines(TREE, width=80)][-1] == "`-- ▁I  -2.00, dropped after step 1"


def test_long_lines_wrap_under_their_branch() -> None:
    nodes = [BeamNode(i + 1, i - 1 if i else None, f"▁word{i}", -1.0, -1.0, None) for i in range(20)]
    path = BeamTrace((), (*nodes, BeamNode(21, 19, "</s>", -2.0, -1.0, ENDED)))
    lines = [*trace_lines(path, width=40)]
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("└── ▁word0 ")
    assert all(line.startswith("    ") for line in lines[2:])
    assert " ".join(lines).split()[2:22] == [f"▁word{i}" for i in range(20)]


def test_deep_tree_may_exceed_the_width() -> None:
    nodes = [
        BeamNode(step, 2 * step - 4 if step > 1 else None, token, -1.0, -1.0, end)
        for step in range(1, 100)
        for token, end in (("a", None), ("b", DROPPED))
    ]
    lines = [*trace_lines(BeamTrace((), (*nodes, BeamNode(100, 196, "</s>", -1.0, -1.0, ENDED))), width=80)]
    assert sum("├── a" in line for line in lines) == 99
    assert max(map(len, lines)) <= 4 * 99 + 20


def test_alternatives_are_escaped_columns() -> None:
    found = [
        ChosenAmong(Alternative("▁The", 0.9), (Alternative("▁A", 0.05), Alternative("▁My", 0.001))),
        ChosenAmong(Alternative("\x1b", 0.123), (Alternative("日本", 0.1), Alternative("x", 0.0))),
    ]
    assert alternatives_lines(found) == ["0.900 ▁The  0.050 ▁A    0.001 ▁My", "0.123 ␛     0.100 日本  0.000 x"]
    assert alternatives_lines([]) == []
