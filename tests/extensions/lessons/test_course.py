"""The course: complete stops in short sentences, in every language; files of a teacher's own; hostile ones."""

import re
from pathlib import Path

import pytest

from transformer_mt.extensions.lessons.course import (
    Course,
    Lesson,
    answer_lessons,
    course_file,
    lesson_lines,
    read_course,
    stored_curves,
)
from transformer_mt.ground.errors import InputError

TEXT = """
[[stops]]
title = "T"
text = '''
One *two*
`three`.

Four.'''
formulas = ['a = b', 'c = d']
picture = "p"
part = "q"
question = "Why?"
check = { choices = ["x", "y", "z"], right = 1 }
answer = "So."
papers = [{ text = "A, 1", url = "https://a.b" }]
code = "m.C"
try.sentence = "Ja."
try.command = "tmt x"
"""
ENGLISH, GERMAN = (read_course(course_file(language)) for language in ("en", "de"))
VIEWS = {"choices", "heads", "steps", "lens", "learning"}


def course(path: Path, text: str) -> Course:
    path.write_text(text, "utf-8")
    return read_course(path)


def test_stops_are_complete() -> None:
    pictures = [one.picture for one in ENGLISH.stops if one.picture]
    assert len({*pictures}) == len(pictures)
    assert {one.attempt.view for one in ENGLISH.stops} - {None} <= VIEWS
    assert all(one.formulas and one.check and one.papers and one.code for one in ENGLISH.stops)


@pytest.mark.parametrize("lesson", [*ENGLISH.stops, *GERMAN.stops], ids=lambda lesson: lesson.title)
def test_texts_have_80_to_150_words_in_short_sentences(lesson: Lesson) -> None:
    sentences = re.split(r"(?<=[.?!:;])\s", " ".join([lesson.text, lesson.question, lesson.answer]))
    assert max(len(sentence.split()) for sentence in sentences) <= 20
    assert 80 <= len(lesson.text.split()) <= 150


def test_commands_that_read_a_model_name_the_ready_one() -> None:
    """After a student has trained a model without attention, they still work."""
    commands = [one.attempt.command or "" for one in ENGLISH.stops]
    reading = [command for command in commands if re.match("tmt (align|attend|explain|translate) ", command)]
    assert len(reading) >= 7
    assert all(command.endswith(" --model ready") for command in reading)


def test_the_german_course_says_the_same() -> None:
    """The same formulas, pictures, numbers to check, right choices, papers and commands."""

    def common(lesson: Lesson) -> tuple[object, ...]:
        check = lesson.check and lesson.check.model_dump(exclude={"choices"})
        return (
            lesson.formulas, lesson.picture, lesson.part, check, [paper.url for paper in lesson.papers], lesson.code,
            lesson.attempt,
        )  # fmt: skip

    assert [*map(common, GERMAN.stops)] == [*map(common, ENGLISH.stops)]
    assert GERMAN.words.answer == "Antwort"


def test_a_lesson_is_read_from_toml(tmp_path: Path) -> None:
    read = course(tmp_path / "a.toml", TEXT + TEXT)
    assert list(lesson_lines(read, 1, width=12, answer=True)) == [
        "1 of 2: T", "=========", "", "One two", "three.", "", "Four.", "", "  a = b", "  c = d", "", "Question:",
        "Why?", "  - x", "  - y", "  - z", "", "Answer: So.", "", "Try it:", "  tmt x", "",
        "Paper: A, 1, https://a.b", "Code: m.C",
    ]  # fmt: skip
    unanswered = [*lesson_lines(read, 2, width=80)]
    assert "Answer: So." not in unanswered
    assert "For the answer: tmt lesson 2 --answer" in unanswered


def test_a_minimal_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    path.write_text('[[stops]]\ntitle = "T"\ntext = "a"\nquestion = "b"\nanswer = "c"\n', "utf-8")
    monkeypatch.setenv("TMT_LESSONS", str(path))
    (stop,) = answer_lessons()["lessons"]
    nothing = {"sentence": None, "view": None, "head": None, "command": None}
    assert stop == {
        "number": 1, "title": "T", "paragraphs": ["a"], "formulas": [], "picture": None, "part": None, "question": "b",
        "check": None, "answer": "c", "papers": [], "code": None, "try": nothing,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "stops: Field required"),
        ("stops = []", "stops: List should have at least 1 item"),
        ("[[stops]]\ntitle", "not TOML (Expected '=' after a key"),
        (TEXT.replace('answer = "So."\n', ""), "stops.0.answer: Field required"),
        (TEXT.replace("right = 1", "right = 3"), "stops.0.check"),
        (TEXT + "try.heads = 1\n", "stops.0.try.heads: Extra inputs are not permitted"),
        (TEXT.replace("https://a.b", "javascript:x"), "stops.0.papers.0.url: String should match pattern"),
        ("#" * 2**19, "more than 262144 bytes; shorten it"),
    ],
)
def test_a_wrong_course_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        course(tmp_path / "a.toml", text)
    assert str(raised.value).startswith(f"{tmp_path}/a.toml: {problem}")
    assert "\n" not in str(raised.value)


def test_the_terminal_shows_the_numbers_of_a_picture() -> None:
    lines = {stop.picture: "\n".join(lesson_lines(ENGLISH, n, width=200)) for n, stop in enumerate(ENGLISH.stops, 1)}
    tables = stored_curves()["tables"]
    assert {"length-curves", "norm-curves", "rnn-attention", "shiny-sun"} == {*tables}
    assert all(
        re.search(r"\d\.\d", lines[name]) and all(cell in lines[name] for row in rows for cell in row)
        for name, rows in tables.items()
    )
