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
    language: Annotated[
        str | None, Option(metavar="CODE", help="Language of the built-in course: en, de. [en]")
    ] = None,
) -> None:
    """Learn attention step by step: short lessons, each with a formula, a question and a paper.

    \b
    Examples:
      tmt lesson
      tmt lesson 3
      tmt lesson 3 --answer
      tmt lesson 3 --language de

    Commands that look into a model use the ready one. tmt serve shows the same course with pictures
    and controls. To edit or translate it, copy the folder of the built-in course and pass it with --lessons.
    The environment variable TMT_LESSONS names it for tmt serve too.
    """
    from transformer_mt.extensions.lessons.course import course_folder, course_words, lesson_lines
    from transformer_mt.extensions.lessons.course import lessons as read

    if lessons and language:
        raise InputError("--language", "belongs to the built-in course", "leave it out")
    folder = lessons or course_folder(language)
    course = read(folder)
    if number is None:
        result(*(f"{one.number:2}  {one.title}" for one in course))
        note(f"read one with: tmt lesson N; the texts are in {folder}")
        return
    if not 1 <= number <= len(course):
        raise InputError("number", f"no lesson {number}", f"give a number from 1 to {len(course)}")
    width, words = literal_console().width, course_words(folder)
    result(*lesson_lines(course[number - 1], count=len(course), width=width, answer=answer, words=words))
