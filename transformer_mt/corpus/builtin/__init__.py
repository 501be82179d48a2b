"""The built-in corpus: German–English sentence pairs with word links, more references and dependency trees.

The data comes from the grammar in `scripts/grammar`; run `python -m grammar` there to regenerate it. A split has two
files with a line per pair:

    <split>.tsv.xz     source, target, links as `0-0 1-2`, more references of the source, and more sources of the
                       target, both separated by `|`
    <split>.trees.xz   both dependency trees, `NOUN/nsubj/2` for each word, with its head counted from 1 (0 for the
                       root); a relative pronoun also has its antecedent, `PRON/obj/5/2`
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
    """The first pairs of every split. `test` is the size of each test split except the whole `test_everyday`.

    The dependency trees, most of the data, are read only with `structure`. Raises `InputError` if a split is too small.
    """
    sizes = dict.fromkeys(SPLITS, test) | {"train": train, "validation": validation, "test_everyday": None}
    return {split: _read(split, size, structure=structure) for split, size in sizes.items()}


def _read(split: str, size: int | None, *, structure: bool) -> list[SentencePair]:
    rows = _lines(split, "tsv", size)
    if size is not None and len(rows) < size:
        key = "test" if split.startswith("test") else split
        raise InputError(
            f"data.builtin.{key}", f"{size:,}, but the built-in corpus has {len(rows):,} pairs", "lower it"
        )
    trees = _lines(split, "trees", size) if structure else [""] * len(rows)
    return [_pair(row, both) for row, both in zip(rows, trees, strict=True)]


def _lines(split: str, kind: str, count: int | None) -> list[str]:
    with lzma.open(FOLDER / f"{split}.{kind}.xz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in islice(file, count)]


def _pair(row: str, trees: str) -> SentencePair:
    source, target, links, *others = row.split("\t")
    references, source_references = (tuple(filter(None, texts.split("|"))) for texts in others)
    source_tree, _, target_tree = trees.partition("\t")
    structure = (_tree(source_tree), _tree(target_tree)) if trees else None
    return SentencePair(source, target, _links(links) if links else None, references, source_references, structure)


@lru_cache(2**14)  # many pairs share their links
def _links(text: str) -> tuple[Link, ...]:
    links = (link.split("-") for link in text.split())
    return tuple((int(source), int(target)) for source, target in links)


@lru_cache(2**15)
def _tree(text: str) -> Tree:
    return tuple(map(_node, text.split(" ")))


@lru_cache(2**13)
def _node(text: str) -> Node:
    part_of_speech, relation, head, *antecedent = text.split("/")
    return Node(part_of_speech, relation, int(head) - 1, int(antecedent[0]) - 1 if antecedent else None)
