"""The words of a corpus, with how often each occurs, and how often training showed each word of a text."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest

from transformer_mt.corpus.cleaning import compose, normalize
from transformer_mt.corpus.pairs import SentencePair, words

# Different words of a side; when there are more, the commonest half is kept. A word takes 100 bytes.
MOST_WORDS = 2_000_000
# Characters of a word that is kept; most longer ones are addresses, or none.
LONGEST = 64
_PAIRS_AT_A_TIME = 50_000
# A word has a capital if training wrote it so this often, at the start of a sentence included.
_CAPITAL = 0.97
_WORD = re.compile(r"\w+(?:-\w+)*")
# Thai, Lao, Burmese, Khmer, Japanese and Chinese have no blanks between words.
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


def real_words(text: str) -> list[str]:
    """The words of a text that have a letter: no numbers, no marks; nothing of scripts that do not part words."""
    return [
        word
        for word in words(text)
        if len(word) <= LONGEST and any(map(str.isalpha, word)) and not _WITHOUT_BLANKS.search(word)
    ]


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

    def seen(self) -> "SeenWords":
        """The words of the sources, to look others up."""
        folded = Counter[str]()
        for word, count in self.source.items():
            folded[word.casefold()] += count
        capitals = {
            word.casefold(): word
            for word, count in self.source.items()
            if not word.islower() and count >= _CAPITAL * folded[word.casefold()]
        }
        return SeenWords(folded, self.complete, capitals)

    def commonest(self, count: int) -> dict[str, float]:
        """The `count` commonest words of each side, those of the highest rank first, with their share of all words."""
        both, total = self.source + self.target, self.source.total() + self.target.total()
        ranked = (sorted(side, key=lambda word: (-side[word], word))[:count] for side in (self.source, self.target))
        return {word: both[word] / total for word in chain.from_iterable(zip_longest(*ranked)) if word is not None}


@dataclass(frozen=True)
class SeenWords:
    """The words of the sources of the training data, folded so that casing does not count; `complete` as above.

    `capitals` has the words that training hardly ever wrote in small letters, as it wrote them.
    """

    folded: Mapping[str, int]
    complete: bool
    capitals: Mapping[str, str] = field(default_factory=dict)

    def with_capitals(self, text: str) -> str:
        """A text that was typed without any capitals, with those of its words: diesen Satz for diesen satz."""
        if text != text.lower():
            return text
        return _WORD.sub(lambda match: self.capitals.get(match[0].casefold(), match[0]), compose(text))

    def counts(self, text: str) -> dict[str, int]:
        """The words of a source sentence, each once, in their order, with how often training showed them."""
        by_folded: dict[str, str] = {}
        for word in real_words(compose(normalize(text))):
            by_folded.setdefault(word.casefold(), word)
        return {word: self.folded.get(folded, 0) for folded, word in by_folded.items()}


def count_words(pairs: Iterable[SentencePair]) -> TrainingWords:
    """The words of sentence pairs. Of many different ones only the commonest are kept."""
    sides, complete, pairs = {"source": Counter[str](), "target": Counter[str]()}, True, iter(pairs)
    while group := list(islice(pairs, _PAIRS_AT_A_TIME)):
        for side, counts in sides.items():
            # No word crosses a blank, and most strings between blanks come again.
            strings = chain.from_iterable(getattr(pair, side).split() for pair in group)
            for string, count in Counter(strings).items():
                for word in real_words(compose(string)):
                    counts[word] += count
            if len(counts) > MOST_WORDS:
                sides[side] = Counter(dict(counts.most_common(MOST_WORDS // 2)))
                complete = False
    return TrainingWords(**sides, complete=complete)
