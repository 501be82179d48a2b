"""The splits of the corpus: what is held out, how long sentences are, which marks and capitals are left out."""

import re
from collections.abc import Callable
from random import Random

from transformer_mt.corpus.builtin.complex_sentences import long_sentence
from transformer_mt.corpus.builtin.constructions import CONSTRUCTIONS, Construction
from transformer_mt.corpus.builtin.lexicon import Entity, Verb, lexicon
from transformer_mt.corpus.builtin.sampler import Sampler
from transformer_mt.corpus.builtin.sentences import Sentence, pairings, realise
from transformer_mt.corpus.pairs import SentencePair, words

SHOWCASE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
SHOWCASE_TRANSLATION = "Can you help me translate this sentence?"

# Marks count as words here, as in `transformer_mt.corpus.pairs.words`.
LONGEST_IN_TRAINING = 18
LONGEST = 28
_HELD_OUT_EVERY = 9
_FEWEST_OBJECTS = 6


def held_out_pairings() -> frozenset[tuple[str, str]]:
    """The pairings of verb and object that only `test_composition` shows: every ninth of each verb with a choice."""
    pairs = set()
    for row, verb in enumerate(lexicon().verbs.values()):
        if len(verb.objects) >= _FEWEST_OBJECTS:
            pairs |= {(verb.key, noun.key) for at, noun in enumerate(verb.objects) if (at + row) % _HELD_OUT_EVERY == 0}
    return frozenset(pairs - {("übersetzen", "Satz")})


def plain(sentence: str) -> str:
    """The sentence without its marks and capitals, by which sentences are told apart."""
    return " ".join(re.findall(r"\w+", sentence.lower()))


def carelessly(pair: SentencePair, random: Random) -> SentencePair:
    """The pair as people type the German: often without the final mark, then also without commas or the capital.

    Three in a hundred sentences end in "…" on both sides. The English is otherwise always written with care.
    """
    point = random.random()
    if point < 0.03:
        return SentencePair(pair.source[:-1] + "…", pair.target[:-1] + "…", pair.links)
    if point > 0.16:
        return pair
    source = pair.source[:-1]
    links = pair.links
    if "," in source and random.random() < 0.5:
        source, links = _without_commas(source, links or ())
    if random.random() < 0.25:
        source = source[0].lower() + source[1:]
    return SentencePair(source, pair.target, links)


def _without_commas(source: str, links: tuple[tuple[int, int], ...]) -> tuple[str, tuple[tuple[int, int], ...]]:
    kept: dict[int, int] = {}
    for place, word in enumerate(words(source)):
        if word != ",":
            kept[place] = len(kept)
    return source.replace(",", ""), tuple((kept[i], j) for i, j in links)


class _Corpus:
    """The pairs so far, all different in German and, between splits, in English."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.held_out = held_out_pairings()
        self.german = {plain(SHOWCASE)}
        self.english_of_other_splits = {plain(SHOWCASE_TRANSLATION)}
        self.seen = Sampler(self.random, lambda verb, noun: (verb.key, noun.key) not in self.held_out)
        self.unseen = Sampler(self.random, self._prefers_held_out)

    def _prefers_held_out(self, verb: Verb, noun: Entity) -> bool:
        return (verb.key, noun.key) in self.held_out or not any(key == verb.key for key, _ in self.held_out)

    def split(
        self, size: int, sampler: Sampler, make: Callable[[], Sentence], wanted: Callable[[Sentence, int], bool]
    ) -> list[SentencePair]:
        """So many new pairs whose derivation and length are wanted."""
        pairs: list[SentencePair] = []
        english = set()
        while len(pairs) < size:
            sampler.new_sentence()
            sentence = make()
            pair = realise(sentence)
            german_key, english_key = plain(pair.source), plain(pair.target)
            if german_key in self.german or english_key in self.english_of_other_splits:
                continue
            if not wanted(sentence, len(words(pair.source))):
                continue
            self.german.add(german_key)
            english.add(english_key)
            pairs.append(carelessly(pair, self.random))
        self.english_of_other_splits |= english
        return pairs

    def anything(self, sampler: Sampler) -> Sentence:
        """A sentence of any construction."""
        return self._construction()(sampler)

    def _construction(self) -> Construction:
        return self.seen.weighted(CONSTRUCTIONS)

    def shows_held_out(self, sentence: Sentence) -> bool:
        """True if the sentence has a held-out pairing of verb and object."""
        return not self.held_out.isdisjoint(pairings(sentence))


def generate_corpus(*, train: int, validation: int, test: int, seed: int) -> dict[str, list[SentencePair]]:
    """The five splits: train, validation, test, test_composition and test_length, the last three of size `test`.

    Sources are German, targets English. The same arguments give the same corpus everywhere.
    """
    corpus = _Corpus(seed)

    def ordinary(sentence: Sentence, length: int) -> bool:
        return length <= LONGEST_IN_TRAINING and not corpus.shows_held_out(sentence)

    def composition(sentence: Sentence, length: int) -> bool:
        return length <= LONGEST_IN_TRAINING and corpus.shows_held_out(sentence)

    def long(sentence: Sentence, length: int) -> bool:
        return LONGEST_IN_TRAINING + 5 < length <= LONGEST and not corpus.shows_held_out(sentence)

    def seen() -> Sentence:
        return corpus.anything(corpus.seen)

    return {
        "train": corpus.split(train, corpus.seen, seen, ordinary),
        "validation": corpus.split(validation, corpus.seen, seen, ordinary),
        "test": corpus.split(test, corpus.seen, seen, ordinary),
        "test_composition": corpus.split(test, corpus.unseen, lambda: corpus.anything(corpus.unseen), composition),
        "test_length": corpus.split(test, corpus.seen, lambda: long_sentence(corpus.seen), long),
    }
