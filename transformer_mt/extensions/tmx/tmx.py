"""TMX 1.4, the exchange format of translation memories, read in one pass with bounded memory.

Inline tags are removed. The native codes in `bpt`, `ept`, `it`, `ph` and `ut`, and their subflows, are not text; the
content of `hi` is. A placeholder leaves a blank, since most are line breaks. If a unit has several texts in one
language, the first counts.
"""

from functools import cached_property
from typing import Any
from xml.parsers import expat

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import PlacedRecords, SplitSource
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import LONGEST_LINE

_CODES = ("bpt", "ept", "it", "ph", "ut")
_BLOCK = 2**16

Unit = dict[str, str]


class TranslationMemory(SplitSource):
    """A TMX file. Its languages come from its texts; the header's `srclang` is first."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), file.identity, lambda: _Reader(file).units())
        self._file = file

    @cached_property
    @override
    def names(self) -> list[str]:
        reader = _Reader(self._file)
        found = sorted({language for _, unit in reader.units() for language in unit})
        return sorted(found, key=lambda language: language != reader.source_language)

    @override
    def languages(self) -> tuple[str, ...]:
        return tuple(self.names)


class _Reader:
    """Reads the units of a TMX file from the events of an XML parser."""

    def __init__(self, file: DataFile) -> None:
        self._file = file
        self.source_language = ""
        self._done: list[tuple[str, Unit]] = []
        self._place, self._unit, self._language, self._text, self._size = "", Unit(), "", list[str](), 0
        self._codes = 0  # depth of enclosing elements that hold native codes
        self._parser = parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self._refuse_entity

    def units(self) -> PlacedRecords:
        """Yield each unit's text by language. Raises `InputError` with the line of a problem."""
        with self._file.plain.open("rb") as file:
            is_final = False
            while not is_final:
                block = file.read(_BLOCK)
                is_final = not block
                try:
                    self._parser.Parse(block, is_final)
                except expat.ExpatError as error:
                    reason = expat.ErrorString(error.code)
                    raise self._problem(f"malformed XML ({reason}); correct it or export it again") from None
                except (LookupError, ValueError) as error:  # from Python's table for the declared encoding
                    raise self._problem(f"unsupported encoding ({error}); save it as UTF-8") from None
                if file.tell() - self._parser.CurrentByteIndex > LONGEST_LINE + _BLOCK:
                    raise self._problem(f"more than {LONGEST_LINE:,} bytes in one tag; correct it")
                yield from self._done
                self._done.clear()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "header":
                self.source_language = _code(attributes.get("srclang", ""))
            case "tu":
                self._place = f"{self._file.path}:{self._parser.CurrentLineNumber}"
                self._unit = {}
                self._size = 0
            case "tuv":
                self._language = _code(attributes.get("xml:lang") or attributes.get("lang", ""))
                if not self._language:
                    raise self._problem("a <tuv> without xml:lang; add its language")
                self._add(self._language)
            case "seg":
                self._text = []
            case "ph":
                self._add(" ")
        self._codes += name in _CODES

    def _end(self, name: str) -> None:
        self._codes -= name in _CODES
        if name == "seg":
            self._unit.setdefault(self._language, " ".join("".join(self._text).split()))
        elif name == "tu":
            self._done.append((self._place, self._unit))

    def _add(self, text: str) -> None:
        """Add text to the segment; each <seg> discards the text before it."""
        if not self._codes:
            self._text.append(text)
            self._size += len(text)
            if self._size > LONGEST_LINE:
                raise self._problem(f"more than {LONGEST_LINE:,} characters in one <tu>; split it")

    def _refuse_entity(self, name: str, *_: Any) -> None:
        raise self._problem(f"a custom entity, {name[:20]}; write the character instead")

    def _problem(self, problem: str) -> InputError:
        return InputError(f"{self._file.path}:{self._parser.CurrentLineNumber}", problem)


def _code(language: str) -> str:
    """The BCP 47 form of a language code: `en-US` for `EN-US` and `en_us`. One file may mix them."""
    first, *rest = language.strip().replace("_", "-").split("-")
    return "-".join([first.lower(), *(part.upper() if len(part) == 2 else part.title() for part in rest)])
