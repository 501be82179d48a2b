"""Plain parallel text and TSV, read strictly: UTF-8, a line ends at `\\n` alone, a tab separates, nothing is quoted."""

import codecs
from collections.abc import Iterator
from itertools import zip_longest

from typing_extensions import override

from transformer_mt.corpus.compressed import opened
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import DataFile, is_language
from transformer_mt.corpus.split_source import ColumnChoice, SplitSource, identity_of, languages_of
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


class ParallelText(SplitSource):
    """Files whose lines are translations of each other, and their languages, or none where the names say none."""

    def __init__(self, files: tuple[DataFile, ...], languages: tuple[str, ...]) -> None:
        first, *others = (file.path for file in files)
        names = (path.name if path.parent == first.parent else str(path) for path in others)
        identity = ["text", *languages, *(identity_of(file)[-1] for file in files)]
        super().__init__(" and ".join([str(first), *names]), identity)
        self._files, self._languages = files, languages

    @override
    def languages(self) -> tuple[str, ...]:
        return self._languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        files = self._chosen(columns.languages)
        for source, target in zip_longest(*map(text_lines, files)):
            if source is None or target is None:
                counts = [sum(1 for _ in text_lines(file)) for file in files]
                raise InputError(
                    f"{files[0].path}: {counts[0]:,} lines, but {files[1].path} has {counts[1]:,}; line n of one must "
                    "be the translation of line n of the other"
                )
            yield SentencePair(source[1], target[1])

    def _chosen(self, languages: tuple[str, str]) -> list[DataFile]:
        if not self._languages:
            return list(self._files)
        for language in languages:
            if language not in self._languages:
                raise InputError(
                    f"{self.name}: {' and '.join(self._languages)} by their names, but not {language}; set "
                    "data.source_language and data.target_language"
                )
        return [self._files[self._languages.index(language)] for language in languages]


class TabSeparated(SplitSource):
    """A TSV file: `source<TAB>target` as OPUS and Moses write it, with numbers or a third text beside as Tatoeba does.

    A first line of languages, or with the column names that are configured, is a heading.
    """

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), identity_of(file))
        self._file = file
        self._first = next((line.rstrip("\r").split("\t") for _, line in text_lines(file)), [])
        has_languages = sum(map(is_language, self._first)) >= 2 and len(set(self._first)) == len(self._first)
        self._heading = self._first if has_languages else []

    @override
    def languages(self) -> tuple[str, ...]:
        return languages_of(self._heading) or self._file.languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        if not self._first:
            return
        source, target, has_heading = self._indices(columns)
        width = len(self._first)
        for number, line in text_lines(self._file):
            cells = line.split("\t")
            if len(cells) != width:
                raise InputError(
                    f"{self.name}:{number}: {len(cells)} columns, where line 1 has {width}; write one tab between two "
                    "columns and none inside a sentence"
                )
            if number > 1 or not has_heading:
                yield SentencePair(cells[source], cells[target])

    def _indices(self, columns: ColumnChoice) -> tuple[int, int, bool]:
        """The positions of source and target, and whether the first line is a heading."""
        cells, names = self._first, columns.columns
        if columns.are_numbers:
            source, target = (int(name) - 1 for name in names)
            if not (0 <= source < len(cells) and 0 <= target < len(cells)):
                raise self._unclear(f"has {len(cells)} columns, so no columns {names[0]} and {names[1]}")
            return source, target, bool(self._heading)
        if columns.source_column or self._heading:
            if not set(names) <= set(cells):
                raise self._unclear(f"needs the columns {names[0]} and {names[1]} and has {', '.join(cells)[:80]}")
            return cells.index(names[0]), cells.index(names[1]), True
        # The first two columns that are not numbers; of two columns, both.
        texts = [index for index, cell in enumerate(cells) if len(cells) == 2 or not _is_number(cell)]
        if not 2 <= len(cells) <= _MOST_COLUMNS or len(texts) < 2:
            count = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            raise self._unclear(f"{count} in line 1, where two texts are expected")
        languages = self._file.languages
        if languages and set(languages) != set(columns.languages):
            raise self._unclear(f"has {' and '.join(languages)} by its name, not {' and '.join(columns.languages)}")
        source, target = texts[:2] if languages[:1] != columns.languages[1:] else texts[1::-1]
        return source, target, False

    def _unclear(self, problem: str) -> InputError:
        return InputError(
            f"{self.name}: {problem}; set data.source_column and data.target_column to their numbers or names"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
