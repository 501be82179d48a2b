"""What `--data` can name, the source that a split is read from, and the choice of languages."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import LANGUAGE_CODE, DataFile, tables
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.ground.errors import InputError
from transformer_mt.text.languages import code_of, language_of

BUILTIN = "builtin"
AUTO = "auto"
# The corpus of an imported run.
IMPORTED = "unknown data"
GERMAN_ENGLISH = ("de", "en")
FORMS = (
    "give builtin, a hub data set owner/name[:configuration][@revision], a folder, a file, or a pair train.de,train.en "
    f"(plain text, {', '.join(tables())}; each also as .gz or .xz)"
)

# Column names that give a side but no language.
_SIDES = (("source", "src"), ("target", "tgt", "trg"))

_KEYS = "data.source_language and data.target_language"
# Column names may be upper case: `DE` is German. But `No` is a number, not Norwegian.
_COLUMN = re.compile(f"{LANGUAGE_CODE}|[A-Z]{{2,3}}")
_HUB = re.compile(r"(?P<name>[\w.\-]+/[\w.\-]+)(?::(?P<configuration>[\w.\-]+))?(?:@(?P<revision>[\w.\-/]+))?")


Side = TypeVar("Side")
Record = dict[str, Any]
# (source, target)
Direction = tuple[str, str]
PlacedRecords = Iterator[tuple[str, Record]]
# Place (`test.tsv:17`), source and target; None where a record lacks a side.
Row = tuple[str, str | None, str | None]


@dataclass(frozen=True)
class Hub:
    """A data set on the hub."""

    name: str
    configuration: str | None
    revision: str | None


@dataclass(frozen=True)
class ColumnChoice:
    """The languages, source first, and the column names if they are not the languages."""

    languages: Direction
    source_column: str = ""
    target_column: str = ""

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of a table with a heading: source, target."""
        return self.source_column or self.languages[0], self.target_column or self.languages[1]


@dataclass(eq=False)
class SplitSource:
    """A split before cleaning: records, each a mapping from column or language names to texts, with their places.

    `name` is used in messages. `identity` changes whenever the rows do. `said` are the languages in its file names, if
    any, in the direction of translation.
    """

    name: str
    identity: list[str]
    read: Callable[[], PlacedRecords]
    said: tuple[str, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """The names in the first thousand records."""
        return list(dict.fromkeys(name for _, record in islice(self.read(), 1_000) for name in record))

    def languages(self) -> tuple[str, ...]:
        """The languages that file names or columns give, if any, in the direction of translation."""
        return self.said or languages_of(self.names)

    def find(self, choice: ColumnChoice) -> tuple[list[str], int]:
        """The names of source and target in the records, and how many records to skip. Raises `InputError`."""
        return self.find_columns(self.names, choice, place=self.name) or self.lacks(self.names, choice), 0

    def find_columns(self, names: Sequence[str], choice: ColumnChoice, *, place: str) -> list[str]:
        """Find the source and target columns; empty if they are missing.

        Columns match by their configured names, by language, or as `source` and `target` in the direction of the file
        names, if known. Raises `InputError` if a match is ambiguous.
        """
        found = [name for one in choice.columns if (name := meant(one, names, place=place))]
        sides = [[name for name in names if name.casefold() in side] for side in _SIDES]
        if not (found or choice.source_column or languages_of(names)) and [len(side) for side in sides] == [1, 1]:
            found = self.in_direction([name for (name,) in sides], choice)
        return found if len({*found}) == 2 else []

    def in_direction(self, sides: Sequence[Side], choice: ColumnChoice) -> list[Side]:
        """Order sides in the languages of the file names as source and target; unchanged if no languages are known."""
        names = [name for one in choice.languages if (name := meant(one, self.said, place=self.name))]
        if self.said and len({*names}) < 2:
            have = f"has {' and '.join(self.said)}, but not {' and '.join(choice.languages)}"
            raise InputError(self.name, have, f"set {_KEYS}")
        return [sides[self.said.index(name)] for name in names] or list(sides)

    def lacks(self, names: Sequence[str], choice: ColumnChoice) -> NoReturn:
        """Raise the error for columns that do not include source and target."""
        wanted = " and ".join(choice.columns)
        has = ", ".join(names[:9])
        remedy = "set data.source_column and data.target_column, or the languages"
        raise InputError(self.name, f"needs the columns {wanted}, but has {has}", remedy)

    def pairs(self, choice: ColumnChoice) -> Iterator[SentencePair]:
        """Yield source and target of every record, empty where it lacks one. Raises as `rows`."""
        for _, source, target in self.rows(choice):
            if (source, target) != (None, None):  # a translation memory also has units in other languages
                yield SentencePair(source or "", target or "")

    def rows(self, choice: ColumnChoice) -> Iterator[Row]:
        """Yield every record's place, source and target. Raises `InputError` with the place of a mistake."""
        if not self.names:
            return
        found, skipped = self.find(choice)
        for place, record in islice(self.read(), skipped, None):
            for name in found:
                if not isinstance(record.get(name), str | None):
                    raise InputError(place, f"{name} is {str(record[name])[:20]}, not text", "correct it")
            source, target = map(record.get, found)
            yield place, source, target


# Splits under their own names, and notes about them.
Sources = dict[str, SplitSource]
SourcesAndNotes = tuple[Sources, list[str]]


def parse_source(corpus: str) -> Hub | Path | tuple[Path, ...]:
    """Parse the name of a corpus but `builtin`: a hub data set, a folder, or one or two files. Existing paths win.

    Raises `InputError` listing the forms for anything else.
    """
    if corpus == IMPORTED:
        raise InputError("data.corpus", "the run was trained on unknown data", "give --data")
    if paths := _existing(corpus):
        return paths[0] if paths[0].is_dir() and len(paths) == 1 else paths
    parts = corpus.split(",")
    missing = [part.strip() for part in parts if not _existing(part)]
    if len(missing) < len(parts):
        if missing:
            raise InputError(Path(missing[0]), "no such file", FORMS)
        raise InputError(Path(corpus), f"{len(parts)} files, expected one or two", FORMS)
    names_a_file = corpus.startswith((".", "~")) or DataFile.named(Path(corpus)).form != "text"
    if (match := _HUB.fullmatch(corpus)) and not names_a_file:
        return Hub(**match.groupdict())
    raise InputError(Path(corpus) if corpus.strip() else "data.corpus", "no such file or folder", FORMS)


def _existing(corpus: str) -> tuple[Path, ...]:
    """The file or folder of this name, or two files separated by a comma; empty if they do not exist."""
    parts = corpus.split(",")
    for end in range(len(parts), 0, -1):
        names = [",".join(some).strip() for some in (parts[:end], parts[end:]) if some]
        # `Path.expanduser` raises for an unknown home directory.
        paths = tuple(Path(os.path.expanduser(name)) for name in names)
        if all(names) and all(map(os.path.exists, paths)):
            return paths
    return ()


def absolute(corpus: str) -> str:
    """The name of a corpus with absolute paths."""
    paths = () if corpus.strip() == BUILTIN else _existing(corpus)
    return ",".join(str(path.resolve()) for path in paths) or corpus


def short_name(corpus: str) -> str:
    """A name for a run on this corpus: the folder's, or `train` for `train.de,train.en`."""
    path = next(iter(_existing(corpus)), Path(corpus))
    return DataFile.named(path).stem or path.stem if path.is_file() else re.split("[:@]", path.name)[0]


def is_language(name: str) -> bool:
    """True for a column named after a language: `de`, `deu`, `DE`, `pt_BR`, `zh-Hant`, `German`."""
    return _COLUMN.fullmatch(code_of(name)) is not None and language_of(name) is not None


def languages_of(columns: Iterable[str]) -> tuple[str, ...]:
    """The languages of two or more columns that look like some, in alphabetical order; empty if there are fewer.

    `id` is a number if there are two others. Words like `cat` or `per` count only without two two-letter codes.
    """
    names = sorted(dict.fromkeys(map(code_of, filter(is_language, columns))), key=short_code)
    for length in (2, 3):
        languages = [name for name in names if len(re.split("[-_]", name)[0]) == length]
        others = [name for name in languages if language_of(name) != "id"]
        if len(languages) > 1:
            return tuple(others if len(others) > 1 else languages)
    return ()


def short_code(language: str) -> str:
    """The shortest code of a language, to order and compare by; an unknown language keeps its name."""
    return language_of(language) or language


def _variant(language: str) -> str:
    """Script and region of a language code."""
    return language.replace("_", "-").casefold().partition("-")[2]


def meant(language: str, names: Sequence[str], *, place: str) -> str | None:
    """The name that means a language: itself, or `eng` or `en-US` for `en`; None without a match.

    Raises `InputError` if several match. `en-GB` and `en-US` are two languages.
    """
    code = language_of(language)
    variant = _variant(language)
    found = [name for name in names if name == language] or [
        name
        for name in names
        if is_language(name) and language_of(name) == code and _variant(name) in ("", variant or _variant(name))
    ]
    if len(found) > 1:
        raise InputError(place, f"has {' and '.join(found)} for {language}", f"rename one, or set {_KEYS}")
    return found[0] if found else None


def flat(record: Record) -> Record:
    """Unpack a record's `translation` field, common in hub data sets."""
    if isinstance(record.get("translation"), dict):
        record |= record.pop("translation")
    return record


def source_of(record: Record, config: DataConfig, *, place: str) -> str:
    """The source text of a record without a target, under the first key that exists of those that a corpus may have.

    These are the configured column, the language, and `source` or `src`. Raises `InputError` without a text there.
    """
    names = list(record)
    wanted = (config.source_column or config.source_language, config.source_language)
    keys = [key for one in wanted if (key := meant(one, names, place=place))]
    keys += [name for name in names if name.casefold() in _SIDES[0]]
    if not keys or not isinstance(record[keys[0]], str):
        problem = f"no text under the key {keys[0] if keys else f'{config.source_language} or source'}"
        raise InputError(place, problem, "add one")
    text: str = record[keys[0]]
    return text


def choose_columns(config: DataConfig, sources: Sources, *, mixed: bool = False) -> tuple[ColumnChoice, list[str]]:
    """The direction and the columns, as configured or as found in the first source, and notes. Raises `InputError`.

    A corpus that is `mixed` into another takes its languages, even if they are not stated for it.
    """
    columns = (config.source_column, config.target_column)
    if columns.count("") == 1:
        raise InputError("data.source_column, data.target_column", "only one is given", "give both")
    source = next(iter(sources.values()))
    if columns[0] == "" or columns[0].isdecimal():
        known = source.languages()
    else:
        known = columns if all(map(is_language, columns)) else ()
    direction = sides(config, known, name=source.name)
    said = " → ".join(direction)
    given = {config.source_language, config.target_language}
    notes = [f"{split}: {one.name}, {said}" for split, one in sources.items()]
    if not known and (AUTO in given or (mixed and columns[0] == "")):
        remedy = f"set {_KEYS}" if AUTO in given else "give its columns or files in this order"
        notes.append(f"{source.name} does not name its languages: assuming {said}; {remedy}")
    elif given == {AUTO} and tuple(map(short_code, direction)) != GERMAN_ENGLISH:
        notes.append(f"translating {said}; to reverse, set data.source_language={direction[1]}")
    return ColumnChoice(direction, *columns), notes


def sides(config: DataConfig, known: Sequence[str], *, name: str) -> Direction:
    """Source and target language: both configured, one configured and the other known, or both known.

    `known` are two or more languages that the files or columns of corpus `name` give, or none: then German and English
    count as known. Raises `InputError`.
    """
    source, target = config.source_language, config.target_language
    if AUTO not in (source, target):
        if source == target:
            raise InputError("data.target_language", f"{source} is also the source language", "choose another")
        return source, target
    first, second, *more = known or GERMAN_ENGLISH
    if more:
        raise InputError(name, f"has {', '.join(known)}", f"set {_KEYS} to two of them")
    if source == target:
        return first, second
    given = target if source == AUTO else source
    if known and not meant(given, known, place=name):
        raise InputError(name, f"has {first} and {second}, but not {given}", f"set {_KEYS} to those")
    if source == AUTO:
        return second if meant(given, [first], place=name) else first, given
    return given, first if meant(given, [second], place=name) else second


def corpus_name(data: DataConfig) -> str:
    """The name of a corpus, without the directories of a folder or of files."""
    parts = data.corpus.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)
