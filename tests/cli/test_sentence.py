"""The sentence of a line that a command looks into, and the text of it that the model reads."""

import unicodedata
from collections.abc import Sequence

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt

SENTENCES = [source for source, _ in PAIRS[:3]]
FIRST, LINE = SENTENCES[0], " ".join(SENTENCES)
TARGET = PAIRS[0][1]
VIEWS = ("attend", "explain", "lens", "align")


@pytest.mark.parametrize("command", VIEWS)
@pytest.mark.parametrize(("choice", "number"), [((), 1), (("--sentence", "2"), 2)])
def test_of_a_line_the_first_sentence_is_looked_at_or_that_of_its_number(
    choice: Sequence[str], number: int, command: str, on_run: Tmt
) -> None:
    outcome = on_run(command, "--json", LINE, *choice)
    others = "  ".join(f"{at} {one}" for at, one in enumerate(SENTENCES, start=1) if at != number)
    assert outcome.err.startswith(f"tmt: sentence {number} of 3; for another give --sentence: {others}\n")
    alone = on_run(command, "--json", SENTENCES[number - 1]).json
    assert outcome.json == alone | {"sentence": number, "sentences": SENTENCES}
    assert on_run(command, "--json", LINE, *choice, "--quiet").err == ""


def test_the_keys_of_a_sentence_are_documented() -> None:
    assert "`sentence`" in VIEWS_PAGE
    assert "`sentences`" in VIEWS_PAGE


@pytest.mark.parametrize("command", ["attend", "align"])
def test_remarks_are_about_the_sentence_that_is_looked_at(command: str, on_run: Tmt) -> None:
    line = (f"{FIRST} Der Bahnhof schläft.", "--json")
    first, second = on_run(command, *line), on_run(command, *line, "--sentence", "2")
    assert [one.json["never_seen"] for one in (first, second)] == [[], ["Bahnhof"]]
    assert ["never seen in training: Bahnhof" in one.err for one in (first, second)] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LINE, "--sentence", "4"), "--sentence: there is no 4; give a number from 1 to 3"),
        ((LINE, "--target", TARGET, "--sentence", "2"), "--sentence: there is no 2; give a number from 1 to 1"),
        (("\u200b",), "SENTENCE: empty; give a sentence to look at"),
    ],
)
def test_a_sentence_that_there_is_not_is_one_line(arguments: Sequence[str], message: str, on_run: Tmt) -> None:
    assert on_run("lens", *arguments).mistake == message


def test_with_a_target_the_line_is_one_unit_and_keeps_its_capitals(on_run: Tmt) -> None:
    for text in (LINE, "DER HUND SCHLÄFT", "der hund schläft"):
        found = on_run("align", text, "--target", TARGET, "--json").json
        assert found["source"] == text
        assert "case" not in found["remarks"]
        assert "sentences" not in found


def test_labels_are_words_of_the_text_that_the_model_read(on_run: Tmt) -> None:
    composed = on_run("align", FIRST, "--target", TARGET)
    assert composed.lines[1] == "0 Der  1 Hund  2 schläft  3 ."
    decomposed, (article, rest) = unicodedata.normalize("NFD", FIRST), FIRST.split(maxsplit=1)
    odd = f"\x00{article[:1]}\u00ad{article[1:]}\t{rest}\u200e"
    for text in (f"{article} ▁ {rest}", decomposed, f"{article} \ufeff{rest}", odd):
        assert text != FIRST
        assert on_run("align", text, "--target", TARGET) == composed
    for command in ("attend", "lens", "explain"):
        pair = ("--target", TARGET, "--json")
        assert on_run(command, decomposed, *pair) == on_run(command, FIRST, *pair)


@pytest.mark.parametrize("text", ["\u00ad", "\x00", " \u200b\u2060 \ufeff\u3164"])
def test_a_line_without_anything_to_see_is_empty(text: str, on_run: Tmt) -> None:
    found = on_run("translate", text, "--json").json
    assert (found.pop("source"), found.pop("score"), found.pop("log_probability")) == (text, 0.0, 0.0)
    assert not any(found.values())
