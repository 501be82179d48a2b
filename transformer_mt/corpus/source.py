"""The meaning of `--data`, the interface of everything a split is read from, and the choice of its languages."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import LANGUAGE_CODE, DataFile
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError
from transformer_mt.registry import suggest

BUILTIN, AUTO = "builtin", "auto"
GERMAN_ENGLISH = ("de", "en")
FORMS = (
    "give builtin, a hub data set owner/name[:configuration][@revision], a folder, a file, or a pair train.de,train.en "
    "(plain text, TSV, CSV, JSON, JSONL or Parquet; each also as .gz or .xz)"
)

_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su "
    "sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_LANGUAGES = frozenset(_ISO_639_1.split())

_KEYS = "data.source_language and data.target_language"
_HUB = re.compile(r"(?P<name>[\w.\-]+/[\w.\-]+)(?::(?P<configuration>[\w.\-]+))?(?:@(?P<revision>[\w.\-/]+))?")


@dataclass(frozen=True)
class Hub:
    """A data set on the hub."""

    name: str
    configuration: str | None
    revision: str | None


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
        """True when columns are configured by their numbers, from 1."""
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


def parse_source(corpus: str) -> str | Hub | Path | tuple[Path, ...]:
    """The meaning of a corpus's name: `builtin`, a data set, a folder, or one or two files; existing paths go first.

    Raises `InputError` that lists the forms for anything else.
    """
    path = Path(os.path.expanduser(corpus))
    if corpus == BUILTIN:
        return BUILTIN
    if corpus.strip() and path.exists():
        return path if path.is_dir() else (path,)
    files = _files(corpus)
    if len(files) > 2:
        raise InputError(f"{corpus}: {len(files)} files, where one or two are expected; {FORMS}")
    if len(files) == 2:
        if missing := [file for file in files if not file.exists()]:
            raise InputError(f"{missing[0]}: no such file; {FORMS}")
        return tuple(files)
    if (match := _HUB.fullmatch(corpus)) and not corpus.startswith((".", "~")):
        return Hub(**match.groupdict())
    near = suggest(corpus, [BUILTIN])
    remedy = near if near.startswith("did you") else FORMS
    raise InputError(f"{corpus.strip() or '--data'}: no such file or folder; {remedy}")


def _files(corpus: str) -> list[Path]:
    # `Path.expanduser` raises for somebody without a home.
    return [Path(os.path.expanduser(part.strip())) for part in corpus.split(",")]


def absolute(corpus: str) -> str:
    """The corpus's name with absolute paths."""
    paths = [Path(corpus)] if Path(corpus).exists() else _files(corpus)
    if corpus.strip() in ("", BUILTIN) or not all(path.exists() for path in paths):
        return corpus
    return ",".join(str(path.resolve()) for path in paths)


def short_name(corpus: str) -> str:
    """The name of a run on this corpus: that of the folder, or `train` for the pair `train.de,train.en`."""
    path = Path(corpus.split(",")[0])
    return DataFile.named(path).stem if path.is_file() else re.split("[:@]", path.name)[0]


def is_language(name: str) -> bool:
    """True for a column named as a language: `de`, `pt_BR`."""
    return re.fullmatch(LANGUAGE_CODE, name) is not None and name.partition("_")[0] in _LANGUAGES


def languages_of(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that look like languages, in the order of the alphabet; `id` is a number beside two others."""
    languages = sorted(filter(is_language, columns))
    others = tuple(language for language in languages if language != "id")
    return others if len(others) >= 2 else tuple(languages)


def choose_columns(config: DataConfig, source: SplitSource) -> tuple[ColumnChoice, list[str]]:
    """The direction of translation and the columns, as configured or as the source has them, and notes about it."""
    given, columns = (config.source_language, config.target_language), (config.source_column, config.target_column)
    if (columns[0] == "") != (columns[1] == ""):
        raise InputError("data.source_column, data.target_column: only one is given; give both")
    known: tuple[str, ...] = columns if all(map(is_language, columns)) else ()
    if AUTO in given and (columns[0] == "" or columns[0].isdecimal()):
        known = source.languages()
    direction = choose_direction(config, known, name=source.name)
    languages, notes = " → ".join(direction), []
    if AUTO in given and len(known) < 2:
        notes = [f"{source.name} does not say its languages: taken for {languages}; set {_KEYS}"]
    elif given == (AUTO, AUTO) and direction != GERMAN_ENGLISH:
        notes = [f"translating {languages}; the other way: --set data.source_language={direction[1]}"]
    return ColumnChoice(direction, *columns), notes


def choose_direction(config: DataConfig, known: Sequence[str], *, name: str) -> tuple[str, str]:
    """Source and target language: the first direction between the known languages that fits the configuration."""
    source, target = config.source_language, config.target_language
    if source == target != AUTO:
        raise InputError(f"data.target_language: {source} is the source language too; choose another")
    if AUTO not in (source, target):
        return source, target
    if len(known) > 2:
        raise InputError(f"{name}: has {', '.join(known)}; set {_KEYS} to two of them")
    first, second = known if len(known) == 2 else GERMAN_ENGLISH
    for direction in ((first, second), (second, first)):
        if source in (AUTO, direction[0]) and target in (AUTO, direction[1]):
            return direction
    if len(known) == 2:
        chosen = target if source == AUTO else source
        raise InputError(f"{name}: has {first} and {second}, but not {chosen}; set {_KEYS} to those")
    return default_direction(config)


def default_direction(config: DataConfig) -> tuple[str, str]:
    """The configured languages, where `auto` is German or English."""
    source, target = config.source_language, config.target_language
    return "de" if source == AUTO else source, "en" if target == AUTO else target


def corpus_name(data: DataConfig) -> str:
    """The name of a corpus; of a folder or files without the way to them."""
    parts = data.corpus.split(",")
    return ",".join(Path(part).name if Path(part).is_absolute() else part for part in parts)
