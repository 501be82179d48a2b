"""alignment.json and doubt.json: round trips and untrusted content."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import DOUBT, Doubt

SOUND: dict[str, Any] = {"heads": ["cross.2.1", "cross.1.3"], "chosen_by": "links", "error_rate": 0.25}


@given(
    heads=st.lists(
        st.builds(HeadName, st.just("cross"), st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=3
    ),
    chosen_by=st.sampled_from(("links", "guess", "given")),
    error_rate=st.none() | st.floats(0, 1),
)
def test_heads_round_trip(heads: list[HeadName], chosen_by: Any, error_rate: float | None, tmp_path: Path) -> None:
    chosen = AlignmentHeads(heads=tuple(heads), chosen_by=chosen_by, error_rate=error_rate)
    assert Run(tmp_path / "none").alignment() is None
    Run(tmp_path).save_beside(ALIGNMENT, chosen)
    found = Run(tmp_path).alignment()
    assert found == chosen
    assert all(isinstance(head, HeadName) for head in found.heads)


INVALID_ALIGNMENTS = (
    {"heads": []},
    {"heads": ["encoder.1.1"]},
    {"heads": ["cross.1"]},
    {"heads": [7]},
    {"heads": "cross.1.1"},
    {"heads": ["cross.1.1"] * 5000},
    {"chosen_by": "somebody"},
    {"error_rate": 2},
    {"error_rate": "0"},
    {"other": 1},
)
INVALID_DOUBTS = ('{"threshold": 0.1, "right": 7}', '{"threshold": NaN}', '{"threshold": "-1"}', '{"right": -1}')
NAN = '{"error_rate": NaN, "heads": ["cross.1.1"], "chosen_by": "links"}'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((ALIGNMENT, json.dumps(SOUND | change)) for change in INVALID_ALIGNMENTS),
        *((ALIGNMENT, json.dumps({key: SOUND[key]})) for key in ("heads", "chosen_by")),
        *((DOUBT, content) for content in (*INVALID_DOUBTS, '{"other": 1}')),
        *((name, content) for name in (ALIGNMENT, DOUBT) for content in ("", "[]", "7", "\x00", "[" * 1000, NAN)),
    ],
)
def test_invalid_content_is_a_one_line_error(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(MachineError) as caught:
        Run(tmp_path).alignment() if name == ALIGNMENT else Run(tmp_path).doubt()
    assert str(caught.value) == f"{path}: damaged; restore it, or delete it to go without"


def test_doubt_round_trips(tmp_path: Path) -> None:
    assert Run(tmp_path).doubt() == Doubt()
    Run(tmp_path).save_beside(DOUBT, kept := Doubt(threshold=-0.35, right=483))
    assert Run(tmp_path).doubt() == kept
