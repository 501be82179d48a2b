"""The guided course: Markdown files, one per stop, and the measurements that some of them show.

    # Title
    Paragraphs, with *emphasis* and `code`.
    ## Formula      one per line: e_ij = (q_i · k_j)/√d
    ## Picture      the name of a picture on the page
    ## Question
    ## Check        a number with its tolerance, 0.5 ± 0.01, or a list of choices, the right one with [x]
    ## Answer
    ## Paper        [authors, year and section](address), several with commas
    ## Code         a class or function, as Python imports it
    ## Try it       Sentence:, View:, Head: and Command:, each on a line of its own, none of them required

Only title, question and answer are required. Files are read in the order of their names, so a teacher can edit, add or
leave out stops in a folder. `stops/` has a folder per language. Its `words.json` translates the terminal's own words.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import read_input
from transformer_mt.ground.registry import lookup
from transformer_mt.text.terminal import JsonObject
from transformer_mt.views.rendering import table_lines, wrapped
from transformer_mt.views.serialise import to_json

LESSONS = Path(__file__).parent / "stops"
CURVES = LESSONS / "curves.json"
# The terminal's own words; a folder may have others.
WORDS = {
    "of": "of", "question": "Question", "answer": "Answer", "show": "For the answer", "try": "Try it",
    "paper": "Paper", "code": "Code",
}  # fmt: skip
# The environment variable that names a folder with other stops.
FOLDER = "TMT_LESSONS"
_LONGEST = 2**16
_MOST = 99
_SECTIONS = ("Formula", "Picture", "Question", "Check", "Answer", "Paper", "Code", "Try it")
_KEYS = ("Sentence", "View", "Head", "Command")


@dataclass(frozen=True)
class Lesson:
    """A stop of the course."""

    number: int
    title: str
    paragraphs: tuple[str, ...]
    formulas: tuple[str, ...]
    picture: str
    question: str
    check: JsonObject | None
    answer: str
    papers: tuple[tuple[str, str], ...]
    code: str
    sentence: str | None
    view: str | None
    head: str | None
    command: str | None


def lessons(directory: Path | None = None) -> list[Lesson]:
    """The stops in a folder. Raises `InputError` for a folder or a file that is not a course."""
    folder = directory or course_folder()
    if not folder.is_dir():
        raise InputError(folder, "no such directory", "give one with lessons, such as a copy of ours")
    files = sorted(path for path in folder.glob("*.md") if path.is_file())
    if not 0 < len(files) <= _MOST:
        raise InputError(folder, f"{len(files)} files that end in .md", f"give 1 to {_MOST}")
    return [_parse(path, number) for number, path in enumerate(files, start=1)]


def answer_lessons() -> JsonObject:
    """The stops of the course, and the stored curves. Raises as `lessons`."""
    stops = [to_json(lesson) for lesson in lessons()]
    for stop in stops:
        stop["try"] = {key: stop.pop(key) for key in map(str.lower, _KEYS)}
    return {"lessons": stops, "curves": stored_curves()}


def course_folder(language: str | None = None) -> Path:
    """Our folder of this language, by default the one that the environment variable `FOLDER` names, or the English one.

    Raises `InputError` for an unknown language.
    """
    if language is None:
        return Path(os.environ.get(FOLDER) or LESSONS / "en")
    languages = {folder.name: folder for folder in sorted(LESSONS.iterdir()) if folder.is_dir()}
    return lookup(languages, language, key="--language")


def course_words(folder: Path) -> dict[str, str]:
    """The terminal's own words in the language of a folder; English where it has none. Raises `InputError`."""
    path = folder / "words.json"
    if not path.exists():
        return WORDS
    try:
        found = json.loads(read_input(path, limit=_LONGEST, remedy="shorten it"))
        return WORDS | {key: str(found[key]) for key in WORDS if key in found}
    except (TypeError, ValueError):
        raise InputError(path, "not a JSON object of words", "correct it, or delete it") from None


def stored_curves() -> JsonObject:
    """The measurements of `scripts/lesson_runs.py`: BLEU by length, losses by step, attention of recurrent models."""
    found: JsonObject = json.loads(CURVES.read_text("utf-8"))
    return found


def lesson_lines(
    lesson: Lesson, *, count: int, width: int, answer: bool = False, words: Mapping[str, str] = WORDS
) -> Iterator[str]:
    """Yield a stop for the terminal: its text, its numbers, its question, with its answer if wanted, and a command."""
    title = f"{lesson.number} {words['of']} {count}: {lesson.title}"
    yield from (title, "=" * len(title))
    for text in lesson.paragraphs:
        yield from ("", *wrapped(_plain(text), width=width))
    if lesson.formulas:
        yield from ("", *(f"  {formula}" for formula in lesson.formulas))
    if numbers := NUMBERS.get(lesson.picture):
        yield from ("", *numbers())
    yield from ("", *wrapped(_plain(f"{words['question']}: {lesson.question}"), width=width))
    for choice in (lesson.check or {}).get("choices", ()):
        yield f"  - {_plain(choice)}"
    hint = f"{words['show']}: tmt lesson {lesson.number} --answer"
    yield from ("", *wrapped(_plain(f"{words['answer']}: {lesson.answer}" if answer else hint), width=width))
    command = lesson.command or (lesson.sentence and f'tmt attend "{lesson.sentence}"')
    if command:
        yield from ("", f"{words['try']}:", f"  {command}")
    papers = [f"{words['paper']}: {text}, {address}" for text, address in lesson.papers]
    yield from ("", *papers, *([f"{words['code']}: {lesson.code}"] if lesson.code else []))


def _by_length() -> list[str]:
    """BLEU of variants by the length of the source."""
    curves = stored_curves()["length"]
    bands = [f"{low}–{high or ''}" for low, high, _ in next(iter(curves.values()))]
    return _curve_table("BLEU, by words", bands, curves, digits=1)


def _by_step() -> list[str]:
    """Training losses of variants by step."""
    curves = stored_curves()["loss"]
    steps = [str(step) for step, _ in next(iter(curves.values()))]
    return _curve_table("loss, after step", steps, curves, digits=2)


def _curve_table(title: str, places: list[str], curves: JsonObject, *, digits: int) -> list[str]:
    """A row per curve: the last number of each of its points."""
    rows = [[name, *(f"{number:.{digits}f}" for *_, number in points)] for name, points in curves.items()]
    return table_lines([[title, *places], *rows])


def _most_attended() -> list[str]:
    """The source token with the largest weight at each target token, for each score."""
    found: dict[str, dict[str, list[Any]]] = stored_curves()["rnn_attention"]
    rows = []
    for row, token in enumerate(next(iter(found.values()))["rows"]):
        best = (max(zip(one["weights"][row], one["columns"], strict=True)) for one in found.values())
        rows.append([token, *(f"{column} {weight:.2f}" for weight, column in best)])
    return table_lines([["largest weight at", *found], *rows])


def _by_hand() -> list[str]:
    """The worked example: scores, weights and context of the second of three words."""
    import torch

    from transformer_mt.attention.worked_example import simple_attention

    words = {"Hello": (0.34, 0.22, 0.54), "shiny": (0.53, 0.34, 0.98), "sun": (0.29, 0.54, 0.93)}
    scores, weights, contexts = simple_attention(torch.tensor(list(words.values())))
    rows = [
        [word, *(f"{number:.2f}" for number in vector), f"{score:.4f}", f"{weight:.4f}"]
        for (word, vector), score, weight in zip(words.items(), scores[1].tolist(), weights[1].tolist(), strict=True)
    ]
    mixed = [f"{number:.2f}" for number in contexts[1].tolist()]
    return table_lines([["word", "x1", "x2", "x3", "· shiny", "weight"], *rows, ["mixture", *mixed, "", ""]])


# The numbers of a picture, where the terminal can show them without a model.
NUMBERS = {"length-curves": _by_length, "rnn-attention": _most_attended, "norm-curves": _by_step, "shiny-sun": _by_hand}


def _parse(path: Path, number: int) -> Lesson:
    text = read_input(path, limit=_LONGEST, remedy="shorten it").decode("utf-8-sig", "replace")
    head, *parts = re.split(r"^## +(.+?)\s*$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    title, _, body = head.strip().partition("\n")
    if not title.startswith("# "):
        raise InputError(path, "does not start with a title", "write: # Title")
    if unknown := [name for name in sections if name not in _SECTIONS]:
        raise InputError(path, f"a section {unknown[0]!r}", f"use {', '.join(_SECTIONS)}")
    if missing := [name for name in ("Question", "Answer") if not sections.get(name)]:
        raise InputError(path, f"no section {missing[0]}", f"write: ## {missing[0]}")
    keys = dict(re.findall(r"^(\w+): *(.+?)\s*$", sections.get("Try it", ""), re.MULTILINE))
    if unknown := [name for name in keys if name not in _KEYS]:
        raise InputError(path, f"Try it: {unknown[0]!r} is unknown", f"use {', '.join(_KEYS)}")
    paragraphs = tuple(_joined(part) for part in re.split(r"\n\s*\n", body.strip()) if part)
    return Lesson(
        number, title[2:].strip(), paragraphs, tuple(sections.get("Formula", "").splitlines()),
        sections.get("Picture", ""), _joined(sections["Question"]), _check(path, sections.get("Check", "")),
        _joined(sections["Answer"]), tuple(re.findall(r"\[([^]]+)\]\((https://[^)\s]+)\)", sections.get("Paper", ""))),
        sections.get("Code", ""), *(keys.get(name) for name in _KEYS),
    )  # fmt: skip


def _check(path: Path, text: str) -> JsonObject | None:
    """How to check a student's answer: a number and its tolerance, or choices and the index of the right one."""
    if number := re.fullmatch(r"(-?[\d.]+) ± ([\d.]+)", text):
        with suppress(ValueError):
            return {"kind": "number", "value": float(number[1]), "tolerance": float(number[2])}
    choices = re.findall(r"^- (\[x\] )?(.+?)\s*$", text, re.MULTILINE)
    right = [place for place, (mark, _) in enumerate(choices) if mark]
    if text and len(right) != 1:
        raise InputError(path, "Check: no right answer", "write 0.5 ± 0.01, or a list with one [x]")
    return {"kind": "choice", "choices": [choice for _, choice in choices], "right": right[0]} if text else None


def _joined(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return re.sub(r"[*`]([^*`]+)[*`]", r"\1", text)
