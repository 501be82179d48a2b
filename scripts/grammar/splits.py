"""The splits of the corpus: held-out words and pairings, sentence lengths, and careless typing."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

from grammar.constructions import CONSTRUCTIONS, Construction, picture
from grammar.lexicon import Entity, lexicon
from grammar.meaning import Both, Clause, RelativePronoun, Sentence, entity_of, parts
from grammar.phrasebook import everyday, phrases, shown
from grammar.realise import realise
from grammar.references import with_references
from grammar.sampler import Sampler
from grammar.trees import Node, ParsedPair
from grammar.variation import varied
from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.text.words import words

# Lengths count marks as words, as in `transformer_mt.corpus.pairs.words`.
LONGEST_IN_TRAINING = 25
LONGEST = 50
_GRADE = 5  # words; `test_length` has equally many sentences of each grade
_WORDS_OF_A_PICTURE = 6.5  # in each of its clauses, roughly
_POOL = 2  # candidates per training sentence; as many again are searched for rare forms
_LINES = 600  # sentences per two-sentence line, which starts with a greeting
_SENTENCES_A_FORM = 8_000  # per required occurrence of each word form in training
_HELD_OUT_EVERY = 9
_FEWEST_OBJECTS = 6
_NEAR_DUPLICATES = 0.04  # of `test` may differ from a training sentence in only one word


# Boundary between two sentences: not in "am 3. Mai".
BETWEEN = re.compile(rf"(?i)(?<=[.?!…]) (?!{'|'.join(noun.key for noun in lexicon().select('month'))})")


def held_out_pairings() -> frozenset[tuple[str, str]]:
    """The verb–object pairings only `test_composition` shows: every ninth of each verb with enough objects."""
    pairs = set()
    for row, verb in enumerate(lexicon().verbs.values()):
        nouns = [noun for noun in lexicon().select(verb.object) if not noun.unseen] if verb.object else []
        if len(nouns) >= _FEWEST_OBJECTS:
            pairs |= {(verb.key, noun.key) for at, noun in enumerate(nouns) if (at + row) % _HELD_OUT_EVERY == 0}
    return frozenset(pairs - {("übersetzen", "Satz")})


def named(sentence: Sentence) -> list[Entity]:
    """The nouns and names of a derivation, once per mention."""
    said = {id(part): part for part in parts(sentence)}
    return [entity for entity in map(entity_of, said.values()) if entity]


def names_somebody_twice(sentence: Sentence) -> bool:
    """Whether a person occurs twice, as in Emma versteht Emma; people are identified by their English names."""
    people = [entity.english for entity in named(sentence) if entity.kind_set & {"person", "figure", "name"}]
    return len(set(people)) < len(people)


def pairings(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Yield every (verb, object noun) of a derivation."""
    for node in parts(sentence):
        if isinstance(node, Clause):
            thing = node.object.antecedent if isinstance(node.object, RelativePronoun) else node.object
            for entity in map(entity_of, thing.parts if isinstance(thing, Both) else [thing]):
                if entity:
                    yield node.verb.key, entity.key


def plain(sentence: str) -> str:
    """The sentence without marks and capitals, used as its identity."""
    return " ".join(re.findall(r"\w+", sentence.lower()))


def sentences(text: str) -> Iterator[str]:
    """The plain sentences of a line."""
    return map(plain, BETWEEN.split(text))


def with_one_gap(sentence: str) -> Iterator[tuple[str, ...]]:
    """Yield the plain sentence with each word blanked; sentences that share one differ in a single word."""
    said = plain(sentence).split()
    for place in range(len(said)):
        yield (*said[:place], "", *said[place + 1 :])


def carelessly(pair: ParsedPair, random: Random) -> ParsedPair:
    """The pair with German as people type it: often without the mark, sometimes without commas or the capital.

    Three in a hundred sentences end in "…" on both sides. The English is otherwise always fully punctuated.
    """
    point = random.random()
    if point < 0.03:
        return replace(pair, source=pair.source[:-1] + "…", target=pair.target[:-1] + "…")
    return pair if point > 0.16 else hastily(pair, random)


def hastily(pair: ParsedPair, random: Random) -> ParsedPair:
    """The pair as typed in a hurry: without the final mark, perhaps without commas and capital; phrases lower-case."""
    if pair.source[-1] not in ".?!":
        return replace(pair, source=pair.source.lower())
    commas = random.random() < 0.5 or bool(re.search(r"\d,\d", pair.source))
    return without_mark(pair, commas=commas, capital=random.random() >= 0.25)


def without_mark(pair: ParsedPair, *, capital: bool, commas: bool = True) -> ParsedPair:
    """The pair with a source that lacks its final mark, and optionally its commas and its capital."""
    kept = [place for place, word in enumerate(words(pair.source)[:-1]) if commas or word != ","]
    place_of = {old: new for new, old in enumerate(kept)} | {-1: -1}
    source = pair.source[:-1] if commas else pair.source[:-1].replace(",", "")
    links = pair.links and tuple((place_of[i], j) for i, j in pair.links)
    structure = pair.structure
    if structure:
        nodes = [node._replace(head=place_of[node.head]) for node in map(structure[0].__getitem__, kept)]
        german = (node._replace(antecedent=node.antecedent and place_of[node.antecedent]) for node in nodes)
        structure = (tuple(german), structure[1])
    return replace(pair, source=source if capital else source[0].lower() + source[1:], links=links, structure=structure)


def together(first: ParsedPair, second: ParsedPair) -> ParsedPair:
    """Two sentences in one line, the second attached to the first: Guten Morgen! Wie geht es dir?"""
    moved = len(words(first.source)), len(words(first.target))
    trees = []
    for tree, added, by in zip(first.structure or (), second.structure or (), moved, strict=True):
        root = next(place for place, node in enumerate(tree) if node.head == -1)
        for node in added:
            relation, head = ("parataxis", root) if node.head == -1 else (node.relation, node.head + by)
            antecedent = None if node.antecedent is None else node.antecedent + by
            tree = (*tree, Node(node.part_of_speech, relation, head, antecedent))
        trees.append(tree)
    links = (*(first.links or ()), *((i + moved[0], j + moved[1]) for i, j in second.links or ()))
    source, target = f"{first.source} {second.source}", f"{first.target} {second.target}"
    return ParsedPair(source, target, links, structure=(trees[0], trees[1]))


def addressed(phrase: ParsedPair, name: str) -> ParsedPair:
    """The phrase addressed to a person: Gute Besserung, Anna!"""
    texts, trees = [], []
    for text, tree in zip((phrase.source, phrase.target), phrase.structure or (), strict=True):
        root = next(place for place, node in enumerate(tree) if node.head == -1)
        texts.append(f"{text[:-1]}, {name}{text[-1]}")
        trees.append((*tree[:-1], Node("PUNCT", "punct", root), Node("PROPN", "vocative", root), tree[-1]))
    links = (*(phrase.links or ()), (len(trees[0]) - 2, len(trees[1]) - 2))
    return ParsedPair(texts[0], texts[1], links, structure=(trees[0], trees[1]))


def forms(pair: ParsedPair) -> set[tuple[int, str]]:
    """The word forms of a pair with their sides, except names and numbers."""
    return {
        (side, word.lower())
        for side, (text, tree) in enumerate(zip((pair.source, pair.target), pair.structure or (), strict=False))
        for word, node in zip(words(text), tree, strict=True)
        if node.part_of_speech not in ("PROPN", "NUM", "PUNCT")
    }


def chosen(pool: Sequence[ParsedPair], size: int, fewest: int) -> list[ParsedPair]:
    """At most `size` pairs of the pool, in which every form of an ordinary word occurs at least `fewest` times.

    Drops pairs with rarer forms. Pairs with the rarest forms come first, as long as a form is still needed; the others
    follow in the order of the pool.
    """
    rows = [(pair, forms(pair)) for pair in pool]
    count, left = Counter[tuple[int, str]](), 0
    while left != len(rows):
        count, left = Counter(form for _, said in rows for form in said), len(rows)
        rows = [row for row in rows if all(count[form] >= fewest for form in row[1])]
    shown, taken = Counter[tuple[int, str]](), dict[int, ParsedPair]()
    rarest = sorted(range(left), key=lambda place: min(map(count.__getitem__, rows[place][1]), default=0))
    for place in rarest:
        if any(shown[form] < fewest for form in rows[place][1]):
            taken[place] = rows[place][0]
            shown.update(rows[place][1])
    return [*taken.values(), *(pair for place, (pair, _) in enumerate(rows) if place not in taken)][:size]


Wanted = Callable[[Sentence, ParsedPair], bool]


class _Corpus:
    """The pairs so far, all different in German and, between splits, in English."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.held_out = held_out_pairings()
        self.forms: set[tuple[int, str]] = set()  # shown in training, if that is large enough to choose from
        fixed = [*phrases(), *everyday()]
        self.german = {plain(text) for pair in fixed for text in (pair.source, *pair.source_references)}
        self.german |= {plain(text) for text in (SHOWCASE, *shown())}
        self.english_of_other_splits = {plain(pair.target) for pair in everyday()} | {plain(SHOWCASE_TRANSLATION)}
        self.seen = Sampler(self.random, lambda verb, noun: (verb.key, noun.key) not in self.held_out)
        verbs = {verb for verb, _ in self.held_out}
        self.held = Sampler(
            self.random, lambda verb, noun: verb.key not in verbs or (verb.key, noun.key) in self.held_out
        )
        self.unseen_words = Sampler(self.random, lambda verb, noun: True, unseen=True)

    def split(
        self, size: int, sampler: Sampler, wanted: Wanted, *, make: Construction | None = None, references: bool = True
    ) -> list[ParsedPair]:
        """`size` new pairs with a wanted derivation and length, of one construction, or of all with careless typing."""
        pairs: list[ParsedPair] = []
        english = set()
        while len(pairs) < size:
            sampler.new_sentence()
            sentence = sampler.renamed(varied(sampler, (make or sampler.weighted(CONSTRUCTIONS))(sampler)))
            pair = realise(sentence)
            german_key, english_key = plain(pair.source), plain(pair.target)
            known = german_key in self.german or english_key in self.english_of_other_splits
            if known or names_somebody_twice(sentence) or not wanted(sentence, pair):
                continue
            self.german.add(german_key)
            english.add(english_key)
            pair = with_references(sentence, pair) if references else pair
            pairs.append(pair if make else carelessly(pair, self.random))
        self.english_of_other_splits |= english
        return pairs

    def shows_held_out(self, sentence: Sentence) -> bool:
        """Whether the sentence has a held-out pairing of verb and object."""
        return not self.held_out.isdisjoint(pairings(sentence))

    def ordinary(self, sentence: Sentence, pair: ParsedPair) -> bool:
        """Whether training may show the sentence."""
        return _is_short(pair) and not self.shows_held_out(sentence) and self.knows(pair)

    def knows(self, pair: ParsedPair) -> bool:
        """Whether training shows every form of the pair."""
        return not self.forms or forms(pair) <= self.forms

    def rare(self, pool: list[ParsedPair], enough: int) -> Wanted:
        """Accept sentences with a form too rare in the pool, for as many tries as the pool has pairs; then any."""
        count, left = Counter(form for pair in pool for form in forms(pair)), len(pool)

        def wanted(sentence: Sentence, pair: ParsedPair) -> bool:
            nonlocal left
            left, said = left - 1, forms(pair)
            if not self.ordinary(sentence, pair) or (left > 0 and all(count[form] >= enough for form in said)):
                return False
            count.update(said)
            return True

        return wanted

    def training(self, size: int) -> list[ParsedPair]:
        """The phrasebook, each phrase with careful and careless typing, and generated sentences, shuffled."""
        fewest, german, english = size // _SENTENCES_A_FORM, {*self.german}, {*self.english_of_other_splits}
        fixed = [*phrases()]
        careless = [phrase for phrase in fixed if phrase.source[-1] != "…"]  # is on both sides or none
        fixed += [without_mark(phrase, capital=self.random.random() < 0.5) for phrase in careless]
        del fixed[size // 4 :]
        pool = self.split((_POOL if fewest else 1) * (size - len(fixed)), self.seen, self.ordinary, references=False)
        if fewest:
            pool += self.split(len(pool) // 10, self.seen, self.rare(pool, 2 * fewest), references=False)
        greetings = [pair for pair in fixed if re.fullmatch("(Hallo|Guten (Morgen|Tag|Abend))!", pair.source)]
        both = greetings, [pair for pair in pool if pair.source[-1] == "?"]
        lines = (together(*map(self.random.choice, both)) for _ in range(len(pool) // _LINES))
        pool += (carelessly(line, self.random) for line in lines if _is_short(line))
        self.random.shuffle(pool)
        spoken = careless * (fewest + 2 if fewest else 0)
        called = dict.fromkeys(addressed(one, self.seen.copied(self.random.choice("fm")).key) for one in spoken)
        pairs = chosen([*fixed, *pool, *filter(_is_short, called)], size, fewest)
        self.random.shuffle(pairs)
        self.german = german | {said for pair in pairs for said in sentences(pair.source)}
        self.english_of_other_splits = english | {said for pair in pairs for said in sentences(pair.target)}
        self.forms = set[tuple[int, str]]().union(*map(forms, pairs)) if fewest else set()
        return pairs

    def new(self, size: int, training: list[ParsedPair]) -> list[ParsedPair]:
        """Sentences of which only a few differ from a training sentence in a single word."""
        gaps = {gap for pair in training for gap in with_one_gap(pair.source)}
        near_left = int(_NEAR_DUPLICATES * size)

        def wanted(sentence: Sentence, pair: ParsedPair) -> bool:
            nonlocal near_left
            is_near = not gaps.isdisjoint(with_one_gap(pair.source))
            if (is_near and not near_left) or not self.ordinary(sentence, pair):
                return False
            near_left -= is_near
            return True

        return self.split(size, self.seen, wanted)

    def long(self, size: int) -> list[ParsedPair]:
        """Sentences longer than in training, equally many of each grade, up to twice as long."""
        grades = (LONGEST - LONGEST_IN_TRAINING) // _GRADE
        wanted_of = [size // grades + (grade < size % grades) for grade in range(grades)]

        def wanted(sentence: Sentence, pair: ParsedPair) -> bool:
            grade = (len(words(pair.source)) - LONGEST_IN_TRAINING - 1) // _GRADE
            if not 0 <= grade < grades or not wanted_of[grade] or self.shows_held_out(sentence) or not self.knows(pair):
                return False
            wanted_of[grade] -= 1
            return True

        def make(sampler: Sampler) -> Sentence:
            grade = sampler.one_of([grade for grade, count in enumerate(wanted_of) if count])
            length = LONGEST_IN_TRAINING + _GRADE * (grade + 0.5)
            return picture(sampler, round(length / _WORDS_OF_A_PICTURE))

        return self.split(size, self.seen, wanted, make=make)


def _is_short(pair: ParsedPair) -> bool:
    return len(words(pair.source)) <= LONGEST_IN_TRAINING


def _shows_an_unseen_word(sentence: Sentence, pair: ParsedPair) -> bool:
    return _is_short(pair) and sum(entity.unseen for entity in named(sentence)) == 1


def generate_corpus(*, train: int, validation: int, test: int, seed: int) -> dict[str, list[ParsedPair]]:
    """The splits: training, validation, and tests of new sentences, composition, length, everyday life and words.

    All tests have size `test`, except the fixed `test_everyday`. Sources are German, targets English. The same
    arguments give the same corpus everywhere.
    """
    corpus = _Corpus(seed)
    training = corpus.training(train)
    return {
        "train": training,
        "validation": corpus.split(validation, corpus.seen, corpus.ordinary),
        "test": corpus.new(test, training),
        "test_composition": corpus.split(
            test,
            corpus.held,
            lambda sentence, pair: _is_short(pair) and corpus.shows_held_out(sentence) and corpus.knows(pair),
        ),
        "test_length": corpus.long(test),
        "test_everyday": list(everyday()),
        "test_unknown": corpus.split(test, corpus.unseen_words, _shows_an_unseen_word),
    }
