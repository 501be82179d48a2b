"""`tmt lesson`: the guided course in the terminal."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import write_output


def lesson(
    number: Annotated[int | None, Argument(metavar="N", help="Number, from 1. [lists all]")] = None,
    answer: Annotated[bool, Option("--answer", help="Print the answer too.")] = False,
    lessons: Annotated[
        Path | None, Option(metavar="FILE", help="A TOML file with your own lessons. [the built-in course]")
    ] = None,
    language: Annotated[
        str | None, Option(metavar="CODE", help="Language of the built-in course: en, de. [en]")
    ] = None,
    html: Annotated[
        Path | None, Option(metavar="FILE", help="Save the course as a page that works offline, open at lesson N.")
    ] = None,
) -> None:
    """Learn attention step by step: short lessons, each with a formula, a question and a paper.

    \b
    Examples:
      tmt lesson
      tmt lesson 3
      tmt lesson 3 --answer
      tmt lesson 3 --language de
      tmt lesson --html course.html

    Commands that look into a model use the ready one. tmt serve shows the same course with pictures
    and controls. To edit or translate it, copy the file of the built-in course and pass it with --lessons.
    The environment variable TMT_LESSONS names it for tmt serve too.
    """
    from transformer_mt.extensions.lessons.course import course_file, lesson_lines, read_course

    if lessons and language:
        raise InputError("--language", "belongs to the built-in course", "leave it out")
    path = lessons or course_file(language)
    course = read_course(path)
    count = len(course.stops)
    if not 1 <= (number or 1) <= count:
        raise InputError("number", f"no lesson {number}", f"give a number from 1 to {count}")
    if html:
        from transformer_mt.extensions.lessons.saved_course import course_page

        if html.exists():
            raise InputError(html, "exists", "give another name")
        write_output(html, course_page(course, stop=number or 1, language=language))
        note(f"wrote {html}; open it in a browser")
    elif number is None:
        result(*(f"{place:2}  {one.title}" for place, one in enumerate(course.stops, start=1)))
        note(f"read one with: tmt lesson N; the texts are in {path}")
    else:
        result(*lesson_lines(course, number, width=literal_console().width, answer=answer))
