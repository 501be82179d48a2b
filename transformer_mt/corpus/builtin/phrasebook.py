"""The phrasebook and the everyday sentences: fixed pairs, written by hand."""

from functools import cache

from transformer_mt.corpus.builtin.lexicon import table
from transformer_mt.corpus.pairs import Node, SentencePair, Tree


@cache
def phrases() -> tuple[SentencePair, ...]:
    """Every phrase with its links, its structure and its references."""
    return tuple(_phrase(**row) for row in table("phrasebook")["phrase"])


def _phrase(
    german: str, english: str, links: str, also: tuple[str, ...] = (), also_german: tuple[str, ...] = ()
) -> SentencePair:
    source, source_tree = _annotated(german)
    target, target_tree = _annotated(english)
    numbers = [link.split("-") for link in links.split()]
    linked = tuple(sorted((int(first) - 1, int(second) - 1) for first, second in numbers))
    return SentencePair(source, target, linked, tuple(also), tuple(also_german), (source_tree, target_tree))


def _annotated(text: str) -> tuple[str, Tree]:
    """The sentence and the structure of Wie/ADV/advmod/2 geht/VERB/root/0 es/PRON/expl/2 ?"""
    items = [item.split("/") for item in text.split()]
    root = next(place for place, item in enumerate(items) if item[2:3] == ["root"])
    nodes = tuple(
        Node(item[1], item[2], int(item[3]) - 1) if len(item) == 4 else Node("PUNCT", "punct", root) for item in items
    )
    written = "".join(item[0] if len(item) == 1 else f" {item[0]}" for item in items)
    return written.strip(), nodes


@cache
def everyday() -> tuple[SentencePair, ...]:
    """The sentences of `test_everyday`, in no training data; they have neither links nor structure."""
    return tuple(
        SentencePair(
            row["german"],
            row["english"],
            None,
            tuple(row.get("also", ())),
            tuple(row.get("also_german", ())),
        )
        for row in table("everyday")["sentence"]
    )


@cache
def shown() -> tuple[str, ...]:
    """Sentences that the documentation shows a trained model translate: in no training data either."""
    return tuple(table("everyday")["shown"])
