"""Grammatical relations between the rows and the columns of an attention matrix, for `tmt heads`."""

from collections.abc import Iterator
from typing import NamedTuple

from transformer_mt.corpus.pairs import SentencePair, Tree


class Kind(NamedTuple):
    """A relation of Universal Dependencies, or `antecedent`, and the end that is looked for, `head` or `dependent`."""

    relation: str
    looked_for: str


class Instance(NamedTuple):
    """A case of a relation: the column that the row of a word should look at; both are counted over `words(text)`.

    `offset` is the distance in words from the row's own word or, in cross-attention, from the source word that it is
    linked with.
    """

    kind: Kind
    row: int
    column: int
    offset: int


def instances(pair: SentencePair, stack: str) -> Iterator[Instance]:
    """The cases in a stack's matrix of a pair; none where the corpus does not know them.

    In the encoder these are the relations of the source. In the decoder those of the target, as far as they lead back:
    the row of a word is where it is written, and only words before it have been read. In cross-attention a word of the
    target stands for the source word that it is linked with, whose relations lead to other source words.
    """
    if pair.structure is None:
        return
    source, target = pair.structure
    if stack == "encoder":
        yield from _of_tree(source)
    elif stack == "decoder":
        yield from (case for case in _of_tree(target) if case.column < case.row)
    else:
        links = set(pair.links or ())
        for case in _of_tree(source):
            for own, row in sorted(links):
                if own == case.row and (case.column, row) not in links:
                    yield case._replace(row=row)


def _of_tree(tree: Tree) -> Iterator[Instance]:
    for place, node in enumerate(tree):
        for relation, head in ((node.relation, node.head), ("antecedent", node.antecedent)):
            if head is not None and head >= 0:
                yield Instance(Kind(relation, "head"), place, head, head - place)
                yield Instance(Kind(relation, "dependent"), head, place, place - head)
