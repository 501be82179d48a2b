"""Further correct translations of a derivation, in both directions."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from grammar.lexicon import CLOSED
from grammar.meaning import Clause, NounPhrase, Pronoun, Sentence, parts
from grammar.realise import realise
from grammar.trees import ParsedPair
from grammar.words import capital

_AT_MOST = 12
_RULES = {
    language: [(re.compile(rf"(?<![\w']){pattern}(?!\w)"), text) for pattern, text in CLOSED["alternatives"][language]]
    for language in ("english", "german")
}
_ADDRESSEES = {"du": "dein", "ihr": "euer", "Sie": "Ihr"}

Rules = list[tuple[re.Pattern[str], str]]

# Attributes of nodes, and their temporary values.
Changes = list[tuple[object, str, Any]]


def with_references(sentence: Sentence, pair: ParsedPair) -> ParsedPair:
    """The pair with the other translations of its source, and the other sources of its target."""
    english = [_changed(sentence, changes).target for changes in _said_otherwise(sentence)]
    german = [_changed(sentence, changes).source for changes in _to_others(sentence)]
    return replace(
        pair,
        references=_by_rules(pair.target, english, _RULES["english"])[:_AT_MOST],
        source_references=_by_rules(pair.source, german, _RULES["german"])[:_AT_MOST],
    )


def contracted(own: str, others: list[str]) -> tuple[str, ...]:
    """The other English texts, and each text with *it's*, *don't* and the like."""
    rules = [(pattern, text) for pattern, text in _RULES["english"] if re.search(r"\w'\w", text.replace("\\1", "x"))]
    return _by_rules(own, others, rules)


def _said_otherwise(sentence: Sentence) -> Iterator[Changes]:
    """Yield changes: simple present for progressive, and the adverb of time at the other end."""
    yield [(part, "simple", True) for part in parts(sentence) if isinstance(part, Clause)]
    if sentence.form == "statement":
        times = sentence.clause.in_slot("time") if sentence.first is None else []
        yield [(sentence, "first", next(iter(times), None))]


def _to_others(sentence: Sentence) -> Iterator[Changes]:
    """Yield changes: English you is du, ihr and Sie; the simple past is perfect and preterite."""
    clauses = [part for part in parts(sentence) if isinstance(part, Clause) and not part.particle]
    for tense, other in (("past", "preterite"), ("preterite", "past")):
        yield [(node, "tense", other) for node in clauses if node.tense == tense]
    said = [part for part in parts(sentence) if isinstance(part, Pronoun) and part.key in _ADDRESSEES]
    phrases = [part for part in parts(sentence) if isinstance(part, NounPhrase)]
    owned = [phrase for phrase in phrases if phrase.determiner in _ADDRESSEES.values()]
    for key, own in _ADDRESSEES.items() if said else ():
        yield [*((node, "key", key) for node in said), *((phrase, "determiner", own) for phrase in owned)]


def _changed(sentence: Sentence, changes: Changes) -> ParsedPair:
    """The sentence with the changes applied temporarily."""
    before = [(node, name, getattr(node, name)) for node, name, _ in changes]
    for node, name, value in changes:
        setattr(node, name, value)
    pair = realise(sentence)
    for node, name, value in before:
        setattr(node, name, value)
    return pair


def _by_rules(own: str, others: list[str], rules: Rules) -> tuple[str, ...]:
    """The other texts, and each text with the rules' replacements applied one at a time and all at once."""
    found = dict.fromkeys(others)
    for text in (own, *dict.fromkeys(others)):
        changed = text
        for pattern, replacement in rules:
            if pattern.search(text):
                found[capital(pattern.sub(replacement, text))] = None
                changed = pattern.sub(replacement, changed)
        found[capital(changed)] = None
    found.pop(own, None)
    return tuple(found)
