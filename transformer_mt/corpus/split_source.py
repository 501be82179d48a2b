"""The interface of everything that a split can be read from, and the choice of its languages and columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.compressed import digest_of
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import DataFile, is_language
from transformer_mt.errors import InputError

AUTO = "auto"
GERMAN_ENGLISH = ("de", "en")


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

    @property
    def are_numbers(self) -> bool:
        """Whether columns are configured by their numbers, from 1."""
        return self.source_column.isdecimal() and self.target_column.isdecimal()


class SplitSource(ABC):
    """A split before cleaning: its name in messages, and texts that change whenever its rows do."""

    def __init__(self, name: str, identity: list[str]) -> None:
        self.name, self.identity = name, identity

    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that names or columns say, if any, in the order of translation."""

    @abstractmethod
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        """Source and target of every row. Raises `InputError` with the place of a mistake."""


def identity_of(file: DataFile) -> list[str]:
    """The identity of a split in one file."""
    return [file.form, *file.languages, digest_of(file.path) + file.compression]


def choose_columns(config: DataConfig, source: SplitSource) -> tuple[ColumnChoice, list[str]]:
    """The direction of translation and the columns, as configured or as found in the source, and notes about it."""
    given = (config.source_language, config.target_language)
    columns = (config.source_column, config.target_column)
    if (columns[0] == "") != (columns[1] == ""):
        raise InputError("data.source_column, data.target_column: only one is given; give both")
    languages: tuple[str, ...] = ()
    if all(map(is_language, columns)):
        languages = columns
    elif AUTO in given and (columns[0] == "" or all(map(str.isdecimal, columns))):
        languages = source.languages()
    chosen, notes = choose_direction(given, languages, name=source.name)
    return ColumnChoice(chosen, *columns), notes


def choose_direction(given: tuple[str, str], known: Sequence[str], *, name: str) -> tuple[tuple[str, str], list[str]]:
    """Source and target language out of those known of a corpus, and notes about it; `given` may be `AUTO`."""
    keys = "data.source_language and data.target_language"
    if given[0] == given[1] != AUTO:
        raise InputError(f"data.target_language: {given[0]} is the source language too; choose another")
    if AUTO not in given:
        return given, []
    if len(known) > 2:
        raise InputError(f"{name}: has {', '.join(known)}; set {keys} to two of them")
    first, second = known if len(known) == 2 else GERMAN_ENGLISH
    one = next((language for language in given if language != AUTO), first)
    if len(known) == 2 and one not in known:
        raise InputError(f"{name}: has {first} and {second}, but not {one}; set {keys} to those")
    other = {first: second, second: first}.get(one, GERMAN_ENGLISH[given.index(AUTO)])
    source, target = (other, one) if given[0] == AUTO != given[1] else (one, other)
    if len(known) < 2:
        return (source, target), [f"{name} does not say its languages: taken for {source} → {target}; set {keys}"]
    if given == (AUTO, AUTO) and (source, target) != GERMAN_ENGLISH:
        return (source, target), [
            f"translating {source} → {target}; the other way: --set data.source_language={target}"
        ]
    return (source, target), []


def languages_of(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that look like languages, in the order of the alphabet; `id` is a number beside two others."""
    languages = sorted(filter(is_language, columns))
    others = tuple(language for language in languages if language != "id")
    return others if len(others) >= 2 else tuple(languages)
