"""Plain parallel text and TSV, read strictly: UTF-8, a line ends at `\\n` alone, a tab separates, nothing is quoted."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from transformer_mt.corpus.compressed import digest_of, opened
from transformer_mt.corpus.source import DataFile, is_language
from transformer_mt.corpus.split_source import ColumnChoice, FileSource, SplitSource, languages_of
from transformer_mt.errors import InputError
from transformer_mt.files import bounded_lines

_MOST_COLUMNS = 4


def text_lines(file: DataFile) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8 with their numbers from 1, without a byte-order mark and without `\\n`."""
    with opened(file) as stream:
        for number, line in bounded_lines(stream, name=str(file.path)):
            if isinstance(line, InputError):
                raise line
            if number == 1:
                if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    raise InputError(f"{file.path}:1: UTF-16 by its first two bytes; save the file as UTF-8")
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                yield number, line.decode("utf-8").removesuffix("\n")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{file.path}:{number}: not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8"
                ) from None


@dataclass(frozen=True)
class ParallelText(SplitSource):
    """Files whose lines are translations of each other; `codes` are their languages, or none where the names say none.

    `in_order`: the source comes first."""

    files: tuple[DataFile, ...]
    codes: tuple[str, ...]
    in_order: bool

    @property
    @override
    def name(self) -> str:
        first, *others = (file.path for file in self.files)
        names = (path.name if path.parent == first.parent else str(path) for path in others)
        return " and ".join([str(first), *names])

    @property
    @override
    def languages(self) -> tuple[str, ...]:
        return self.codes

    @property
    @override
    def ordered(self) -> bool:
        return self.in_order

    @override
    def rows(self, columns: ColumnChoice) -> Iterator[tuple[str, str]]:
        first, second = self._chosen(columns.languages)
        sources, targets = text_lines(first), text_lines(second)
        lines = 0
        while True:
            source, target = next(sources, None), next(targets, None)
            if source is None or target is None:
                break
            lines += 1
            yield source[1], target[1]
        counts = [
            lines + (line is not None) + sum(1 for _ in rest) for line, rest in ((source, sources), (target, targets))
        ]
        if counts[0] != counts[1]:
            raise InputError(
                f"{first.path}: {counts[0]:,} lines, but {second.path} has {counts[1]:,}; line n of one must be the "
                "translation of line n of the other"
            )

    @override
    def identity(self) -> list[str]:
        return ["text", *self.codes, *(digest_of(file.path) + file.compression for file in self.files)]

    def _chosen(self, languages: tuple[str, str]) -> tuple[DataFile, DataFile]:
        if not self.codes:
            return self.files[0], self.files[1]
        by_language = dict(zip(self.codes, self.files, strict=True))
        for language in languages:
            if language not in by_language:
                raise InputError(
                    f"{self.name}: {' and '.join(self.codes)} by their names, but not {language}; set "
                    "data.source_language and data.target_language"
                )
        return by_language[languages[0]], by_language[languages[1]]


@dataclass(frozen=True)
class TabSeparated(FileSource):
    """A TSV file: `source<TAB>target` as OPUS and Moses write it, with numbers or a third text beside as Tatoeba does.

    A first line of languages, or with the column names that are configured, is a heading.
    """

    file: DataFile

    @cached_property
    @override
    def languages(self) -> tuple[str, ...]:
        return languages_of(self._heading) or self.file.languages

    @property
    @override
    def ordered(self) -> bool:
        return not self._heading

    @cached_property
    def _first(self) -> list[str]:
        for _, line in text_lines(self.file):
            return line.rstrip("\r").split("\t")
        return []

    @cached_property
    def _heading(self) -> list[str]:
        cells = self._first
        return cells if sum(map(is_language, cells)) >= 2 and len(set(cells)) == len(cells) else []

    @override
    def rows(self, columns: ColumnChoice) -> Iterator[tuple[str, str]]:
        if not self._first:
            return
        source, target, has_heading = self._indices(columns)
        width = len(self._first)
        for number, line in text_lines(self.file):
            cells = line.split("\t")
            if len(cells) != width:
                raise InputError(
                    f"{self.file.path}:{number}: {len(cells)} columns, where line 1 has {width}; write one tab "
                    "between two columns and none inside a sentence"
                )
            if number > 1 or not has_heading:
                yield cells[source], cells[target]

    def _indices(self, columns: ColumnChoice) -> tuple[int, int, bool]:
        """The positions of source and target, and whether the first line is a heading."""
        cells, names = self._first, columns.columns
        if columns.source_column and all(name.isdecimal() for name in names):
            source, target = (int(name) - 1 for name in names)
            if not (0 <= source < len(cells) and 0 <= target < len(cells)):
                raise self._unclear(f"has {len(cells)} columns, so no columns {names[0]} and {names[1]}")
            return source, target, bool(self._heading)
        if set(names) <= set(cells) and (columns.source_column or self._heading):
            return cells.index(names[0]), cells.index(names[1]), True
        if columns.source_column or self._heading:
            raise self._unclear(f"needs the columns {names[0]} and {names[1]} and has {', '.join(cells)[:80]}")
        first, second = self._texts()
        languages = self.file.languages
        if languages and set(languages) != set(columns.languages):
            raise self._unclear(f"has {' and '.join(languages)} by its name, not {' and '.join(columns.languages)}")
        return (second, first, False) if languages[:1] == columns.languages[1:] else (first, second, False)

    def _texts(self) -> tuple[int, int]:
        """The first two columns that are not numbers in the first line; of two columns, both."""
        cells = self._first
        texts = [index for index, cell in enumerate(cells) if not _is_number(cell)] if len(cells) > 2 else [0, 1]
        if not 2 <= len(cells) <= _MOST_COLUMNS or len(texts) < 2:
            columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            raise self._unclear(f"{columns} in line 1, where two texts are expected")
        return texts[0], texts[1]

    def _unclear(self, problem: str) -> InputError:
        return InputError(
            f"{self.file.path}: {problem}; set data.source_column and data.target_column to their numbers or names"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
