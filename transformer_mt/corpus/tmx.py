"""TMX 1.4, the exchange format of translation memories, read in one pass with bounded memory.

Inline tags go: the native codes in `bpt`, `ept`, `it`, `ph` and `ut` are no text, nor are their subflows; what `hi`
marks is. A placeholder leaves a blank, since most are line breaks. Of several texts of one language in a unit the first
is read.
"""

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import chain
from typing import Any
from xml.parsers import expat

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import ColumnChoice, SplitSource, in_direction
from transformer_mt.errors import InputError
from transformer_mt.files import LONGEST_LINE

_CODES = ("bpt", "ept", "it", "ph", "ut")
_BLOCK, _DEEPEST, _MOST_LANGUAGES = 2**16, 64, 1_000

Unit = dict[str, str]


class TranslationMemory(SplitSource):
    """A TMX file, whose languages are those of its texts, that of the header's `srclang` first."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), file.identity)
        self._file = file

    @override
    def languages(self) -> tuple[str, ...]:
        return self._languages

    @override
    def pairs(self, columns: ColumnChoice) -> Iterator[SentencePair]:
        sides = in_direction(self._languages, self._languages, columns, place=self.name)
        for unit in _Reader(self._file).units() if sides else ():
            if not unit.keys().isdisjoint(sides):
                yield SentencePair(unit.get(sides[0], ""), unit.get(sides[1], ""))

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        reader, found = _Reader(self._file), set[str]()
        for unit in reader.units():
            found.update(unit)
            if len(found) > _MOST_LANGUAGES:
                raise InputError(f"{self.name}: over {_MOST_LANGUAGES:,} languages; correct its xml:lang")
        return tuple(sorted(found, key=lambda language: (language != reader.source_language, language)))


class _Reader:
    """The units of a TMX file, from the events of an XML parser."""

    def __init__(self, file: DataFile) -> None:
        self._file, self.source_language = file, ""
        self._open: list[str] = []  # the elements around the present place
        self._done: list[Unit] = []
        self._unit, self._language, self._text, self._size = Unit(), "", list[str](), 0
        self._parser = parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self._refuse_entity

    def units(self) -> Iterator[Unit]:
        """The text of each language, unit by unit. Raises `InputError` with the line of what is wrong."""
        with self._file.plain.open("rb") as file:
            read = 0
            for block in chain(iter(partial(file.read, _BLOCK), b""), [b""]):
                read += len(block)
                try:
                    self._parser.Parse(block, not block)
                except expat.ExpatError as error:
                    reason = expat.ErrorString(error.code)
                    raise self._problem(f"no well-formed XML ({reason}); correct it or export it again") from None
                if read - self._parser.CurrentByteIndex > LONGEST_LINE + _BLOCK:
                    raise self._problem(f"more than {LONGEST_LINE:,} bytes in one tag; correct it")
                yield from self._done
                self._done.clear()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if len(self._open) == _DEEPEST:
            raise self._problem(f"over {_DEEPEST} elements in each other; correct it")
        self._open.append(name)
        match name:
            case "header":
                self.source_language = _code(attributes.get("srclang", ""))
            case "tu":
                self._unit, self._size = {}, 0
            case "tuv":
                self._language = _code(attributes.get("xml:lang") or attributes.get("lang", ""))
                self._grow(len(self._language))
                if not self._language:
                    raise self._problem("a <tuv> without xml:lang; say its language")
            case "seg":
                self._text = []
            case "ph":
                self._text.append(" ")
                self._grow(1)

    def _end(self, _: str) -> None:
        name = self._open.pop()
        if name == "seg":
            self._unit.setdefault(self._language, " ".join("".join(self._text).split()))
        elif name == "tu":
            self._done.append(self._unit)

    def _characters(self, text: str) -> None:
        if "seg" in self._open and not any(map(self._open.__contains__, _CODES)):
            self._grow(len(text))
            self._text.append(text)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_LINE:
            raise self._problem(f"more than {LONGEST_LINE:,} characters in one <tu>; split it")

    def _refuse_entity(self, name: str, *_: Any) -> None:
        raise self._problem(f"an entity of its own, {name[:20]}; write the character in its place")

    def _problem(self, problem: str) -> InputError:
        return InputError(f"{self._file.path}:{self._parser.CurrentLineNumber}: {problem}")


def _code(language: str) -> str:
    """The code of a language as BCP 47 writes it: `en-US` for `EN-US` and `en_us`, which one file may use together."""
    first, *rest = language.strip().replace("_", "-").split("-")
    return "-".join([first.lower(), *(part.upper() if len(part) == 2 else part.title() for part in rest)])
