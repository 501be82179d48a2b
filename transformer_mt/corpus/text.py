"""Plain parallel text and TSV, read strictly: UTF-8, a line ends at `\\n` alone, a tab separates, nothing is quoted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.pairs import Link, Pairs, SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource, languages_of
from transformer_mt.errors import InputError
from transformer_mt.files import bounded_lines
from transformer_mt.text.words import words

_MOST_COLUMNS = 4
_LINK = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")


def text_lines(file: DataFile) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8 with their numbers from 1, without a byte-order mark and without `\\n`."""
    with file.plain.open("rb") as stream:
        for number, line in bounded_lines(stream, name=str(file.path)):
            if isinstance(line, InputError):
                raise line
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\n")
            except UnicodeDecodeError as error:
                problem = f"not UTF-8 at byte {error.start + 1} of the line"
                raise InputError(f"{file.path}:{number}: {problem}; save the file as UTF-8") from None


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
        files = self._files
        if self._languages:
            if missing := [language for language in columns.languages if language not in self._languages]:
                have = f"{' and '.join(self._languages)} by their names, but not {missing[0]}"
                raise InputError(f"{self.name}: {have}; set data.source_language and data.target_language")
            files = [self._files[self._languages.index(language)] for language in columns.languages]
        for source, target in zip_longest(*map(text_lines, files)):
            if source is None or target is None:
                one, other = (f"{sum(1 for _ in text_lines(file)):,}" for file in files)
                different = f"{one} lines, but {files[1].path} has {other}"
                raise InputError(f"{files[0].path}: {different}; give each sentence a line in both")
            yield SentencePair(source[1], target[1])


class TabSeparated(SplitSource):
    """A TSV file: `source<TAB>target` as OPUS and Moses write it, with numbers or a third text beside as Tatoeba does.

    A first line of languages, or with the column names that are configured, is a heading.
    """

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), file.identity)
        self._file = file
        self._first = next((line.rstrip("\r").split("\t") for _, line in text_lines(file)), [])
        is_heading = len(set(self._first)) == len(self._first)
        self._named_languages = languages_of(self._first) if is_heading else ()

    @override
    def languages(self) -> tuple[str, ...]:
        return self._named_languages if len(self._named_languages) > 1 else self._file.languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        if not self._first:
            return
        has_heading = len(self._named_languages) > 1 or bool(columns.source_column and not columns.are_numbers)
        source, target = self._indices(columns, has_heading=has_heading)
        for number, line in text_lines(self._file):
            cells = line.split("\t")
            if len(cells) != len(self._first):
                problem = f"{len(cells)} columns, where line 1 has {len(self._first)}"
                raise InputError(f"{self.name}:{number}: {problem}; write tabs between columns only")
            if number > 1 or not has_heading:
                yield SentencePair(cells[source], cells[target])

    def _indices(self, columns: ColumnChoice, *, has_heading: bool) -> tuple[int, int]:
        """The positions of source and target."""
        cells, names, languages = self._first, columns.columns, self._file.languages
        if columns.are_numbers:
            cells = [str(number) for number in range(1, len(cells) + 1)]
        if columns.are_numbers or has_heading:
            if not set(names) <= set(cells):
                raise self._unclear(f"needs the columns {names[0]} and {names[1]} and has {', '.join(cells)[:80]}")
            return cells.index(names[0]), cells.index(names[1])
        # The first two columns that are not numbers; of two columns, both.
        texts = [index for index, cell in enumerate(cells) if len(cells) == 2 or not _NUMBER.fullmatch(cell)]
        if not 2 <= len(cells) <= _MOST_COLUMNS or len(texts) < 2:
            raise self._unclear(f"two texts are expected, and line 1 has {len(cells)} columns")
        if languages and set(languages) != set(columns.languages):
            raise self._unclear(f"has {' and '.join(languages)} by its name, not {' and '.join(columns.languages)}")
        return (texts[1], texts[0]) if languages and languages[0] == columns.languages[1] else (texts[0], texts[1])

    def _unclear(self, problem: str) -> InputError:
        return InputError(f"{self.name}: {problem}; set data.source_column and data.target_column")


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
