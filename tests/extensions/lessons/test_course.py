"""The course: sixteen stops in short sentences; files of a teacher's own; hostile ones."""

import re
from pathlib import Path

import pytest

from transformer_mt.extensions.lessons.course import CURVES, NUMBERS, lesson_lines, lessons, stored_curves
from transformer_mt.ground.errors import InputError

TEXT = (
    "# T\n\nOne *two*\n`three`.\n\nFour.\n## Picture\np\n## Question\nWhy?\n## Answer\nSo.\n"
    "## Try it\nSentence: Ja.\nView: heads\n"
)
COURSE = lessons()
VIEWS = {"choices", "heads", "steps", "lens", "learning"}


def test_the_course_has_sixteen_stops() -> None:
    assert [one.number for one in COURSE] == [*range(1, 17)]
    assert len({one.picture for one in COURSE}) == 16
    assert {one.view for one in COURSE} - {None} <= VIEWS
    assert all(one.command or one.sentence or one.picture == "shiny-sun" for one in COURSE)


@pytest.mark.parametrize("number", range(16))
def test_sentences_are_short_and_introduce_at_most_one_term(number: int) -> None:
    lesson = COURSE[number]
    text = " ".join(lesson.paragraphs)
    sentences = re.split(r"(?<=[.?!:;]) ", " ".join([text, lesson.question, lesson.answer]))
    assert max(len(sentence.split()) for sentence in sentences) <= 20
    assert len(re.findall(r"(?<=[.?!]) ", text)) == 2  # three sentences
    assert len(re.findall(r"\*[^*]+\*", text)) <= 1


def test_a_lesson_is_read_from_markdown(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text(TEXT.replace("# T\n", "# Second\n"), "utf-8")
    (tmp_path / "a.md").write_text(TEXT, "utf-8")
    (tmp_path / "notes.txt").write_text("no lesson", "utf-8")
    first, second = lessons(tmp_path)
    assert (first.number, first.title, second.title) == (1, "T", "Second")
    assert first.paragraphs == ("One *two* `three`.", "Four.")
    assert (first.picture, first.question, first.answer) == ("p", "Why?", "So.")
    assert (first.sentence, first.view, first.head, first.command) == ("Ja.", "heads", None, None)
    lines = list(lesson_lines(first, count=2, width=12, answer=True))
    assert lines == [
        "1 of 2: T", "=========", "", "One two", "three.", "", "Four.", "", "Question:", "Why?", "", "Answer: So.", "",
        "Try it:", '  tmt attend "Ja."',
    ]  # fmt: skip
    assert "Answer: So." not in lesson_lines(first, count=2, width=80)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a.md: does not start with a title; write: # Title"),
        (TEXT.replace("## Answer\nSo.\n", ""), "a.md: no section Answer; write: ## Answer"),
        (TEXT + "## More\n", "a.md: a section 'More'; use Picture, Question, Answer, Try it"),
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
    shown = {lesson.picture: "\n".join(lesson_lines(lesson, count=16, width=200)) for lesson in COURSE}
    assert all(re.search(r"\d\.\d", shown[name]) for name in NUMBERS)


def test_the_answers_that_name_measurements_are_true() -> None:
    assert CURVES.stat().st_size <= 100_000
    curves = stored_curves()
    long = {variant: bands[3][2] for variant, bands in curves["length"].items()}
    assert min(long, key=long.__getitem__) == "gru_none"
    early = {variant: dict(map(tuple, points))[100] for variant, points in curves["loss"].items()}
    assert min(early, key=early.__getitem__) == "baseline"
    looked = {}
    for score, maps in curves["rnn_attention"].items():
        most = [maps["columns"][row.index(max(row))].strip("▁") for row in maps["weights"]]
        looked[score] = dict(zip((row.strip("▁") for row in maps["rows"]), most, strict=True))
    for word in ("old", "man", "book"):
        assert len({found[word] for found in looked.values()}) == 1
    assert {score: found["reading"] for score, found in looked.items()} == {
        "dot": "</s>", "bilinear": "liest", "additive": "liest",
    }  # fmt: skip
