"""The phrasebook, the sentences of real life and the everyday ones: fixed pairs, written for this corpus."""

from functools import cache
from importlib.resources import files
from typing import Any

from grammar.lexicon import table
from grammar.references import contracted
from grammar.trees import Node, ParsedPair, Tree


@cache
def phrases() -> tuple[ParsedPair, ...]:
    """Every phrase with its links, structure and references."""
    return tuple(map(_phrase, table("phrasebook")["phrase"]))


def real_life() -> list[ParsedPair]:
    """The pairs of `sentences.tsv`, for the words that the grammar lacks; they have no links or structure."""
    lines = files(__package__).joinpath("sentences.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [ParsedPair(german, english, None) for german, english in rows]


@cache
def everyday() -> tuple[ParsedPair, ...]:
    """The sentences of `test_everyday`, excluded from training; they have no links or structure."""
    pairs = []
    for row in table("everyday")["sentence"]:
        english, german = _also(row)
        pairs.append(ParsedPair(row["german"], row["english"], None, contracted(row["english"], [*english]), german))
    return tuple(pairs)


@cache
def shown() -> tuple[str, ...]:
    """Sentences that the documentation has a trained model translate; also excluded from training."""
    return tuple(table("everyday")["shown"])


def _also(row: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(row.get("also", ())), tuple(row.get("also_german", ()))


def _phrase(row: dict[str, Any]) -> ParsedPair:
    (source, source_tree), (target, target_tree) = _annotated(row["german"]), _annotated(row["english"])
    numbers = (link.split("-") for link in row["links"].split())
    links = tuple(sorted((int(german) - 1, int(english) - 1) for german, english in numbers))
    return ParsedPair(source, target, links, *_also(row), (source_tree, target_tree))


def _annotated(text: str) -> tuple[str, Tree]:
    """The sentence and structure of Wie/ADV/advmod/2 geht/VERB/root/0 es/PRON/expl/2 ?"""
    items = [item.split("/") for item in text.split()]
    root = next(place for place, item in enumerate(items) if item[2:3] == ["root"])
    marked = [item if len(item) == 4 else [item[0], "PUNCT", "punct", str(root + 1)] for item in items]
    written = "".join(item[0] if len(item) == 1 else f" {item[0]}" for item in items).strip()
    return written, tuple(Node(speech, relation, int(head) - 1) for _, speech, relation, head in marked)
