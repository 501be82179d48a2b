"""The phrasebook and the everyday sentences, row by row."""

import re
from collections import Counter

from grammar.lexicon import table
from grammar.phrasebook import everyday, phrases, shown
from grammar.splits import plain
from grammar.trees import ParsedPair
from transformer_mt.text.words import words

MARKS = frozenset(",.?!…")
PARTS_OF_SPEECH = frozenset(
    [
        "NOUN",
        "VERB",
        "ADJ",
        "ADV",
        "INTJ",
        "PRON",
        "DET",
        "AUX",
        "CCONJ",
        "SCONJ",
        "PART",
        "NUM",
        "PROPN",
        "ADP",
        "PUNCT",
    ]
)
CONTENT = frozenset(["NOUN", "VERB", "ADJ", "NUM", "PROPN"])
CONTRACTED = re.compile(
    r"n['’]t\b|\b(?:I|[Yy]ou|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Ii]t|[Tt]hat|[Ww]hat)['’](?:m|re|s|ll|ve|d)\b"
)


def test_there_are_enough_phrases_and_everyday_sentences() -> None:
    assert len(phrases()) >= 250
    assert len(everyday()) == 150
    assert len(shown()) >= 20


def test_the_first_things_that_people_type_are_there() -> None:
    known = {plain(phrase.source) for phrase in phrases()}
    for first in (
        "Guten Morgen!",
        "Hallo!",
        "Danke!",
        "Wie heißt du?",
        "Wie geht es dir?",
        "Was kostet das?",
        "Wie spät ist es?",
        "Bis morgen!",
    ):
        assert plain(first) in known


def test_rows_have_the_keys_of_their_file_only() -> None:
    assert all(
        set(row) <= {"german", "english", "links", "also", "also_german"} for row in table("phrasebook")["phrase"]
    )
    assert all(set(row) <= {"german", "english", "also", "also_german"} for row in table("everyday")["sentence"])


def test_no_german_sentence_stands_twice() -> None:
    counts = Counter(plain(pair.source) for pair in (*phrases(), *everyday()))
    assert max(counts.values()) == 1


def test_what_is_shown_or_tested_is_no_phrase() -> None:
    fixed = {plain(pair.source) for pair in phrases()}
    assert fixed.isdisjoint(plain(pair.source) for pair in everyday())
    assert fixed.isdisjoint(map(plain, shown()))


def sentences(pair: ParsedPair) -> list[str]:
    return [pair.source, pair.target, *pair.references, *pair.source_references]


def test_every_sentence_is_written_with_care() -> None:
    for pair in (*phrases(), *everyday()):
        for text in sentences(pair):
            assert text[0].isupper() or text[0] in "’'", text
            assert text[-1] in ".?!…", text
            assert not re.search(r"  | [,.?!…]", text), text
        assert pair.source[-1] == pair.target[-1], pair.source


def test_english_is_written_out() -> None:
    by_hand = [text for row in table("everyday")["sentence"] for text in (row["english"], *row.get("also", ()))]
    for text in (*by_hand, *(text for pair in phrases() for text in (pair.target, *pair.references))):
        assert not CONTRACTED.search(text), text


def test_contractions_of_everyday_sentences_are_right_too() -> None:
    accepted = {pair.source: {pair.target, *pair.references} for pair in everyday()}
    assert accepted["Ich kenne ihn nicht."] == {"I do not know him.", "I don't know him."}
    assert accepted["Das ist eine gute Idee."] >= {"It is a good idea.", "It's a good idea.", "That's a good idea."}
    assert not any("apartment" in text for texts in accepted.values() for text in texts)  # only written by hand


def test_references_are_others() -> None:
    for pair in (*phrases(), *everyday()):
        assert len({pair.target, *pair.references}) == 1 + len(pair.references), pair.source
        assert len({pair.source, *pair.source_references}) == 1 + len(pair.source_references), pair.source


def test_phrases_are_trees_over_their_words() -> None:
    for pair in phrases():
        assert pair.structure is not None
        for text, tree in zip((pair.source, pair.target), pair.structure, strict=True):
            said = words(text)
            assert len(said) == len(tree), text
            assert [node.relation for node in tree if node.head == -1] == ["root"], text
            for place, (word, node) in enumerate(zip(said, tree, strict=True)):
                assert node.part_of_speech in PARTS_OF_SPEECH, (text, word)
                assert (word in MARKS) == (node.part_of_speech == "PUNCT"), (text, word)
                assert node.head != place
                assert node.head < len(tree)
                assert node.head == -1 or said[node.head] not in MARKS, (text, word)
                steps, above = 0, place
                while tree[above].head != -1:
                    above, steps = tree[above].head, steps + 1
                    assert steps <= len(tree), text


def test_links_of_phrases_are_sorted_within_range_and_on_words() -> None:
    for pair in phrases():
        german, english = words(pair.source), words(pair.target)
        assert pair.links
        assert list(pair.links) == sorted(set(pair.links)), pair.source
        for i, j in pair.links:
            assert german[i] not in MARKS, pair.source
            assert english[j] not in MARKS, pair.source


def test_most_content_words_of_phrases_are_linked() -> None:
    """All except words expressed in only one language: the shop in bei Peter."""
    linked: Counter[bool] = Counter()
    for pair in phrases():
        for side, tree in enumerate(pair.structure or ()):
            places = {link[side] for link in pair.links or ()}
            for place, node in enumerate(tree):
                if node.part_of_speech in CONTENT:
                    linked[place in places] += 1
    assert linked[True] > 0.98 * linked.total()


def test_everyday_sentences_are_short() -> None:
    for pair in everyday():
        assert 2 <= sum(word not in MARKS for word in words(pair.source)) <= 12, pair.source
