"""A glossary: source terms, and the target terms that their translations get."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from transformer_mt.corpus.text_files import unquoted
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import bounded_lines, read_input
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import inner_places, words
from transformer_mt.tokenizer.prepared import PreparedSentence

LARGEST = 10_000_000  # bytes
LONGEST = 1_000  # characters of a term


class Occurrence(NamedTuple):
    """A term, and the numbers of its words in a source sentence: from `first` to before `end`."""

    source: str
    target: str
    first: int
    end: int


class Use(NamedTuple):
    """A term that occurs in a source sentence, and whether the translation has it."""

    source: str
    target: str
    placed: bool


class Glossary:
    """Terms by the words of their source, ignoring case."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        """Raises `InputError` for an empty term, or the same words twice with different targets."""
        self._terms: dict[tuple[str, ...], tuple[str, str]] = {}
        for source, target in terms.items():
            self._add(source, target, place="glossary")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a UTF-8 file with a source term, a tab and a target term per line; either may be in quotes.

        Skips empty lines. Raises `InputError`, naming the line, for anything else.
        """
        glossary = cls({})
        remedy = "write a source term, a tab and a target term on each line"
        content = BytesIO(read_input(Path(path), limit=LARGEST, remedy=remedy))
        for number, line in bounded_lines(content, name=str(path)):
            if isinstance(line, InputError):
                raise line
            if line.strip():
                place = f"{path}:{number}"
                columns = [unquoted(cell) for cell in line.split("\t")]
                if len(columns) != 2:
                    raise InputError(place, f"{len(columns) - 1} tabs instead of one", remedy)
                glossary._add(*columns, place=place)
        return glossary

    def _add(self, source: str, target: str, *, place: str) -> None:
        source, target = normalize(source), normalize(target)
        if not (source and target):
            raise InputError(place, "a term is empty", "write both, or neither")
        if max(len(source), len(target)) > LONGEST:
            raise InputError(place, f"a term has more than {LONGEST} characters", "shorten it")
        known, meaning = self._terms.setdefault(_folded(words(source)), (source, target))
        if meaning != target:
            raise InputError(place, f"{known} already means {meaning}", "remove one of them")

    def __bool__(self) -> bool:
        return bool(self._terms)

    def terms_in(self, sentence: PreparedSentence) -> list[Occurrence]:
        """The terms that occur in a source sentence, in order; the longest where several begin.

        They occur as whole words, and not inside a number, an address or the like: see `inner_places`.
        """
        if not self._terms:
            return []
        found = []
        place = 0
        read = _folded(sentence.words)
        inner = inner_places(sentence.text)
        longest = max(map(len, self._terms))
        while place < len(read):
            for size in range(min(longest, len(read) - place), 0, -1):
                term = self._terms.get(read[place : place + size])
                if term and inner.isdisjoint((sentence.spans[place][0], sentence.spans[place + size - 1][1])):
                    found.append(Occurrence(*term, place, place + size))
                    break
            place += size
        return found


NONE = Glossary({})


def _folded(read: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(str.casefold, read))
