"""Links of two directions made one: Och and Ney 2003, §4.5, and the heuristics of Koehn et al. 2003, §4.

Both sets hold (source word, target word).
"""

from collections.abc import Callable, Set
from itertools import product

from transformer_mt.corpus.pairs import Link

Links = Set[Link]

_NEIGHBOURS = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]


def intersection(forward: Links, backward: Links) -> frozenset[Link]:
    """What both say: few links, mostly right."""
    return frozenset(forward & backward)


def union(forward: Links, backward: Links) -> frozenset[Link]:
    """What either says: many links."""
    return frozenset(forward | backward)


def grow_diag(forward: Links, backward: Links) -> frozenset[Link]:
    """The intersection, and links of the union that touch one that is there and link a word that has none yet.

    A touching link is one beside it, above it or across a corner. Then links of the union of which both words are still
    without one ("grow-diag-final-and").
    """
    found, candidates = set(forward & backward), forward | backward
    waiting = sorted(found)
    while waiting:
        source, target = waiting.pop(0)
        for down, right in _NEIGHBOURS:
            link = (source + down, target + right)
            if link in candidates and _links_a_new_word(link, found, both=False):
                found.add(link)
                waiting.append(link)
    for link in sorted(candidates):
        if _links_a_new_word(link, found, both=True):
            found.add(link)
    return frozenset(found)


SYMMETRISATIONS: dict[str, Callable[[Links, Links], frozenset[Link]]] = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
}


def _links_a_new_word(link: Link, found: Links, *, both: bool) -> bool:
    new_source = all(source != link[0] for source, _ in found)
    new_target = all(target != link[1] for _, target in found)
    return new_source and new_target if both else new_source or new_target
