"""What holds for every sentence of the built-in corpus, checked on thousands of them."""

import re
from collections import Counter
from random import Random

import pytest

from transformer_mt.corpus.builtin import (
    SHOWCASE,
    SHOWCASE_TRANSLATION,
    english,
    english_order,
    generate_corpus,
    german,
    splits,
    subordination,
)
from transformer_mt.corpus.builtin.constructions import CONSTRUCTIONS
from transformer_mt.corpus.builtin.lexicon import lexicon
from transformer_mt.corpus.builtin.sampler import Sampler
from transformer_mt.corpus.builtin.sentences import Sentence, pairings, realise
from transformer_mt.corpus.builtin.splits import LONGEST_IN_TRAINING, carelessly, held_out_pairings, plain
from transformer_mt.corpus.pairs import SentencePair, words

Corpus = dict[str, list[SentencePair]]
SIZES = {"train": 1507, "validation": 61, "test": 101}

# Words that have no counterpart, or none in some constructions.
UNLINKED_GERMAN = {"der", "die", "das", "den", "dem", "zu", "sie"}
UNLINKED_ENGLISH = {"a", "an", "to", "do"}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate_corpus(**SIZES, seed=7)


@pytest.fixture(scope="module")
def everything(corpus: Corpus) -> list[SentencePair]:
    return [pair for split in corpus.values() for pair in split]


def test_splits_have_their_sizes(corpus: Corpus) -> None:
    expected = {**SIZES, "test_composition": SIZES["test"], "test_length": SIZES["test"]}
    assert {name: len(split) for name, split in corpus.items()} == expected


def test_same_seed_same_corpus() -> None:
    first, second = (generate_corpus(train=50, validation=7, test=11, seed=3) for _ in range(2))
    assert first == second


def test_another_seed_another_corpus() -> None:
    first, second = (generate_corpus(train=50, validation=7, test=11, seed=seed)["train"] for seed in (3, 4))
    assert not {pair.source for pair in first} >= {pair.source for pair in second}


def test_links_are_within_range(everything: list[SentencePair]) -> None:
    for pair in everything:
        source, target = len(words(pair.source)), len(words(pair.target))
        assert pair.links
        assert all(0 <= i < source and 0 <= j < target for i, j in pair.links)


def test_every_content_word_is_linked(everything: list[SentencePair]) -> None:
    for pair in everything:
        links = pair.links or ()
        for side, text, unlinked in ((0, pair.source, UNLINKED_GERMAN), (1, pair.target, UNLINKED_ENGLISH)):
            linked = {link[side] for link in links}
            left = {word.lower() for place, word in enumerate(words(text)) if place not in linked and word.isalnum()}
            assert left <= unlinked, (pair, left)


def test_marks_are_not_linked(everything: list[SentencePair]) -> None:
    for pair in everything:
        source, target = words(pair.source), words(pair.target)
        assert all(source[i].isalnum() and target[j][0].isalnum() for i, j in pair.links or ())


def test_no_sentence_stands_in_two_splits_in_either_language(corpus: Corpus) -> None:
    for language in ("source", "target"):
        splits = [{plain(getattr(pair, language)) for pair in split} for split in corpus.values()]
        assert sum(map(len, splits)) == len(set().union(*splits))


def test_no_german_sentence_is_said_twice(everything: list[SentencePair]) -> None:
    assert max(Counter(plain(pair.source) for pair in everything).values()) == 1


def test_one_german_sentence_has_one_translation() -> None:
    """Also where the corpus would not notice because it takes every German sentence once."""
    sampler = Sampler(Random(11), lambda verb, noun: True)
    translations: dict[str, str] = {}
    for _ in range(1500):
        sampler.new_sentence()
        pair = realise(sampler.weighted(CONSTRUCTIONS)(sampler))
        assert translations.setdefault(plain(pair.source), plain(pair.target)) == plain(pair.target), pair


def test_showcase_is_never_shown(everything: list[SentencePair]) -> None:
    assert plain(SHOWCASE) == "kannst du mir helfen diesen satz zu übersetzen"
    for pair in everything:
        assert plain(pair.source) != plain(SHOWCASE)
        assert plain(pair.target) != plain(SHOWCASE_TRANSLATION)


def test_showcase_has_neighbours_in_training(corpus: Corpus) -> None:
    train = [pair.source for pair in corpus["train"]]
    assert sum(bool(re.match("(Kannst|Könnt|Können|Kann) .* helfen,? .*zu", source)) for source in train) >= 5
    assert sum("übersetz" in source for source in train) >= 15
    assert sum(bool(re.search("Satz|Sätze|Satzes", source)) for source in train) >= 5
    assert ("übersetzen", "Satz") not in held_out_pairings()


@pytest.mark.parametrize("shows", [False, True])
def test_only_composition_shows_held_out_pairings(monkeypatch: pytest.MonkeyPatch, shows: bool) -> None:
    """Watched from within: of every sentence that was taken, the derivation."""
    derivations: dict[str, Sentence] = {}

    def remember(sentence: Sentence) -> SentencePair:
        pair = realise(sentence)
        derivations[plain(pair.source)] = sentence
        return pair

    monkeypatch.setattr(splits, "realise", remember)
    corpus = generate_corpus(train=201, validation=17, test=31, seed=2)
    held_out = held_out_pairings()
    for name, split in corpus.items():
        if (name == "test_composition") == shows:
            assert all(held_out.isdisjoint(pairings(derivations[plain(pair.source)])) != shows for pair in split)


@pytest.mark.parametrize("split", ["train", "validation", "test", "test_length"])
def test_held_out_participles_and_nouns_do_not_meet(corpus: Corpus, split: str) -> None:
    """Seen from the text: "hat … Noun … participle" in a short sentence is a pairing, and must not be held out."""
    held_out = {
        (noun, lexicon().verbs[verb].participle)
        for verb, noun in held_out_pairings()
        if lexicon().verbs[verb].case == "accusative" and not lexicon().verbs[verb].preposition
    }
    perfect = re.compile(r"^(?:Ich|Du|Er|Wir|Ihr|Sie) (?:\w+) (?:den|das|diesen|dieses) (\w+) (\w+)[.…]?$")
    found = [match.groups() for pair in corpus[split] if (match := perfect.match(pair.source))]
    assert held_out.isdisjoint(found)


def test_every_composition_sentence_has_words_that_training_knows(corpus: Corpus) -> None:
    keys = {key for verb, noun in held_out_pairings() for key in (verb, noun)}
    words_of_lexicon = {*lexicon().verbs, *lexicon().nouns, *lexicon().names}
    assert keys <= words_of_lexicon
    by_verb = Counter(verb for verb, _ in held_out_pairings())
    assert all(held < len(lexicon().verbs[verb].objects) / 2 for verb, held in by_verb.items())


def test_length_split_is_longer_than_all_training(corpus: Corpus) -> None:
    longest = max(len(words(pair.source)) for pair in corpus["train"])
    assert longest <= LONGEST_IN_TRAINING
    for pair in corpus["test_length"]:
        assert sum(word.isalnum() for word in words(pair.source)) > longest


def test_most_sentences_have_four_to_fourteen_words(corpus: Corpus) -> None:
    lengths = [len(words(pair.source)) for pair in corpus["train"]]
    assert sum(4 <= length <= 14 for length in lengths) > 0.9 * len(lengths)


def test_some_sources_are_typed_carelessly_and_all_targets_with_care(corpus: Corpus) -> None:
    train = corpus["train"]
    unmarked = [pair for pair in train if pair.source[-1] not in ".?!…"]
    assert 0.1 < len(unmarked) / len(train) < 0.16
    assert any(re.search("^[^,]+ (dass|ob|weil|obwohl) ", pair.source) for pair in unmarked)
    assert any(pair.source[0].islower() for pair in unmarked)
    for pair in train:
        assert pair.target[-1] in ".?!…"
        assert pair.target[0].isupper()
        assert (pair.source[-1] == "…") == (pair.target[-1] == "…")


def test_careless_typing_moves_the_links_with_the_words() -> None:
    pair = SentencePair("Ich weiß, dass er kommt.", "I know that he comes.", ((0, 0), (1, 1), (3, 2), (4, 3), (5, 4)))
    typed = {carelessly(pair, Random(seed)) for seed in range(200)}
    assert SentencePair("Ich weiß dass er kommt", pair.target, ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))) in typed
    assert SentencePair("ich weiß, dass er kommt", pair.target, pair.links) in typed
    assert SentencePair("Ich weiß, dass er kommt…", "I know that he comes…", pair.links) in typed


def test_there_are_400_lemmas_in_each_language() -> None:
    german, english = lemmas()
    assert 400 <= len(english) <= len(german) <= 490


def lemmas() -> tuple[set[str], set[str]]:
    """The words of the lexicon and of the closed classes."""
    lexical = lexicon()
    entries = [*lexical.nouns.values(), *lexical.names.values(), *lexical.adjectives.values()]
    adverbs = [entry for group in lexical.adverbs.values() for entry in group.values()]
    german_words = {entry.key for entry in entries} | {german.infinitive(verb) for verb in lexical.verbs.values()}
    german_words |= (
        {word for entry in adverbs for word in entry.key.split()} | {*german.PRONOUNS} | {*subordination.CONJUNCTIONS}
    )
    german_words |= {*german.DER_WORDS, *german.EIN_WORDS, *german.NUMERALS, *german.INDEFINITE_ENDINGS}
    german_words |= {"können", "müssen", "wollen", "dürfen", "sollen", "möchten", "werden"}
    english_words = {entry.english for entry in entries} | {verb.english.base for verb in lexical.verbs.values()}
    english_words |= {word for entry in adverbs for word in entry.english.split()}
    english_words |= {form for forms in english.PRONOUNS.values() for form in forms[:1]} | {
        *subordination.CONJUNCTIONS.values()
    }
    english_words |= {singular for singular, _ in english.DETERMINERS.values()} | {*english.NUMERALS.values()}
    english_words |= {*english.INDEFINITE_PRONOUNS.values()} | {
        modal for modal, _ in english_order.AUXILIARIES.values()
    }
    return german_words, english_words


def test_no_translation_stands_in_two_splits_where_different_sentences_have_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def one_of_97(sentence: Sentence) -> SentencePair:
        source = realise(sentence).source
        return SentencePair(source, f"Sentence {sum(source.encode()) % 97}.", ())

    monkeypatch.setattr(splits, "realise", one_of_97)
    corpus = generate_corpus(train=29, validation=5, test=7, seed=1)
    translations = [{plain(pair.target) for pair in split} for split in corpus.values()]
    assert sum(map(len, translations)) == len(set().union(*translations))
