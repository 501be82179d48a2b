"""The guided course: a TOML file per language, with all stops, and the measurements that some of them show.

A stop has a title, a text in paragraphs with *emphasis* and `code`, and a question with its answer. `formulas` are in
linear notation, such as e_ij = (q_i · k_j)/√d; `picture` names a picture of the page; `part` is in the names of the
boxes that light up in the drawing of the Transformer; `check` is a number with a tolerance, or three choices and the
index of the right one, from 0; `papers` have a text and an address; `code` is a class or function, as Python imports
it; `try` has a sentence, a view, a head and a command. A teacher can edit, translate, add or leave out stops in a copy.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from transformer_mt.extensions.serve.page import LANGUAGE
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import read_input
from transformer_mt.ground.registry import lookup
from transformer_mt.text.terminal import JsonObject
from transformer_mt.views.rendering import table_lines, wrapped

LANGUAGES = Path(__file__).parent / "languages"
CURVES = Path(__file__).parent / "curves.json"
# The environment variable that names a file with other stops.
FILE = "TMT_LESSONS"
_LONGEST = 2**18

Paragraphs = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Words = Annotated[Paragraphs, AfterValidator(lambda text: " ".join(text.split()))]  # one line
Address = Annotated[str, StringConstraints(pattern="^https://[^ ]+$")]


class _Part(BaseModel):
    """A part of the file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NumberCheck(_Part):
    """A student's answer is right if it differs from `value` by at most `tolerance`."""

    kind: Literal["number"] = "number"
    value: float
    tolerance: float


class ChoiceCheck(_Part):
    """A student's answer is right if it is the choice at the index `right`."""

    kind: Literal["choice"] = "choice"
    choices: tuple[Words, Words, Words]
    right: Literal[0, 1, 2]


class Paper(_Part):
    """A paper, with the section to read."""

    text: Words
    url: Address


class Attempt(_Part):
    """What to try: a sentence with a view and a head of the page, and a command."""

    sentence: Words | None = None
    view: Words | None = None
    head: Words | None = None
    command: Words | None = None


class Lesson(_Part):
    """A stop of the course."""

    title: Words
    text: Paragraphs
    formulas: list[Words] = []
    picture: Words | None = None
    part: Words | None = None
    question: Words
    check: NumberCheck | ChoiceCheck | None = None
    answer: Words
    papers: list[Paper] = []
    code: Words | None = None
    attempt: Attempt = Field(default=Attempt(), alias="try")

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs of the text, each on one line."""
        return [" ".join(part.split()) for part in re.split(r"\n\s*\n", self.text)]


class Terms(_Part):
    """The words that the terminal adds."""

    of: Words = "of"
    question: Words = "Question"
    answer: Words = "Answer"
    show: Words = "For the answer"
    attempt: Words = Field(default="Try it", alias="try")
    paper: Words = "Paper"
    code: Words = "Code"


class Course(_Part):
    """The stops in one language."""

    words: Terms = Terms()
    stops: list[Lesson] = Field(min_length=1, max_length=99)


def read_course(path: Path) -> Course:
    """The course in a file. Raises `InputError` for a file that is not a course."""
    content = read_input(path, limit=_LONGEST, remedy="shorten it")
    try:
        return Course.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise InputError(path, f"{place}: {problem['msg']}", "compare it with the built-in course") from None
    except ValueError as error:
        raise InputError(path, f"not TOML ({error})", "correct it") from None


def course_file(language: str | None = None) -> Path:
    """Our file in this language, by default the file that the environment variable `FILE` names, or ours in the
    language of the page, or the English one.

    Raises `InputError` for an unknown language.
    """
    ours = {path.stem: path for path in sorted(LANGUAGES.glob("*.toml"))}
    if language:
        return lookup(ours, language, key="--language")
    own = os.environ.get(FILE)
    return Path(own) if own else ours.get(os.environ.get(LANGUAGE, ""), ours["en"])


def answer_lessons(course: Course | None = None) -> JsonObject:
    """The stops of a course, by default that of `course_file`, and the stored curves. Raises as `read_course`."""
    stops = [
        {"number": number, "paragraphs": stop.paragraphs} | stop.model_dump(by_alias=True, exclude={"text"})
        for number, stop in enumerate((course or read_course(course_file())).stops, start=1)
    ]
    return {"lessons": stops, "curves": stored_curves()}


def stored_curves() -> JsonObject:
    """The measurements of `scripts/lesson_runs.py`, and as `tables` those that the terminal shows, by picture."""
    found: JsonObject = json.loads(CURVES.read_text("utf-8"))
    return found


def lesson_lines(course: Course, number: int, *, width: int, answer: bool = False) -> Iterator[str]:
    """Yield a stop, by its number from 1: its text, its formulas and numbers, its question, and a command to try.

    Its answer follows if wanted.
    """
    lesson, words = course.stops[number - 1], course.words
    title = f"{number} {words.of} {len(course.stops)}: {lesson.title}"
    yield from (title, "=" * len(title))
    for text in lesson.paragraphs:
        yield from ("", *wrapped(_plain(text), width=width))
    if lesson.formulas:
        yield from ("", *(f"  {formula}" for formula in lesson.formulas))
    if rows := stored_curves()["tables"].get(lesson.picture):
        yield from ("", *table_lines(rows))
    yield from ("", *wrapped(_plain(f"{words.question}: {lesson.question}"), width=width))
    if isinstance(lesson.check, ChoiceCheck):
        yield from (f"  - {_plain(choice)}" for choice in lesson.check.choices)
    hint = f"{words.show}: tmt lesson {number} --answer"
    yield from ("", *wrapped(_plain(f"{words.answer}: {lesson.answer}" if answer else hint), width=width))
    if command := lesson.attempt.command:
        yield from ("", f"{words.attempt}:", f"  {command}")
    papers = [f"{words.paper}: {paper.text}, {paper.url}" for paper in lesson.papers]
    yield from ("", *papers, *([f"{words.code}: {lesson.code}"] if lesson.code else []))


def _plain(text: str) -> str:
    return re.sub(r"[*`]([^*`]+)[*`]", r"\1", text)
