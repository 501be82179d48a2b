"""The rows that choose the parts of a clause and their places."""

import tomllib
from pathlib import Path
from random import Random

import pytest

from grammar import clauses as made
from grammar.constructions import CONSTRUCTIONS, DESCRIBED, PATTERNS, SCENES, _cast
from grammar.english_syntax import ENGLISH
from grammar.german_syntax import GERMAN
from grammar.lexicon import Choice, matches, table
from grammar.meaning import Clause, Pronoun, Sentence, facts, parts
from grammar.notation import Reader
from grammar.sampler import Sampler
from grammar.syntax import Language
from grammar.tests.derivations import derivation

LANGUAGES = [GERMAN, ENGLISH]


@pytest.mark.parametrize(
    ("holds", "value"),
    [({"pronoun"}, "front"), ({"pronoun", "new"}, "middle"), ({"new"}, "middle"), (set(), "end"), ({"other"}, "end")],
)
def test_the_first_value_of_which_all_holds_is_chosen(holds: set[str], value: str) -> None:
    assert Choice("front if pronoun -new", "middle if new", "end")(holds) == value


def test_nothing_is_chosen_where_nothing_holds() -> None:
    assert Choice("front if pronoun")(set()) == ""


@pytest.mark.parametrize(("has", "suits"), [({"state"}, True), ({"state", "seen"}, False), ({"seen"}, False)])
def test_what_has_all_that_is_wanted_and_nothing_barred_matches(has: set[str], suits: bool) -> None:
    assert matches("state -seen", has) == suits


def test_a_choice_knows_what_it_asks_for() -> None:
    assert Choice("front if pronoun -new", "end").asks == {"pronoun", "new"}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_every_part_has_a_place_in_the_order_of_its_language(language: Language) -> None:
    places = {place for order in language._orders.values() for place in order}
    for role, row in table("parts")[language.name].items():
        chosen = {option.partition(" if ")[0] for option in row["place"].split(", ")}
        assert chosen - {"-"} <= places, role


@pytest.fixture(scope="module")
def clauses() -> list[Clause]:
    """Clauses of the hand-written pairs and of every construction."""
    gold = tomllib.loads(Path(__file__).with_name("gold_pairs.toml").read_text(encoding="utf-8"))
    sentences = [derivation(row) for rows in gold.values() for row in rows]
    sampler = Sampler(Random(29), lambda verb, noun: True)
    for construction in CONSTRUCTIONS:
        for _ in range(13):
            sampler.new_sentence()
            sentences.append(construction(sampler))
    return [part for sentence in sentences for part in parts(sentence) if isinstance(part, Clause)]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_what_choices_ask_for_holds_somewhere(language: Language, clauses: list[Clause]) -> None:
    """A name that never holds is misspelled."""
    is_english = language.name == "english"
    held = {name for node in clauses for order in language._orders for name in facts(node, order, english=is_english)}
    held |= {name for node in clauses for part in node.adverbials for name in part.facts}
    asked = language._asked.union(*(language._choices[name].asks for name in ("negates", "place", "tense")))
    assert asked <= held, asked - held


@pytest.mark.parametrize(
    ("clause", "when", "bears"),
    [
        ("er; der Buch; lesen; past", "past", True),
        ("er; ein Buch; lesen; past", "past", True),
        ("er; kommen; past", "past", True),
        ("er; in der Küche; sein; past", "past", True),
        ("er; ein Kaffee; trinken", "now", True),
        ("er; Angst haben", "state", True),
        ("er; Spaß haben", "now", True),
        ("er; kommen; gern", "gern", True),
        ("er; ein Buch; lesen", "now", False),
        ("er; der Buch; lesen", "now", False),
        ("niemand; kommen; past", "past", False),
        ("er; alle Buch; lesen; past", "past", False),
        ("er; zwei Buch; lesen; past", "past", False),
        ("er; schlafen; noch", "state", False),
        ("er; kommen; oft", "habit", False),
        ("er; mit Anna; kommen; past", "past", False),
        ("er; gut; singen", "habit", False),
        ("er; durch der Park; laufen; past", "past", False),
        ("er; wahrscheinlich; kommen; past", "past", False),
        ("er; heute; arbeiten", "planned", False),
        ("er; morgen; arbeiten; future", "future", False),
        ("er; gestern; ein Buch; lesen; past", "past", False),
        ("er; gestern; der Buch; lesen; past", "past", True),
        ("er; an der Montag; kommen; past", "past", False),
        ("er; in der Küche; arbeiten; past", "past", False),
        ("er; kommen; würde gern", "würde gern", False),
        ("er; kommen; könnte", "könnte", False),
        ("er; kommen; möchten", "möchten", False),
        ("der Suppe; zu heiß; sein", "present", False),
        ("der Suppe; ziemlich heiß; sein", "present", False),
        ("der Suppe; sehr heiß; sein", "present", True),
        ("er; ein Bus; warten auf; past", "past", False),
        ("er; 0 Fußball; spielen; past", "past", False),
    ],
)
def test_a_clause_is_negated_where_the_rows_say(clause: str, when: str, bears: bool) -> None:
    assert made.bears_negation(derivation({"says": clause}).clause, when) == bears


def test_what_bears_negation_asks_for_what_may_hold(clauses: list[Clause]) -> None:
    held = {name for node in clauses for name in facts(node, "", english=False)}
    held |= {part.slot for node in clauses for part in node.adverbials}
    told = {"counted", "dated", "bare", "refused", "now", "zu", "ziemlich"}
    assert made._NEGATION.asks <= held | told


def test_nodes_below_a_sentence_are_its_parts() -> None:
    assert {"clause", "first", "before", "joined", "opening"} <= set(Sentence.below)
    assert "form" not in Sentence.below


def test_whatever_a_letter_stands_for_can_be_read() -> None:
    sampler = Sampler(Random(3), lambda verb, noun: True)
    letters = {letter: Pronoun("er") for letter in "ABCX"}
    rows = [*PATTERNS, *SCENES["scene"], *DESCRIBED]
    texts = {text for row in rows for letter in letters for text in _cast(row.get(letter, []))}
    for text in [*texts, *(text for name in SCENES["casts"] for text in _cast([f"@{name}"]))]:
        Reader(sampler.of_kind, letters, owner="er").nominal(text)
