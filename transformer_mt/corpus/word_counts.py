"""Word frequencies of a corpus, and how training capitalised its words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, filterfalse, islice, zip_longest

import regex

from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.text.languages import language_of
from transformer_mt.text.words import is_unspaced, words

# Distinct words per side; beyond that, the more frequent half is kept. A word takes 100 bytes.
MOST_WORDS = 2_000_000
# Characters of a word to keep; most longer ones are addresses or not words.
LONGEST_KEPT = 64
_PAIRS_AT_A_TIME = 50_000
# A word gets a capital if training wrote it with one this often, counting sentence starts.
_CAPITAL = 0.97
# A word, or a whole address or name of a file: https://beispiel.de/haus, anna.hund@beispiel.de, haus.txt.
_WORD = regex.compile(r"(?<!\S)[^\s@:.]*+(?:@|://|\.\w)\S*+|\w+(?:-\w+)*")
_LETTER = regex.compile(r"\p{L}")
_DOTTED = frozenset(("tr", "az"))  # languages with I–ı and İ–i


def real_words(text: str) -> list[str]:
    """The words of a normalised text that contain a letter, so no numbers and punctuation marks."""
    return list(filter(is_real, words(text)))


def is_real(word: str) -> bool:
    """True for a word with a letter and at most `LONGEST_KEPT` characters."""
    return len(word) <= LONGEST_KEPT and any(map(str.isalpha, word))


def lower(text: str, language: str) -> str:
    """Lower-case a text by the rules of its language."""
    return (text.replace("İ", "i").replace("I", "ı") if language in _DOTTED else text).lower()


@dataclass(frozen=True)
class TrainingWords:
    """Words of the training sources and targets, as written, with their counts.

    If not `complete`, rare words are missing. `longest` is the longest source, in words and punctuation marks.
    """

    source: Counter[str]
    target: Counter[str]
    complete: bool
    longest: int

    def __add__(self, other: "TrainingWords") -> "TrainingWords":
        return TrainingWords(
            self.source + other.source,
            self.target + other.target,
            self.complete and other.complete,
            max(self.longest, other.longest),
        )

    def seen(self, language: str) -> "SeenWords":
        """Index the source words for lookup. `language` is their language."""
        language = language_of(language) or ""
        folded = Counter[str]()
        forms = dict[str, str]()
        for word, count in self.source.most_common():
            key = lower(word, language).casefold()
            folded[key] += count
            forms.setdefault(key, word)
        return SeenWords(self.source, folded, forms, self.complete, self.longest, language)

    def commonest(self, count: int) -> dict[str, float]:
        """The `count` most frequent words of each side, by rank, with their share of all words.

        Skips words of scripts without spaces.
        """
        both = self.source + self.target
        total = both.total()
        ranked = (
            sorted(filterfalse(is_unspaced, side), key=lambda word: (-side[word], word))[:count]
            for side in (self.source, self.target)
        )
        return {word: both[word] / total for word in chain.from_iterable(zip_longest(*ranked)) if word is not None}


@dataclass(frozen=True)
class SeenWords:
    """Source words of the training data: as `written`, and `folded` to ignore case.

    `forms` maps each folded word to its most frequent form; `complete` and `longest` are as in `TrainingWords`.
    """

    written: Mapping[str, int]
    folded: Mapping[str, int]
    forms: Mapping[str, str]
    complete: bool
    longest: int
    language: str

    def fold(self, word: str) -> str:
        """Fold the case of a word by the rules of the language."""
        return lower(word, self.language).casefold()

    def with_capitals(self, text: str) -> str:
        """Restore capitals in an all-lowercase text, for words that training almost always capitalised."""
        return text if text != text.lower() else _WORD.sub(lambda match: self._capitalised(match[0]), text)

    def is_shouted(self, text: str) -> bool:
        """True for a text in capitals: all cased letters are, and it has two words or more, most of them known."""
        if not text.isupper():
            return False
        found = real_words(text)
        return len(found) > 1 and 2 * sum(self.fold(word) in self.folded for word in found) > len(found)

    def without_capitals(self, text: str) -> str:
        """Spell a sentence in capitals as training does (STRASSE becomes Straße), starting with a capital."""
        spelled = _WORD.sub(lambda match: self.forms.get(self.fold(match[0]), lower(match[0], self.language)), text)
        return _LETTER.sub(lambda match: self._capital(match[0]), spelled, count=1)

    def _capital(self, letter: str) -> str:
        capital = "İ" if self.language in _DOTTED and letter == "i" else letter.upper()
        return capital if len(capital) == 1 else letter

    def _capitalised(self, word: str) -> str:
        key = self.fold(word)
        form = self.forms.get(key, word)
        return word if form.islower() or self.written[form] < _CAPITAL * self.folded[key] else form

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """How often each word with a letter occurs in training; each word once, in order of appearance."""
        by_folded: dict[str, str] = {}
        for word in words:
            if is_real(word):
                by_folded.setdefault(self.fold(word), word)
        return {word: self.folded.get(folded, 0) for folded, word in by_folded.items()}


def words_of_pairs(pairs: Iterable[SentencePair]) -> TrainingWords:
    """Count the words of sentence pairs. If there are too many distinct ones, only the most frequent are kept."""
    sides, complete, longest, pairs = {"source": Counter[str](), "target": Counter[str]()}, True, 0, iter(pairs)
    while group := list(islice(pairs, _PAIRS_AT_A_TIME)):
        longest = max(longest, *(len(words(pair.source)) for pair in group))
        for side, counts in sides.items():
            # Words do not cross blanks, and most strings between blanks repeat.
            strings = chain.from_iterable(getattr(pair, side).split() for pair in group)
            for string, count in Counter(strings).items():
                for word in real_words(string):
                    counts[word] += count
            if len(counts) > MOST_WORDS:
                sides[side] = Counter(dict(counts.most_common(MOST_WORDS // 2)))
                complete = False
    return TrainingWords(**sides, complete=complete, longest=longest)
