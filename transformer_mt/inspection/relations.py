"""Which grammatical relations hold between the rows and the columns of an attention matrix."""

from collections.abc import Iterator
from typing import NamedTuple

from transformer_mt.corpus.pairs import SentencePair, Tree

ANTECEDENT = "antecedent"
# Which end of a relation is looked for: that of a dependent, its head, or the other way round.
TO_HEAD, TO_DEPENDENT = "head", "dependent"


class Kind(NamedTuple):
    """A relation of Universal Dependencies, or `antecedent`, and the end that is looked for, `head` or `dependent`."""

    relation: str
    looked_for: str


class Instance(NamedTuple):
    """A relation at work: from the row of a word one would look at that column; both are counted over `words(text)`.

    `offset` says how many words the column lies behind the row's own word or, in cross-attention, behind the source
    word that it is linked with.
    """

    kind: Kind
    row: int
    column: int
    offset: int


def instances(pair: SentencePair, stack: str) -> Iterator[Instance]:
    """What can be found in a stack's matrix of a pair: nothing where the corpus does not know it.

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
        yield from (found for found in _of_tree(target) if found.column < found.row)
    else:
        yield from _through_links(pair, source)


def _through_links(pair: SentencePair, tree: Tree) -> Iterator[Instance]:
    links = set(pair.links or ())
    for kind, row, column, offset in _of_tree(tree):
        for source, target in sorted(links):
            if source == row and (column, target) not in links:
                yield Instance(kind, target, column, offset)


def _of_tree(tree: Tree) -> Iterator[Instance]:
    for place, node in enumerate(tree):
        if node.head >= 0:
            yield from _both_ways(node.relation, place, node.head)
        if node.antecedent is not None:
            yield from _both_ways(ANTECEDENT, place, node.antecedent)


def _both_ways(relation: str, dependent: int, head: int) -> Iterator[Instance]:
    yield Instance(Kind(relation, TO_HEAD), dependent, head, head - dependent)
    yield Instance(Kind(relation, TO_DEPENDENT), head, dependent, dependent - head)
