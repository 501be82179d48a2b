"""The inspected sentence of a line, and its text as read by the model."""

import unicodedata

import pytest
from support.command_line import PAIRS, VIEWS_PAGE, Tmt, present

SENTENCES = [source for source, _ in PAIRS[:3]]
FIRST, LINE = SENTENCES[0], " ".join(SENTENCES)
TARGET = PAIRS[0][1]
VIEWS = present("attend", "explain", "lens", "align")


@pytest.mark.parametrize("command", VIEWS)
def test_sentence_number(command: str, on_run: Tmt) -> None:
    outcome = on_run(command, "--json", LINE, "--sentence", "2")
    others = f"1 {SENTENCES[0]}  3 {SENTENCES[2]}"
    assert outcome.err.startswith(f"tmt: sentence 2 of 3; choose another with --sentence: {others}\n")
    assert outcome.json == on_run(command, "--json", SENTENCES[1]).json | {"sentence": 2, "sentences": SENTENCES}
    assert on_run(command, "--json", LINE, "--quiet").err == ""


def test_sentence_keys_are_documented() -> None:
    assert "`sentence`" in VIEWS_PAGE
    assert "`sentences`" in VIEWS_PAGE


@pytest.mark.parametrize("command", ["attend", "align"])
def test_remarks_are_about_the_chosen_sentence(command: str, on_run: Tmt) -> None:
    line = (f"{FIRST} Der Bahnhof schläft.", "--json")
    first, second = on_run(command, *line), on_run(command, *line, "--sentence", "2")
    assert [one.json["never_seen"] for one in (first, second)] == [[], ["Bahnhof"]]
    assert ["never seen in training: Bahnhof" in one.err for one in (first, second)] == [False, True]


def test_target_keeps_the_line_unchanged(on_run: Tmt) -> None:
    for text in (LINE, "DER HUND SCHLÄFT", "der hund schläft"):
        found = on_run("align", text, "--target", TARGET, "--json").json
        assert found["source"] == text
        assert "case" not in found["remarks"]
        assert "sentences" not in found


def test_labels_are_words_of_the_normalised_text(on_run: Tmt) -> None:
    composed = on_run("align", FIRST, "--target", TARGET)
    assert composed.lines[1] == "0 Der  1 Hund  2 schläft  3 ."
    decomposed, (article, rest) = unicodedata.normalize("NFD", FIRST), FIRST.split(maxsplit=1)
    odd = f"\x00{article[:1]}\u00ad{article[1:]}\t{rest}\u200e"
    for text in (f"{article} ▁ {rest}", decomposed, f"{article} \ufeff{rest}", odd):
        assert text != FIRST
        assert on_run("align", text, "--target", TARGET) == composed
    for command in present("attend", "lens", "explain"):
        pair = ("--target", TARGET, "--json")
        assert on_run(command, decomposed, *pair) == on_run(command, FIRST, *pair)


def test_invisible_line_is_empty(on_run: Tmt) -> None:
    text = " \u200b\u2060 \x00\u00ad\ufeff\u3164"
    found = on_run("translate", text, "--json").json
    assert (found.pop("source"), found.pop("score"), found.pop("log_probability")) == (text, 0.0, 0.0)
    assert not any(found.values())


@pytest.mark.parametrize("command", ["translate", *VIEWS])
def test_a_model_with_one_target_language_has_only_that(command: str, on_run: Tmt) -> None:
    assert on_run(command, FIRST, "--to", "en", "--json") == on_run(command, FIRST, "--json")
    assert on_run(command, FIRST, "--to", "fr").mistake == "--to: 'fr' is unknown; choose one of en"
