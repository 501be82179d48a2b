"""The built-in corpus: German–English sentence pairs with word links, further translations and dependency trees.

The data was made by the grammar in `scripts/grammar`; `python -m grammar` there makes it again. A split is two files:

    <split>.tsv.xz     a line for each pair: source, target, links as `0-0 1-2`, further translations of the source, and
                       further sources of the target, both separated by `|`
    <split>.trees.xz   a line for each pair: both dependency trees, with `NOUN/nsubj/2` for each word, its head counted
                       from 1 (0 for the root); a relative pronoun also has its antecedent, `PRON/obj/5/2`
"""

import lzma
from functools import lru_cache
from itertools import islice
from pathlib import Path

from transformer_mt.corpus.pairs import Link, Node, SentencePair, Tree
from transformer_mt.errors import InputError

FOLDER = Path(__file__).parent
SPLITS = ("train", "validation", "test", "test_composition", "test_length", "test_everyday", "test_unknown")

SHOWCASE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
SHOWCASE_TRANSLATION = "Can you help me translate this sentence?"


def builtin_corpus(*, train: int, validation: int, test: int, structure: bool) -> dict[str, list[SentencePair]]:
    """The first pairs of every split; `test` is the size of every test but `test_everyday`, which is always whole.

    The dependency trees, most of the data, are read only on request. Raises `InputError` for more pairs than there are.
    """
    counts: dict[str, int | None] = {"train": train, "validation": validation, "test_everyday": None}
    return {split: _read(split, counts.get(split, test), structure=structure) for split in SPLITS}


def _read(split: str, count: int | None, *, structure: bool) -> list[SentencePair]:
    rows = _lines(split, "tsv", count)
    if count is not None and len(rows) < count:
        key = "test" if split.startswith("test") else split
        raise InputError(f"data.builtin.{key}: {count:,}, but the built-in corpus has {len(rows):,} pairs; lower it")
    trees = _lines(split, "trees", count) if structure else [""] * len(rows)
    return [_pair(row, tree) for row, tree in zip(rows, trees, strict=True)]


def _lines(split: str, kind: str, count: int | None) -> list[str]:
    with lzma.open(FOLDER / f"{split}.{kind}.xz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in islice(file, count)]


def _pair(row: str, trees: str) -> SentencePair:
    source, target, links, references, source_references = row.split("\t")
    both = tuple(map(_tree, trees.split("\t"))) if trees else ()
    return SentencePair(
        source,
        target,
        _links(links) if links else None,
        _texts(references),
        _texts(source_references),
        (both[0], both[1]) if both else None,
    )


def _texts(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("|")) if joined else ()


@lru_cache(2**14)  # many pairs are linked alike
def _links(text: str) -> tuple[Link, ...]:
    found = (link.split("-") for link in text.split())
    return tuple((int(source), int(target)) for source, target in found)


@lru_cache(2**15)
def _tree(text: str) -> Tree:
    return tuple(map(_node, text.split(" ")))


@lru_cache(2**13)
def _node(text: str) -> Node:
    part_of_speech, relation, head, *antecedent = text.split("/")
    return Node(part_of_speech, relation, int(head) - 1, int(antecedent[0]) - 1 if antecedent else None)
