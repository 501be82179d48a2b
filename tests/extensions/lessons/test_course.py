"""The course: stops in short sentences; files of a teacher's own; hostile ones."""

import re
from pathlib import Path

import pytest

from transformer_mt.extensions.lessons.course import (
    NUMBERS,
    WORDS,
    Lesson,
    course_folder,
    course_words,
    lesson_lines,
    lessons,
)
from transformer_mt.ground.errors import InputError

TEXT = (
    "# T\n\nOne *two*\n`three`.\n\nFour.\n## Formula\na = b\nc = d\n## Picture\np\n## Question\nWhy?\n"
    "## Check\n- x\n- [x] y\n## Answer\nSo.\n## Paper\n[A, 1](https://a.b), [B](https://c.d)\n## Code\nm.C\n"
    "## Try it\nSentence: Ja.\nView: heads\n"
)
COURSE = lessons(course_folder("en"))
GERMAN = lessons(course_folder("de"))
VIEWS = {"choices", "heads", "steps", "lens", "learning"}


def test_stops_are_complete() -> None:
    assert [one.number for one in COURSE] == [*range(1, 22)]
    pictures = [one.picture for one in COURSE if one.picture]
    assert len({*pictures}) == len(pictures)
    assert {one.view for one in COURSE} - {None} <= VIEWS
    assert all(one.formulas and one.check and one.papers for one in COURSE)


@pytest.mark.parametrize("lesson", [*COURSE, *GERMAN], ids=lambda lesson: lesson.title)
def test_texts_have_80_to_150_words_in_short_sentences(lesson: Lesson) -> None:
    text = " ".join(lesson.paragraphs)
    sentences = re.split(r"(?<=[.?!:;]) ", " ".join([text, lesson.question, lesson.answer]))
    assert max(len(sentence.split()) for sentence in sentences) <= 20
    assert 80 <= len(text.split()) <= 150


def test_commands_that_read_a_model_name_the_ready_one() -> None:
    """After a student has trained a model without attention, they still work."""
    reading = [one.command for one in COURSE if re.match("tmt (align|attend|explain|translate) ", one.command or "")]
    assert len(reading) >= 7
    assert all(command and command.endswith(" --model ready") for command in reading)


def test_the_german_course_says_the_same() -> None:
    """The same formulas, pictures, numbers to check, right choices, papers and commands."""

    def common(lesson: Lesson) -> tuple[object, ...]:
        check = {key: value for key, value in (lesson.check or {}).items() if key != "choices"}
        addresses = [address for _, address in lesson.papers]
        tried = (lesson.sentence, lesson.view, lesson.head, lesson.command)
        return (lesson.formulas, lesson.picture, check, addresses, lesson.code, tried)

    assert [*map(common, GERMAN)] == [*map(common, COURSE)]
    words = course_words(course_folder("de"))
    assert words.keys() == WORDS.keys()
    assert words["answer"] == "Antwort"


def test_a_lesson_is_read_from_markdown(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text(TEXT.replace("# T\n", "# Second\n"), "utf-8")
    (tmp_path / "a.md").write_text(TEXT, "utf-8")
    (tmp_path / "notes.txt").write_text("no lesson", "utf-8")
    first, second = lessons(tmp_path)
    assert (first.number, first.title, second.title) == (1, "T", "Second")
    assert first.paragraphs == ("One *two* `three`.", "Four.")
    assert (first.picture, first.question, first.answer) == ("p", "Why?", "So.")
    assert first.formulas == ("a = b", "c = d")
    assert first.check == {"kind": "choice", "choices": ["x", "y"], "right": 1}
    assert (first.papers, first.code) == ((("A, 1", "https://a.b"), ("B", "https://c.d")), "m.C")
    assert (first.sentence, first.view, first.head, first.command) == ("Ja.", "heads", None, None)
    lines = list(lesson_lines(first, count=2, width=12, answer=True))
    assert lines == [
        "1 of 2: T", "=========", "", "One two", "three.", "", "Four.", "", "  a = b", "  c = d", "", "Question:",
        "Why?", "  - x", "  - y", "", "Answer: So.", "", "Try it:", '  tmt attend "Ja."', "",
        "Paper: A, 1, https://a.b", "Paper: B, https://c.d", "Code: m.C",
    ]  # fmt: skip
    unanswered = [*lesson_lines(first, count=2, width=80)]
    assert "Answer: So." not in unanswered
    assert "For the answer: tmt lesson 1 --answer" in unanswered


@pytest.mark.parametrize("value", ["1.5", "-2", "x"])
def test_a_number_is_checked_with_a_tolerance(value: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT.replace("- x\n- [x] y", f"{value} ± 0.1"), "utf-8")
    if value == "x":
        with pytest.raises(InputError, match="no right answer"):
            lessons(tmp_path)
    else:
        assert lessons(tmp_path)[0].check == {"kind": "number", "value": float(value), "tolerance": 0.1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a.md: does not start with a title; write: # Title"),
        (TEXT.replace("## Answer\nSo.\n", ""), "a.md: no section Answer; write: ## Answer"),
        (
            TEXT + "## More\n",
            "a.md: a section 'More'; use Formula, Picture, Question, Check, Answer, Paper, Code, Try it",
        ),
        (TEXT + "Heads: 1\n", "a.md: Try it: 'Heads' is unknown; use Sentence, View, Head, Command"),
        ("# T" * 2**15, "a.md: more than 65536 bytes; shorten it"),
    ],
)
def test_a_wrong_lesson_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text, "utf-8")
    with pytest.raises(InputError) as raised:
        lessons(tmp_path)
    assert str(raised.value) == f"{tmp_path}/{problem}"


@pytest.mark.parametrize(("folder", "problem"), [("x", "no such"), ("none", "0 files"), ("many", "100 files")])
def test_a_folder_without_lessons_is_one_line(folder: str, problem: str, tmp_path: Path) -> None:
    for name, count in (("none", 0), ("many", 100)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / f"{number}.md").write_text(TEXT, "utf-8")
    with pytest.raises(InputError, match=problem):
        lessons(tmp_path / folder)


def test_the_terminal_shows_the_numbers_of_a_picture() -> None:
    shown = {lesson.picture: "\n".join(lesson_lines(lesson, count=21, width=200)) for lesson in COURSE}
    assert all(re.search(r"\d\.\d", shown[name]) for name in NUMBERS)
