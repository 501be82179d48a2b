"""The words of a corpus, with how often each occurs, and which words of a text are not among them."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from transformer_mt.corpus.cleaning import compose, normalize
from transformer_mt.corpus.pairs import SentencePair, words

# Different words of a side that are kept: half of them, the commonest, once there are more. They take 100 bytes each.
MOST_WORDS = 2_000_000
# Characters of a word that is kept; most longer ones are addresses, or none.
LONGEST = 64
# Strings between blanks that are gathered before they are cut into words, which takes far longer than to count them.
_GATHERED = 500_000
# Thai, Lao, Burmese, Khmer, Japanese and Chinese have no blanks between words.
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


def real_words(text: str) -> list[str]:
    """The words of a text that have a letter: no numbers, no marks; nothing of scripts that do not part words."""
    return [word for word in words(text) if len(word) <= LONGEST and _is_real(word)]


def _is_real(word: str) -> bool:
    return any(map(str.isalpha, word)) and not _WITHOUT_BLANKS.search(word)


@dataclass(frozen=True)
class TrainingWords:
    """The words of the sources and of the targets of the training data, as they are written, with their counts.

    `complete` says that they are all; else rare ones are missing.
    """

    source: Counter[str]
    target: Counter[str]
    complete: bool

    def __add__(self, other: "TrainingWords") -> "TrainingWords":
        return TrainingWords(self.source + other.source, self.target + other.target, self.complete and other.complete)

    def commonest(self, count: int) -> dict[str, float]:
        """The `count` commonest words of each side, those of the highest rank first, with their share of all words."""
        both, total = self.source + self.target, self.source.total() + self.target.total()
        ranked = (
            sorted(counts, key=lambda word: (-counts[word], word))[:count] for counts in (self.source, self.target)
        )
        found = (word for words in zip_longest(*ranked) for word in words if word is not None)
        return {word: both[word] / total for word in found}


@dataclass(frozen=True)
class SeenWords:
    """The words of the sources of the training data, folded so that casing does not count; `complete` as above."""

    folded: frozenset[str]
    complete: bool

    def never_seen(self, text: str) -> list[str]:
        """The words of a source sentence that are none of these in any casing, each once, in their order."""
        found: dict[str, str] = {}
        for word in real_words(compose(normalize(text))):
            found.setdefault(word.casefold(), word)
        return [word for folded, word in found.items() if folded not in self.folded]


def count_words(pairs: Iterable[SentencePair]) -> TrainingWords:
    """The words of sentence pairs. Of many different ones only the commonest are kept."""
    source, target = _Counting(), _Counting()
    for pair in pairs:
        source.add(pair.source)
        target.add(pair.target)
    counts = source.result(), target.result()
    return TrainingWords(*counts, complete=source.complete and target.complete)


class _Counting:
    """Counts the words of one side, and takes a bounded amount of memory."""

    def __init__(self) -> None:
        self.complete = True
        self._strings: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    def add(self, text: str) -> None:
        self._strings.update(text.split())
        if len(self._strings) > _GATHERED:
            self._cut()

    def result(self) -> Counter[str]:
        self._cut()
        return self._words

    def _cut(self) -> None:
        """Cut the strings into words: no word crosses a blank."""
        for string, count in self._strings.items():
            for word in real_words(compose(string)):
                self._words[word] += count
        self._strings.clear()
        if len(self._words) > MOST_WORDS:
            self._words = Counter(dict(self._words.most_common(MOST_WORDS // 2)))
            self.complete = False
