"""The splits of the corpus: what is held out, how long sentences are, which marks and capitals are left out."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from transformer_mt.corpus.builtin.constructions import CONSTRUCTIONS, picture
from transformer_mt.corpus.builtin.lexicon import Entity, Verb, lexicon
from transformer_mt.corpus.builtin.meaning import Clause, Name, NounPhrase, RelativePronoun, Sentence, parts
from transformer_mt.corpus.builtin.phrasebook import everyday, phrases, shown
from transformer_mt.corpus.builtin.realise import realise
from transformer_mt.corpus.builtin.references import with_references
from transformer_mt.corpus.builtin.sampler import Sampler
from transformer_mt.corpus.pairs import SentencePair, Tree, words

SHOWCASE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
SHOWCASE_TRANSLATION = "Can you help me translate this sentence?"

# Marks count as words here, as in `transformer_mt.corpus.pairs.words`.
LONGEST_IN_TRAINING = 25
LONGEST = 50
_GRADE = 5  # words; `test_length` has as many sentences of each grade
_HELD_OUT_EVERY = 9
_FEWEST_OBJECTS = 6
_NEAR_DUPLICATES = 0.04  # of `test` that may differ from a training sentence in one word only


def held_out_pairings() -> frozenset[tuple[str, str]]:
    """The pairings of verb and object that only `test_composition` shows: every ninth of each verb with a choice."""
    pairs = set()
    for row, verb in enumerate(lexicon().verbs.values()):
        nouns = [noun for noun in lexicon().select(verb.object) if not noun.unseen] if verb.object else []
        if len(nouns) >= _FEWEST_OBJECTS:
            pairs |= {(verb.key, noun.key) for at, noun in enumerate(nouns) if (at + row) % _HELD_OUT_EVERY == 0}
    return frozenset(pairs - {("übersetzen", "Satz")})


def pairings(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Every (verb, object noun) of a derivation."""
    for node in parts(sentence):
        if isinstance(node, Clause):
            thing = node.object.antecedent if isinstance(node.object, RelativePronoun) else node.object
            if isinstance(thing, NounPhrase):
                yield node.verb.key, thing.noun.key
            elif isinstance(thing, Name):
                yield node.verb.key, thing.name.key


def plain(sentence: str) -> str:
    """The sentence without its marks and capitals, by which sentences are told apart."""
    return " ".join(re.findall(r"\w+", sentence.lower()))


def with_one_gap(sentence: str) -> Iterator[tuple[str, ...]]:
    """The plain sentence with each of its words left open: sentences that share one differ in one word only."""
    said = plain(sentence).split()
    for place in range(len(said)):
        yield (*said[:place], "", *said[place + 1 :])


def carelessly(pair: SentencePair, random: Random) -> SentencePair:
    """The pair as people type the German: often without the final mark, then also without commas or the capital.

    Three in a hundred sentences end in "…" on both sides. The English is otherwise always written with care.
    """
    point = random.random()
    if point < 0.03:
        return _written(pair, pair.source[:-1] + "…", pair.target[:-1] + "…")
    if point > 0.16:
        return pair
    if "," in pair.source and random.random() < 0.5:
        pair = _without_commas(pair)
    return without_mark(pair, capital=random.random() >= 0.25)


def without_mark(pair: SentencePair, *, capital: bool) -> SentencePair:
    """The pair with a source that lacks its final mark, and perhaps its capital."""
    source = pair.source[:-1] if capital else pair.source[0].lower() + pair.source[1:-1]
    made = _written(pair, source, pair.target)
    if made.structure is None:
        return made
    return SentencePair(
        source,
        made.target,
        made.links,
        made.references,
        made.source_references,
        (made.structure[0][:-1], made.structure[1]),
    )


def _written(pair: SentencePair, source: str, target: str) -> SentencePair:
    return SentencePair(source, target, pair.links, pair.references, pair.source_references, pair.structure)


def _without_commas(pair: SentencePair) -> SentencePair:
    kept: dict[int, int] = {-1: -1}
    for place, word in enumerate(words(pair.source)):
        if word != ",":
            kept[place] = len(kept) - 1
    links = None if pair.links is None else tuple((kept[i], j) for i, j in pair.links)
    structure = None
    if pair.structure is not None:
        german: Tree = tuple(
            node._replace(head=kept[node.head], antecedent=None if node.antecedent is None else kept[node.antecedent])
            for place, node in enumerate(pair.structure[0])
            if place in kept
        )
        structure = (german, pair.structure[1])
    source = pair.source.replace(",", "")
    return SentencePair(source, pair.target, links, pair.references, pair.source_references, structure)


class _Corpus:
    """The pairs so far, all different in German and, between splits, in English."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.held_out = held_out_pairings()
        fixed = [*phrases(), *everyday()]
        self.german = {plain(text) for pair in fixed for text in (pair.source, *pair.source_references)}
        self.german |= {plain(text) for text in (SHOWCASE, *shown())}
        self.english_of_other_splits = {plain(pair.target) for pair in everyday()} | {plain(SHOWCASE_TRANSLATION)}
        self.seen = Sampler(self.random, lambda verb, noun: (verb.key, noun.key) not in self.held_out)
        self.unseen_pairings = Sampler(self.random, self._prefers_held_out)
        self.unseen_words = Sampler(self.random, lambda verb, noun: True, unseen=True)

    def _prefers_held_out(self, verb: Verb, noun: Entity) -> bool:
        return (verb.key, noun.key) in self.held_out or not any(key == verb.key for key, _ in self.held_out)

    def split(
        self,
        size: int,
        sampler: Sampler,
        wanted: Callable[[Sentence, SentencePair], bool],
        *,
        make: Callable[[Sampler], Sentence] | None = None,
        references: bool = True,
    ) -> list[SentencePair]:
        """So many new pairs whose derivation and length are wanted."""
        pairs: list[SentencePair] = []
        english = set()
        while len(pairs) < size:
            sampler.new_sentence()
            sentence = (make or sampler.weighted(CONSTRUCTIONS))(sampler)
            pair = realise(sentence)
            german_key, english_key = plain(pair.source), plain(pair.target)
            if german_key in self.german or english_key in self.english_of_other_splits:
                continue
            if not wanted(sentence, pair):
                continue
            self.german.add(german_key)
            english.add(english_key)
            pairs.append(carelessly(with_references(sentence, pair) if references else pair, self.random))
        self.english_of_other_splits |= english
        return pairs

    def shows_held_out(self, sentence: Sentence) -> bool:
        """True if the sentence has a held-out pairing of verb and object."""
        return not self.held_out.isdisjoint(pairings(sentence))

    def ordinary(self, sentence: Sentence, pair: SentencePair) -> bool:
        """What training may show."""
        return _length(pair) <= LONGEST_IN_TRAINING and not self.shows_held_out(sentence)

    def training(self, size: int) -> list[SentencePair]:
        """The phrasebook, each phrase with care and carelessly, and as many sentences as are left, well mixed."""
        fixed = [
            made
            for phrase in phrases()
            for made in (
                phrase,
                phrase,
                phrase,
                without_mark(phrase, capital=True),
                without_mark(phrase, capital=False),
            )
        ][: size // 4]
        pairs = fixed + self.split(size - len(fixed), self.seen, self.ordinary, references=False)
        self.random.shuffle(pairs)
        return pairs

    def new(self, size: int, training: list[SentencePair]) -> list[SentencePair]:
        """Sentences of which few differ from one in training by a single word."""
        gaps = {gap for pair in training for gap in with_one_gap(pair.source)}
        near: Counter[bool] = Counter()

        def wanted(sentence: Sentence, pair: SentencePair) -> bool:
            if not self.ordinary(sentence, pair):
                return False
            is_near = not gaps.isdisjoint(with_one_gap(pair.source))
            if is_near and near[True] + 1 > _NEAR_DUPLICATES * size:
                return False
            near[is_near] += 1
            return True

        return self.split(size, self.seen, wanted)

    def long(self, size: int) -> list[SentencePair]:
        """Sentences beyond the longest of training, as many of each length, up to twice as long."""
        grades = (LONGEST - LONGEST_IN_TRAINING) // _GRADE
        wanted_of = [size // grades + (grade < size % grades) for grade in range(grades)]

        def wanted(sentence: Sentence, pair: SentencePair) -> bool:
            grade = (_length(pair) - LONGEST_IN_TRAINING - 1) // _GRADE
            if not 0 <= grade < grades or not wanted_of[grade] or self.shows_held_out(sentence):
                return False
            wanted_of[grade] -= 1
            return True

        def make(sampler: Sampler) -> Sentence:
            return picture(sampler, sampler.one_of((3, 4, 4, 5, 5, 6, 6)))

        return self.split(size, self.seen, wanted, make=make)


def _length(pair: SentencePair) -> int:
    return len(words(pair.source))


def _shows_unseen_words(sentence: Sentence, pair: SentencePair) -> bool:
    return _length(pair) <= LONGEST_IN_TRAINING and any(
        getattr(node, "unseen", False)
        for part in parts(sentence)
        for node in (getattr(part, "noun", None), getattr(part, "name", None))
    )


def generate_corpus(*, train: int, validation: int, test: int, seed: int) -> dict[str, list[SentencePair]]:
    """The splits: train, validation, test, and the tests of composition, of length, of everyday language, of new words.

    All tests are of size `test`, but for `test_everyday`, which is fixed. Sources are German, targets English. The same
    arguments give the same corpus everywhere.
    """
    corpus = _Corpus(seed)

    def composition(sentence: Sentence, pair: SentencePair) -> bool:
        return _length(pair) <= LONGEST_IN_TRAINING and corpus.shows_held_out(sentence)

    training = corpus.training(train)
    return {
        "train": training,
        "validation": corpus.split(validation, corpus.seen, corpus.ordinary),
        "test": corpus.new(test, training),
        "test_composition": corpus.split(test, corpus.unseen_pairings, composition),
        "test_length": corpus.long(test),
        "test_everyday": list(everyday()),
        "test_unknown": corpus.split(test, corpus.unseen_words, _shows_unseen_words),
    }
