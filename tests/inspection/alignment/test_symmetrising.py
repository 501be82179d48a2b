"""Links of two directions made one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.corpus.pairs import Link
from transformer_mt.inspection.alignment.symmetrising import SYMMETRISATIONS, grow_diag, intersection, union

links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


@pytest.mark.parametrize("name", SYMMETRISATIONS)
@given(a=links, b=links)
def test_every_way_lies_between_intersection_and_union(name: str, a: frozenset[Link], b: frozenset[Link]) -> None:
    found = SYMMETRISATIONS[name](a, b)
    assert a & b <= found <= a | b
    assert found == SYMMETRISATIONS[name](b, a)
    assert SYMMETRISATIONS[name](a, a) == a


@given(links, links)
def test_the_simple_ways_are_set_operations(a: frozenset[Link], b: frozenset[Link]) -> None:
    assert intersection(a, b) == a & b
    assert union(a, b) == a | b


@given(links, links)
def test_growing_leaves_no_link_out_that_has_two_words_without_one(a: frozenset[Link], b: frozenset[Link]) -> None:
    found = grow_diag(a, b)
    for source, target in (a | b) - found:
        assert any(source == one for one, _ in found) or any(target == other for _, other in found)


def test_growing_takes_neighbours_that_link_a_new_word() -> None:
    both = {(0, 0), (3, 3)}
    # 1-0 touches 0-0 and links a new source word; 0-2 touches nothing; 5-5 stands alone; 4-3 comes after 3-3.
    assert grow_diag(both | {(1, 0), (0, 2)}, both | {(4, 3), (5, 5)}) == both | {(1, 0), (4, 3), (5, 5)}
