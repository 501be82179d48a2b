"""The interface of everything that a split can be read from, and the choice of two texts from each of its rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.compressed import digest_of
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import DataFile, is_language
from transformer_mt.errors import InputError

AUTO = "auto"
_DEFAULT = ("de", "en")


@dataclass(frozen=True)
class ColumnChoice:
    """The languages, source first, and the names of columns where they are not those of the languages."""

    languages: tuple[str, str]
    source_column: str = ""
    target_column: str = ""

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of a table with a heading."""
        return self.source_column or self.languages[0], self.target_column or self.languages[1]


class SplitSource(ABC):
    """A split before cleaning."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in messages."""

    @property
    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that names or columns say, if any."""

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Whether they stand in the order of translation."""

    @abstractmethod
    def rows(self, columns: ColumnChoice) -> Iterator[tuple[str, str]]:
        """Source and target of every row. Raises `InputError` with the place of a mistake."""

    @abstractmethod
    def identity(self) -> list[str]:
        """Texts that change whenever the rows do."""

    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        """Source and target of every row."""
        return (SentencePair(source, target) for source, target in self.rows(columns))


class FileSource(SplitSource):
    """A split in one file."""

    file: DataFile

    @property
    @override
    def name(self) -> str:
        return str(self.file.path)

    @property
    @override
    def ordered(self) -> bool:
        return bool(self.file.languages)

    @override
    def identity(self) -> list[str]:
        return [self.file.form, *self.file.languages, digest_of(self.file.path) + self.file.compression]


def choose_columns(config: DataConfig, source: SplitSource) -> tuple[ColumnChoice, list[str]]:
    """The direction of translation and the columns, as configured or as found in the source, and notes about it.

    The order of files or columns is kept; else German is translated to English, and of other languages the first in the
    alphabet to the second.
    """
    given = (config.source_language, config.target_language)
    columns = (config.source_column, config.target_column)
    if (columns[0] == "") != (columns[1] == ""):
        raise InputError("data.source_column, data.target_column: only one is given; give both")
    found, ordered = (source.languages if AUTO in given else ()), source.ordered
    if any(columns) and not all(column.isdecimal() for column in columns):
        found, ordered = (columns, True) if all(map(is_language, columns)) else ((), False)
    languages, notes = choose_direction(given, found, ordered=ordered, name=source.name)
    return ColumnChoice(languages, *columns), notes


def choose_direction(
    given: tuple[str, str], found: Sequence[str], *, ordered: bool, name: str
) -> tuple[tuple[str, str], list[str]]:
    """Source and target language out of those found, and notes about it; `given` may be `AUTO`."""
    keys = "data.source_language and data.target_language"
    if given[0] == given[1] != AUTO:
        raise InputError(f"data.target_language: {given[0]} is the source language too; choose another")
    if AUTO not in given:
        return given, []
    if len(found) < 2:
        source, target = (chosen if chosen != AUTO else _DEFAULT[side] for side, chosen in enumerate(given))
        if source == target:  # one of the two is given, on the other side
            source, target = _DEFAULT[::-1]
        return (source, target), [f"{name} does not say its languages: taken for {source} → {target}; set {keys}"]
    if len(found) > 2:
        raise InputError(f"{name}: has {', '.join(found)}; set {keys} to two of them")
    first, second = found
    if given != (AUTO, AUTO):
        known = given[0] if given[1] == AUTO else given[1]
        if known not in found:
            raise InputError(f"{name}: has {first} and {second}, but not {known}; set {keys} to those")
        other = first if known == second else second
        return ((known, other) if given[1] == AUTO else (other, known)), []
    if ordered:
        return (first, second), []
    if set(found) == set(_DEFAULT):
        return _DEFAULT, []
    source, target = sorted(found)
    return (source, target), [f"translating {source} → {target}; the other way: --set data.source_language={target}"]


def languages_of(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that look like languages; `id` is a number, where there are two others."""
    found = [column for column in columns if is_language(column)]
    others = tuple(column for column in found if column != "id")
    return others if len(others) >= 2 else tuple(found)
