"""`tmt lesson`: the course in the terminal."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Outcome, Tmt


def test_the_list_and_one_stop(tmt: Tmt) -> None:
    listed = tmt("lesson")
    assert len(listed.lines) == 21
    assert listed.lines[4] == " 5  Attention by hand"
    found = tmt("lesson", "5")
    assert found.lines[0] == "5 of 21: Attention by hand"
    assert "shiny    0.53  0.34  0.98  1.3569   0.4063" in found.lines
    assert "\nAnswer:" not in found.out
    assert "\nAnswer:" in tmt("lesson", "5", "--answer").out
    assert tmt("lesson", "22") == Outcome(2, "", "tmt: error: N: no lesson 22; give a number from 1 to 21\n")


def test_german_lessons(tmt: Tmt) -> None:
    found = tmt("lesson", "5", "--language", "de")
    assert found.lines[0] == "5 von 21: Attention von Hand"
    assert "Die Antwort: tmt lesson 5 --answer" in found.lines
    assert tmt("lesson", "--language", "xx").mistake == "--language: 'xx' is unknown; choose one of de, en"
    assert tmt("lesson", "--language", "de", "--lessons", ".").mistake.startswith("--language: belongs to the built-in")


def test_own_lessons_are_escaped(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    escapes = 'title = "A\\u001b[2J"\ntext = "B\\u0007."\nquestion = "C?"\nanswer = "D."\ntry.command = "\\u001b]0;x"\n'
    Path("own.toml").write_text(f"[[stops]]\n{escapes}")
    outcome = tmt("lesson", "1", "--answer", "--lessons", "own.toml")
    monkeypatch.setenv("TMT_LESSONS", "own.toml")
    listed = tmt("lesson")
    assert listed.out == " 1  A␛[2J\n"
    assert listed.err.endswith("the texts are in own.toml\n")
    assert all(escaped in outcome.out for escaped in ("A␛[2J", "B␇.", "␛]0;x"))
    assert not any(ord(character) < 32 and character != "\n" for character in outcome.out)


def answers_in(page: str) -> list[dict[str, Any]]:
    """The answers in a saved page."""
    (data,) = re.findall(r'<script type="application/gzip" id="saved">([^<]*)</script>', page)
    found: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(data)))
    return found


def test_a_course_is_saved_as_a_page_with_all_answers(tmt: Tmt) -> None:
    sentence, hostile = "Der Hund schläft.", "</script><img src=x onerror=alert(1)>"
    stop = f"[[stops]]\ntitle = '{hostile}'\ntext = 'b'\nquestion = 'c'\nanswer = 'd'\ntry.sentence = '{sentence}'\n"
    Path("own.toml").write_text(f"{stop}try.head = 'cross.2.1'\n{stop}", "utf-8")
    outcome = tmt("lesson", "2", "--lessons", "own.toml", "--html", "own.html")
    assert outcome.err == "tmt: wrote own.html; open it in a browser\n"
    page = Path("own.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert hostile not in page
    answers = answers_in(page)
    assert [one["title"] for one in answers[0]["answer"]["lessons"]] == [hostile] * 2
    asked = {(one["route"], one["asked"].get("source"), one["asked"].get("head")) for one in answers}
    assert {("translate", sentence, None), ("attend", sentence, None), ("explain", sentence, 1)} < asked
    (runs,) = (one["answer"]["runs"] for one in answers if one["route"] == "runs")
    assert (runs[0]["run"], runs[0]["beginning"]["view"], runs[0]["beginning"]["stop"]) == ("ready", "course", 2)
    assert tmt("lesson", "--html", "own.html").mistake == "own.html: exists; give another name"
    assert tmt("lesson", "3", "--lessons", "own.toml", "--html", "x.html").mistake.startswith("N: no lesson 3")
    assert not Path("x.html").exists()
    assert Path("own.html").read_text("utf-8") == page
