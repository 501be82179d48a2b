"""`tmt lesson`: the guided course in the terminal."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.ground.errors import InputError


def lesson(
    number: Annotated[int | None, Argument(metavar="N", help="Number, from 1. [lists all]")] = None,
    answer: Annotated[bool, Option("--answer", help="Print the answer too.")] = False,
    lessons: Annotated[
        Path | None, Option(metavar="DIR", help="A folder with your own lessons. [the built-in course]")
    ] = None,
) -> None:
    """Learn attention step by step: short lessons, each with a formula, a question and a paper.

    \b
    Examples:
      tmt lesson
      tmt lesson 3
      tmt lesson 3 --answer

    Commands that look into a model use the ready one. tmt serve shows the same course with pictures
    and controls. To edit or translate it, copy the folder of the built-in course and pass it with --lessons.
    The environment variable TMT_LESSONS names it for tmt serve too.
    """
    from transformer_mt.extensions.lessons.course import course_folder, lesson_lines
    from transformer_mt.extensions.lessons.course import lessons as read

    course = read(lessons)
    if number is None:
        result(*(f"{one.number:2}  {one.title}" for one in course))
        note(f"read one with: tmt lesson N; the texts are in {lessons or course_folder()}")
        return
    if not 1 <= number <= len(course):
        raise InputError("number", f"no lesson {number}", f"give a number from 1 to {len(course)}")
    result(*lesson_lines(course[number - 1], count=len(course), width=literal_console().width, answer=answer))
