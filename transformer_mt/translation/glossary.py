"""A glossary: source terms, and the target terms that their translations must contain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from transformer_mt.corpus.text_files import unquoted
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import bounded_lines, read_input
from transformer_mt.text.normalize import normalize
from transformer_mt.text.words import inner_places, is_unspaced, words
from transformer_mt.tokenizer.prepared import PreparedSentence, is_byte
from transformer_mt.tokenizer.symbols import BOS, UNK
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.constraints import Constraint, Phrase, Tokens

LARGEST = 10_000_000  # bytes
LONGEST = 1_000  # characters of a term


class Term(NamedTuple):
    """A source term and its translation."""

    source: str
    target: str


class Glossary:
    """Terms by the words of their source, ignoring case."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        """Raises `InputError` for an empty term, or the same words twice with different targets."""
        self._terms: dict[tuple[str, ...], Term] = {}
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
        term = Term(normalize(source), normalize(target))
        if not (term.source and term.target):
            raise InputError(place, "a term is empty", "write both, or neither")
        if max(map(len, term)) > LONGEST:
            raise InputError(place, f"a term has more than {LONGEST} characters", "shorten it")
        known = self._terms.setdefault(_folded(words(term.source)), term)
        if known.target != term.target:
            raise InputError(place, f"{known.source} already means {known.target}", "remove one of them")

    def __bool__(self) -> bool:
        return bool(self._terms)

    def terms_in(self, sentence: PreparedSentence) -> list[Term]:
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
                    found.append(term)
                    break
            place += size
        return found

    def constraint(self, sentence: PreparedSentence, tokenizer: Tokenizer) -> Constraint:
        """What the translation of a sentence must contain: a term as often as in the source.

        Raises `InputError` for a target term with characters that the vocabulary lacks.
        """
        times = Counter(term.target for term in self.terms_in(sentence))
        phrases = tuple(Phrase(_spellings(term, tokenizer), count) for term, count in times.items())
        return Constraint(phrases, lambda token: _continues_word(tokenizer.pieces([token])[0]))


NONE = Glossary({})


def _folded(read: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(str.casefold, read))


def _spellings(term: str, tokenizer: Tokenizer) -> tuple[Tokens, ...]:
    """The tokens of a target term, as a word and, with a capital, at the start of a sentence.

    In a script without spaces, also after another character, where the mark of a word's start is missing.
    """
    usual, capital, full_stop, after = map(tokenizer.encode, (term, term[0].upper() + term[1:], "。", f"。{term}"))
    if UNK in usual:
        raise InputError("glossary", f"{term} has characters without a token", "spell it in another way")
    spellings = [usual, [BOS, *capital]]
    if is_unspaced(term) and after[: len(full_stop)] == full_stop:
        spellings.append(after[len(full_stop) :])
    return tuple(map(tuple, spellings))


@cache
def _continues_word(piece: str) -> bool:
    """True for a token that continues the word before it, or makes it a name like `C++`; a byte may."""
    return is_byte(piece) or len(words(f"a{piece[0]}")) == 1 or bool(inner_places(f"1{piece[0]}"))
