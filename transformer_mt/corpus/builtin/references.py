"""Further right translations of a derivation, in both directions: what else a good translator might have said."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformer_mt.corpus.builtin.lexicon import CLOSED
from transformer_mt.corpus.builtin.meaning import Clause, NounPhrase, Pronoun, Sentence, parts
from transformer_mt.corpus.builtin.realise import realise
from transformer_mt.corpus.pairs import SentencePair

_AT_MOST = 12
_RULES = {
    language: [(re.compile(rf"(?<![\w']){pattern}(?!\w)"), text) for pattern, text in CLOSED["alternatives"][language]]
    for language in ("english", "german")
}
_ADDRESSEES = ("du", "ihr", "Sie")
_OWN = ("dein", "euer", "Ihr")


def with_references(sentence: Sentence, pair: SentencePair) -> SentencePair:
    """The pair with the other translations of its source, and the other sources of its target."""
    english: dict[str, None] = {}
    german: dict[str, None] = {}
    for said in _said_otherwise(sentence):
        english[said.target] = None
    for addressed in _to_others(sentence):
        german[addressed.source] = None
    translations = _by_rules([pair.target, *english], "english")
    sources = _by_rules([pair.source, *german], "german")
    return SentencePair(
        pair.source,
        pair.target,
        pair.links,
        tuple(text for text in translations if text != pair.target)[:_AT_MOST],
        tuple(text for text in sources if text != pair.source)[:_AT_MOST],
        pair.structure,
    )


def _said_otherwise(sentence: Sentence) -> Iterator[SentencePair]:
    """With the simple present for the progressive, and with the adverb of time at the other end."""
    clauses = [part for part in parts(sentence) if isinstance(part, Clause)]
    with _changed([(node, "simple", True) for node in clauses]):
        yield realise(sentence)
    if sentence.form == "statement":
        times = sentence.clause.in_slot("time")
        with _changed([(sentence, "first", times[0] if times and sentence.first is None else None)]):
            yield realise(sentence)


def _to_others(sentence: Sentence) -> Iterator[SentencePair]:
    """To each other addressee: English you is du, ihr and Sie."""
    nodes = list(parts(sentence))
    said = {node.key for node in nodes if isinstance(node, Pronoun)} & set(_ADDRESSEES)
    for to in _ADDRESSEES if said else ():
        changes: list[tuple[object, str, Any]] = [
            (node, "key", to) for node in nodes if isinstance(node, Pronoun) and node.key in _ADDRESSEES
        ]
        own = _OWN[_ADDRESSEES.index(to)]
        changes += [
            (node, "determiner", own) for node in nodes if isinstance(node, NounPhrase) and node.determiner in _OWN
        ]
        with _changed(changes):
            yield realise(sentence)


@contextmanager
def _changed(changes: list[tuple[object, str, Any]]) -> Iterator[None]:
    before = [(node, name, getattr(node, name)) for node, name, _ in changes]
    for node, name, value in changes:
        setattr(node, name, value)
    try:
        yield
    finally:
        for node, name, value in before:
            setattr(node, name, value)


def _by_rules(texts: list[str], language: str) -> list[str]:
    """The texts, and each with what the rules replace, one rule after another and all at once."""
    found = dict.fromkeys(texts)
    for text in texts:
        changed = text
        for pattern, replacement in _RULES[language]:
            if pattern.search(text):
                found[_capital(pattern.sub(replacement, text))] = None
                changed = pattern.sub(replacement, changed)
        found[_capital(changed)] = None
    return list(found)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
