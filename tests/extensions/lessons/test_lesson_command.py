"""`tmt lesson`: the course in the terminal."""

from pathlib import Path

import pytest
from support.command_line import Outcome, Tmt

from transformer_mt.extensions.lessons.course import lessons


def test_the_list_and_one_stop(tmt: Tmt) -> None:
    listed = tmt("lesson")
    assert len(listed.lines) == 16
    assert listed.lines[2] == " 3  Attention by hand"
    found = tmt("lesson", "3")
    assert found.lines[0] == "3 of 16: Attention by hand"
    assert "shiny    0.53  0.34  0.98  1.3569   0.4063" in found.lines
    assert "Answer:" not in found.out
    assert "Answer:" in tmt("lesson", "3", "--answer").out
    assert tmt("lesson", "17") == Outcome(2, "", "tmt: error: N: no lesson 17; give a number from 1 to 16\n")


def test_own_lessons_are_escaped(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own").mkdir()
    Path("own/1.md").write_text("# A\x1b[2J\n\nB\x07.\n## Question\nC?\n## Answer\nD.\n## Try it\nCommand: \x1b]0;x\n")
    outcome = tmt("lesson", "1", "--answer", "--lessons", "own")
    monkeypatch.setenv("TMT_LESSONS", "own")
    listed = tmt("lesson")
    assert listed.out == " 1  A␛[2J\n"
    assert listed.err.endswith("the texts are in own\n")
    assert all(escaped in outcome.out for escaped in ("A␛[2J", "B␇.", "␛]0;x"))
    assert not any(ord(character) < 32 and character != "\n" for character in outcome.out)


def test_heads_of_the_lesson_on_cross_attention_look_where_it_says(tmt: Tmt) -> None:
    lesson = lessons()[12]
    assert lesson.head == "cross.2.1"
    found = tmt("attend", "--model", "ready", lesson.sentence, "--json").json["stacks"]["cross"]
    saw = [head[found["rows"].index("saw")] for head in found["weights"][1][:2]]
    assert [found["columns"][row.index(max(row))] for row in saw] == ["gesehen", "habe"]
