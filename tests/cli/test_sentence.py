"""The sentence of a line that a command looks into, and the text of it that the model reads."""

import json
import unicodedata
from collections.abc import Sequence

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

FIRST, SECOND, THIRD = (source for source, _ in PAIRS[:3])
LINE = f"{FIRST} {SECOND} {THIRD}"
TARGET = PAIRS[0][1]
VIEWS = ("attend", "explain", "lens", "align")


@pytest.mark.parametrize("command", VIEWS)
def test_of_a_line_the_first_sentence_is_looked_at_or_that_of_its_number(command: str, trained: str, tmt: Tmt) -> None:
    options = ("--model", trained, "--json")
    for choice, number, text in (((), 1, FIRST), (("--sentence", "2"), 2, SECOND)):
        outcome = tmt(command, *options, LINE, *choice)
        others = "  ".join(f"{at} {one}" for at, one in enumerate((FIRST, SECOND, THIRD), start=1) if at != number)
        assert outcome.err.startswith(f"tmt: sentence {number} of 3; for another give --sentence: {others}\n")
        found, alone = json.loads(outcome.out), json.loads(tmt(command, *options, text).out)
        assert (found.pop("sentence"), found.pop("sentences")) == (number, [FIRST, SECOND, THIRD])
        assert found == alone
        assert tmt(command, *options, LINE, *choice, "--quiet").err == ""
    assert "`sentence`" in VIEWS_PAGE
    assert "`sentences`" in VIEWS_PAGE


@pytest.mark.parametrize("command", VIEWS)
def test_remarks_are_about_the_sentence_that_is_looked_at(command: str, trained: str, tmt: Tmt) -> None:
    line = ("--model", trained, f"{FIRST} Der Bahnhof schläft.", "--json")
    first, second = tmt(command, *line), tmt(command, *line, "--sentence", "2")
    assert [json.loads(one.out)["never_seen"] for one in (first, second)] == [[], ["Bahnhof"]]
    assert ["never seen in training: Bahnhof" in one.err for one in (first, second)] == [False, True]


@pytest.mark.parametrize("command", VIEWS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LINE, "--sentence", "4"), "--sentence: there is no 4; give a number from 1 to 3"),
        ((FIRST, "--sentence", "2"), "--sentence: there is no 2; give a number from 1 to 1"),
        ((LINE, "--target", TARGET, "--sentence", "2"), "--sentence: there is no 2; give a number from 1 to 1"),
        (("\u200b",), "SENTENCE: empty; give a sentence to look at"),
    ],
)
def test_a_sentence_that_there_is_not_is_one_line(
    arguments: Sequence[str], message: str, command: str, trained: str, tmt: Tmt
) -> None:
    outcome = tmt(command, "--model", trained, *arguments)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"tmt: error: {message}\n")


def test_with_a_target_the_line_is_one_unit_and_keeps_its_capitals(trained: str, tmt: Tmt) -> None:
    for text in (LINE, "DER HUND SCHLÄFT", "der hund schläft"):
        found = json.loads(tmt("align", "--model", trained, text, "--target", TARGET, "--json").out)
        assert found["source"] == text
        assert "case" not in found["remarks"]
        assert "sentences" not in found


def test_labels_are_words_of_the_text_that_the_model_read(trained: str, tmt: Tmt) -> None:
    composed = tmt("align", "--model", trained, FIRST, "--target", TARGET)
    assert composed.lines[1] == "0 Der  1 Hund  2 schläft  3 ."
    words = FIRST.split()
    for text in (
        f"{words[0]} ▁ {' '.join(words[1:])}",
        unicodedata.normalize("NFD", FIRST),
        f"{words[0]} \ufeff{' '.join(words[1:])}",
        f"\x00{words[0][:1]}\u00ad{words[0][1:]}\t{' '.join(words[1:])}\u200e",
    ):
        assert text != FIRST
        assert tmt("align", "--model", trained, text, "--target", TARGET) == composed
        for command in ("attend", "lens", "explain"):
            outcome = tmt(command, "--model", trained, text, "--target", TARGET, "--json")
            assert outcome == tmt(command, "--model", trained, FIRST, "--target", TARGET, "--json")


@pytest.mark.parametrize("text", ["\u00ad", "\ufeff", "\x00", " \u200b\u2060 ", "\u3164"])
def test_a_line_without_anything_to_see_is_empty(text: str, trained: str, tmt: Tmt) -> None:
    found = json.loads(tmt("translate", "--model", trained, text, "--json").out)
    nothing = {
        "translation": "",
        "score": 0.0,
        "log_probability": 0.0,
        "never_seen": [],
        "remarks": {},
        "sentences": [],
    }
    assert found == {"source": text} | nothing
