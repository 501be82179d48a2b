"""Plain parallel text, TSV and CSV, read strictly: UTF-8, a row of as many columns as the first has."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BufferedReader, FileIO
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource, find_columns, in_direction, languages_of
from transformer_mt.errors import InputError
from transformer_mt.files import LONGEST_LINE, bounded_lines
from transformer_mt.text.words import words

_MOST_COLUMNS = 4
_LINK = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")
# A cell that pandas has quoted because there are quotes in it, which it doubles.
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


class _ClassicMac(FileIO):
    """A file whose lines end at `\\r`, with `\\n` in its place."""

    @override
    def readinto(self, buffer: Any, /) -> int:
        size = super().readinto(buffer)
        buffer[:size] = bytes(buffer[:size]).replace(b"\r", b"\n")
        return size


def text_lines(file: DataFile) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8 with their numbers from 1, without a byte-order mark and without their ends.

    A line ends at `\\n` or `\\r\\n`, and at `\\r` only in a file that has no other ends; all else is inside a line.
    """
    with file.plain.open("rb") as stream:
        beginning = stream.read(LONGEST_LINE)
    is_mac = b"\r" in beginning and b"\n" not in beginning
    with BufferedReader((_ClassicMac if is_mac else FileIO)(file.plain)) as stream:
        for number, line in bounded_lines(stream, name=str(file.path)):
            if isinstance(line, InputError):
                raise line
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                problem = f"not UTF-8 at byte {error.start + 1} of the line"
                raise InputError(f"{file.path}:{number}: {problem}; save the file as UTF-8") from None
            yield number, text.removesuffix("\n").removesuffix("\r")


class ParallelText(SplitSource):
    """Files whose lines are translations of each other, and their languages, or none where the names say none."""

    def __init__(self, files: Sequence[DataFile]) -> None:
        first, *others = (file.path for file in files)
        names = (path.name if path.parent == first.parent else str(path) for path in others)
        languages = tuple(language for file in files for language in file.languages)
        self._files, self._languages = files, languages if len(set(languages)) >= 2 else ()
        identity = ["text", *self._languages, *(file.identity[-1] for file in files)]
        super().__init__(" and ".join([str(first), *names]), identity)

    @override
    def languages(self) -> tuple[str, ...]:
        return self._languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        files = in_direction(self._files, self._languages, columns, place=self.name)
        for source, target in zip_longest(*map(text_lines, files)):
            if source is None or target is None:
                one, other = (f"{sum(1 for _ in text_lines(file)):,}" for file in files)
                different = f"{one} lines, but {files[1].path} has {other}"
                raise InputError(f"{files[0].path}: {different}; give each sentence a line in both")
            yield SentencePair(source[1], target[1])


class TabSeparated(SplitSource):
    """A TSV file: `source<TAB>target` as OPUS and Moses write it, with numbers or a third text beside as Tatoeba does.

    A first line of languages, of `source` and `target`, or with the column names that are configured, is a heading.
    Quotes are text, but for those that pandas puts around a text with quotes, which it doubles.
    """

    _has_heading = False

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), file.identity)
        self._file = file
        self._first = next((cells for _, cells in self._rows()), [])

    @override
    def languages(self) -> tuple[str, ...]:
        return languages_of(self._first) or self._file.languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        if not self._first:
            return
        has_heading, (source, target) = self._places(columns)
        for number, cells in islice(self._rows(), has_heading, None):
            if len(cells) != len(self._first):
                problem = f"{len(cells)} columns, where line 1 has {len(self._first)}"
                raise InputError(f"{self.name}:{number}: {problem}; write tabs between columns only")
            yield SentencePair(cells[source], cells[target])

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of each row, with the number of its first line."""
        for number, line in text_lines(self._file):
            yield number, list(map(_unquoted, line.split("\t")))

    def _places(self, choice: ColumnChoice) -> tuple[bool, list[int]]:
        """Whether the first row is a heading, and the positions of source and target."""
        cells, languages = self._first, self._file.languages
        by_number = choice.are_numbers and not self._has_heading
        names = list(map(str, range(1, len(cells) + 1))) if by_number else cells
        found = find_columns(names, choice, languages=languages, place=f"{self.name}:1")
        has_heading = self._has_heading or bool(languages_of(cells)) or (found is not None and not by_number)
        if found:
            return has_heading, found
        if has_heading or choice.source_column:
            wanted = " and ".join(choice.columns)
            raise self._unclear(f"needs the columns {wanted} and has {', '.join(names)[:80]}")
        # The first two columns that are not numbers; of two columns, both.
        texts = [index for index, cell in enumerate(cells) if len(cells) == 2 or not _NUMBER.fullmatch(cell)]
        if not 2 <= len(cells) <= _MOST_COLUMNS or len(texts) < 2:
            raise self._unclear(f"two texts are expected, and line 1 has {len(cells)} columns")
        return False, in_direction(texts[:2], languages, choice, place=self.name)

    def _unclear(self, problem: str) -> InputError:
        return InputError(f"{self.name}: {problem}; set data.source_column and data.target_column")


class CommaSeparated(TabSeparated):
    """A CSV file (RFC 4180) with a heading, with commas, semicolons or tabs between its columns, as in the heading.

    A quoted cell may have line ends. Every cell is the text it is, also `7` and `NA`.
    """

    _has_heading = True

    @override
    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, without blank ones, empty cells beyond the heading, and numbers that R writes before each row."""
        rows, is_numbered = self._parsed(), False
        first, heading = next(rows, (1, list[str]()))
        while heading and not heading[-1]:
            heading.pop()
        if not heading:
            raise InputError(f"{self.name}: no heading; name the columns in its first line, as in de,en")
        yield first, heading
        for row, (number, cells) in enumerate(rows, start=1):
            if row == 1:
                is_numbered = len(cells) == len(heading) + 1 and cells[0] == "1" and cells[-1] != ""
            own_number = cells.pop(0) if is_numbered else str(row)
            while len(cells) > len(heading) and not cells[-1]:
                cells.pop()
            if len(cells) != len(heading) or own_number != str(row):
                problem = (
                    f"{len(cells)} cells{' behind a row number' * is_numbered}, where the heading has {len(heading)}"
                )
                raise InputError(f"{self.name}:{number}: {problem}; quote texts with separators or line ends in them")
            yield number, cells

    def _parsed(self) -> Iterator[tuple[int, list[str]]]:
        first, size = 1, 0

        def lines() -> Iterator[str]:
            nonlocal size
            for _, line in text_lines(self._file):
                size += len(line)
                if size > LONGEST_LINE:
                    raise csv.Error(f"over {LONGEST_LINE:,} characters")
                yield line.replace("\r", " ") + "\n"

        try:
            beginning = next((line for _, line in text_lines(self._file) if line.strip()), "")
            separator = max(",;\t", key=lambda one: len(next(csv.reader([beginning], delimiter=one), [])))
            reader = csv.reader(lines(), delimiter=separator, strict=True)
            for cells in reader:
                if len(cells) > 1 or "".join(cells).strip():
                    yield first, cells
                first, size = reader.line_num + 1, 0
        except csv.Error as error:
            problem = f"a quote is not closed in the row that begins here ({error})"
            raise InputError(f"{self.name}:{first}: {problem}; close it, and double quotes inside a cell") from None


def _unquoted(cell: str) -> str:
    match = _QUOTED.fullmatch(cell) if cell.startswith('"') else None
    return match[1].replace('""', '"') if match and '""' in match[1] else cell


def with_links(pairs: Pairs, path: Path) -> list[SentencePair]:
    """The pairs with the links of a file, which has a line for each; an empty one is a pair without links.

    Words are counted as `words(text)`, punctuation marks among them. Raises `InputError` with file and line for what is
    no link, for a word that the pair does not have, for a link that comes twice, and for too few or too many lines.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; give a file with a line of links for each pair")
    lines = [line for _, line in text_lines(DataFile(path, "text", "", (), path.name))]
    if len(lines) != len(pairs):
        raise InputError(f"{path}: {len(lines)} lines for {len(pairs)} pairs; give one line for each pair")
    return [
        replace(pair, links=_parse_links(line, pair, place=f"{path}:{number}"))
        for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), start=1)
    ]


def _parse_links(line: str, pair: SentencePair, *, place: str) -> tuple[Link, ...]:
    links: list[Link] = []
    for text in line.split():
        if not (match := _LINK.fullmatch(text)):
            raise InputError(f"{place}: {text[:20]!r} is no link; write source word, hyphen, target word, as in 0-2")
        link = (int(match[1]), int(match[2]))
        for side, word in zip(("source", "target"), link, strict=True):
            if word >= (count := len(words(getattr(pair, side)))):
                raise InputError(f"{place}: {text}, but the {side} has words 0 to {count - 1}; correct it")
        if link in links:
            raise InputError(f"{place}: {text} comes twice; leave one out")
        links.append(link)
    return tuple(sorted(links))
