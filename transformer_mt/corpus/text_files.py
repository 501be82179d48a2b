"""Plain parallel text, TSV and CSV, read strictly: UTF-8, and the same number of columns in each row."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import (
    ColumnChoice,
    PlacedRecords,
    Row,
    SplitSource,
    languages_of,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import LONGEST_LINE, bounded_lines

_MOST_COLUMNS = 4
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def text_lines(file: DataFile) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file as `bounded_lines`. Raises `InputError` for the first that is overlong or not UTF-8."""
    with file.plain.open("rb") as stream:
        for number, line in bounded_lines(stream, name=str(file.path)):
            if isinstance(line, InputError):
                raise line
            yield number, line


class ParallelText(SplitSource):
    """Files that are translations line by line, and their languages, if their names give them."""

    def __init__(self, files: Sequence[DataFile]) -> None:
        languages = tuple(language for file in files for language in file.languages)
        languages = languages if len({*languages}) == len(files) == len(languages) else ()
        identity = ["text", *languages, *(file.identity[-1] for file in files)]
        name = " and ".join([str(files[0].path), *(file.path.name for file in files[1:])])
        super().__init__(name, identity, lambda: iter(()), languages)
        self._files = files

    @override
    def rows(self, choice: ColumnChoice) -> Iterator[Row]:
        files = self.in_direction(self._files, choice)
        for source, target in zip_longest(*map(text_lines, files)):
            if source is None or target is None:
                one, other = (f"{sum(1 for _ in text_lines(file)):,}" for file in files)
                different = f"{one} lines, but {files[1].path} has {other}"
                raise InputError(files[0].path, different, "give each sentence a line in both")
            yield f"{files[0].path}:{source[0]}", source[1], target[1]


class TabSeparated(SplitSource):
    """A TSV file: `source<TAB>target` as in OPUS and Moses, or with numbers or a third text as in Tatoeba.

    A first line of languages, of `source` and `target`, or of the configured column names is a heading. Quotes are
    text, except where pandas quoted a cell with quotes in it and doubled these.
    """

    def __init__(self, file: DataFile) -> None:
        super().__init__(
            str(file.path), file.identity, partial(_tsv_rows, file), file.languages if len(file.languages) > 1 else ()
        )
        self._first = [cell for _, row in islice(self.read(), 1) for cell in row.values()]

    @override
    def languages(self) -> tuple[str, ...]:
        return self.said or languages_of(self._first)

    @override
    def find(self, choice: ColumnChoice) -> tuple[list[str], int]:
        has_languages = bool(languages_of(self._first))
        if choice.source_column.isdecimal() and choice.target_column.isdecimal():
            return super().find(choice)[0], has_languages
        if heading := self.find_columns(self._first, choice, place=f"{self.name}:1"):
            return [self.names[self._first.index(name)] for name in heading], 1
        if has_languages or choice.source_column:
            self.lacks(self._first, choice)
        # The first two columns that are not numbers; with two columns, both.
        count = len(self._first)
        cells = zip(self.names, self._first, strict=True)
        texts = [name for name, cell in cells if count == 2 or not _NUMBER.fullmatch(cell)]
        if not 2 <= count <= _MOST_COLUMNS or len(texts) < 2:
            problem = f"expected two texts, but line 1 has {count} columns"
            raise InputError(self.name, problem, "set data.source_column and data.target_column")
        return self.in_direction(texts[:2], choice), 0


def _tsv_rows(file: DataFile) -> PlacedRecords:
    """Yield the rows of a TSV file: cells by column number, from 1."""
    names: list[str] = []
    for number, line in text_lines(file):
        cells = [unquoted(cell) if '""' in cell[1:-1] else cell for cell in line.split("\t")]
        names = names or [str(place) for place in range(1, len(cells) + 1)]
        if len(cells) != len(names):
            problem = f"{len(cells)} columns, but line 1 has {len(names)}"
            raise InputError(f"{file.path}:{number}", problem, "write tabs between columns only")
        yield f"{file.path}:{number}", dict(zip(names, cells, strict=True))


def csv_rows(file: DataFile) -> PlacedRecords:
    """Yield the rows of a CSV file (RFC 4180). The heading decides between commas, semicolons and tabs.

    Quoted cells may contain line ends. Every cell is text, even `7` and `NA`. Drops empty cells beyond the heading.
    """
    rows = _csv_cells(file)
    names = _shortened(next(rows, (1, list[str]()))[1], 0)
    if not names:
        raise InputError(file.path, "no heading", "name the columns in its first line, as in de,en")
    names = [name if names.count(name) == 1 else f"{name} (twice)" for name in names]
    for line, cells in rows:
        texts = _shortened(cells, len(names))
        if len(texts) != len(names):
            problem = f"{len(texts)} cells, but the heading has {len(names)}"
            raise InputError(f"{file.path}:{line}", problem, "quote texts with separators or line ends in them")
        yield f"{file.path}:{line}", dict(zip(names, texts, strict=True))


def _shortened(cells: list[str], count: int) -> list[str]:
    """The cells without the empty ones at the end, but at least `count`."""
    while len(cells) > count and not cells[-1]:
        cells.pop()
    return cells


def _csv_cells(file: DataFile) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each non-blank row, with the number of its first line."""
    first = 1
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        for _, line in text_lines(file):
            size += len(line)
            if size > LONGEST_LINE:
                raise csv.Error(f"over {LONGEST_LINE:,} characters")
            yield line.replace("\r", " ") + "\n"

    try:
        beginning = next((line for _, line in text_lines(file) if line.strip()), "")
        separator = max(",;\t", key=lambda one: len(next(csv.reader([beginning], delimiter=one), [])))
        reader = csv.reader(lines(), delimiter=separator, strict=True)
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield first, cells
            first = reader.line_num + 1
            size = 0
    except csv.Error as error:
        problem = f"unclosed quote in the row that starts here ({error})"
        raise InputError(f"{file.path}:{first}", problem, "close it, and double quotes inside a cell") from None


def unquoted(cell: str) -> str:
    """The cell without the quotes that a spreadsheet puts around it; it doubles those inside."""
    match = _QUOTED.fullmatch(cell)
    return match[1].replace('""', '"') if match else cell
