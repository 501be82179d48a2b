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


@pytest.mark.parametrize("lesson", COURSE, ids=lambda lesson: lesson.picture)
def test_sentences_are_short_and_introduce_at_most_one_term(lesson) -> None:  # type: ignore[no-untyped-def]
    texts = [*lesson.paragraphs, lesson.question, lesson.answer]
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.?!:;]) ", text)]
    assert not [sentence for sentence in sentences if len(sentence.split()) > 20]
    assert len(re.findall(r"(?<=[.?!]) ", " ".join(lesson.paragraphs))) == 2  # three sentences
    assert len(re.findall(r"\*[^*]+\*", " ".join(lesson.paragraphs))) <= 1
    assert lesson.question.endswith("?") or "." in lesson.question


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
        (TEXT.replace("# T\n", "T\n"), "a.md: does not start with a title; write: # Title"),
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


def test_a_folder_without_lessons_is_one_line(tmp_path: Path) -> None:
    for folder, problem in ((tmp_path / "x", "no such directory"), (tmp_path, "0 files that end in .md")):
        with pytest.raises(InputError, match=problem):
            lessons(folder)
    for number in range(100):
        (tmp_path / f"{number}.md").write_text(TEXT, "utf-8")
    with pytest.raises(InputError, match="100 files"):
        lessons(tmp_path)


def test_stored_measurements_are_small_and_complete() -> None:
    assert CURVES.stat().st_size <= 100_000
    curves = stored_curves()
    assert {*curves["length"], *curves["loss"], *curves["rnn_attention"]} >= {"gru_none", "post_norm", "additive"}
    for maps in curves["rnn_attention"].values():
        assert [len(row) for row in maps["weights"]] == [len(maps["columns"])] * len(maps["rows"])
        assert all(sum(row) == pytest.approx(1, abs=0.02) for row in maps["weights"])


@pytest.mark.parametrize("name", NUMBERS)
def test_the_terminal_shows_the_numbers_of_a_picture(name: str) -> None:
    lesson = next(one for one in COURSE if one.picture == name)
    text = "\n".join(lesson_lines(lesson, count=16, width=200))
    assert re.search(r"\d\.\d", text)


def looked_at(rows: list[str], columns: list[str], weights: list[list[float]]) -> dict[str, str]:
    """For each row, the column with the largest weight."""
    most = [columns[max(range(len(row)), key=row.__getitem__)] for row in weights]
    return {row.strip("▁"): column.strip("▁") for row, column in zip(rows, most, strict=True)}


def test_the_answers_that_name_measurements_are_true() -> None:
    curves = stored_curves()
    long = {variant: bands[3][2] for variant, bands in curves["length"].items()}
    assert min(long, key=long.__getitem__) == "gru_none"
    early = {variant: dict(map(tuple, points))[100] for variant, points in curves["loss"].items()}
    assert min(early, key=early.__getitem__) == "baseline"
    scores = {score: looked_at(*one.values()) for score, one in curves["rnn_attention"].items()}
    for word in ("old", "man", "book"):
        assert len({found[word] for found in scores.values()}) == 1
    assert {score: found["reading"] for score, found in scores.items()} == {
        "dot": "</s>", "bilinear": "liest", "additive": "liest",
    }  # fmt: skip
