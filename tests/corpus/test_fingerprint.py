from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_mt.corpus.pairs import Fingerprint, pair_hash

TEXTS = st.text("ab ", max_size=3)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=7)


def fingerprint(pairs: list[tuple[str, str]]) -> Fingerprint:
    return Fingerprint.of(np.array([pair_hash(*pair) for pair in pairs], np.uint64))


@given(PAIRS, PAIRS)
@example([("a", "b")], [("a", "b"), ("b", "a")])
def test_only_equal_pairs_in_equal_order_have_equal_fingerprints(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> None:
    one, two = map(fingerprint, (ours, theirs))
    assert (one == two) == (ours == theirs)
    assert (one.rows, len(one.row_digests)) == (len(ours), 4 * len(ours))


def test_moving_text_between_sides_changes_the_fingerprint() -> None:
    made = [fingerprint([sides]).digest for sides in (("ab", "c"), ("a", "bc"), ("a b", "c"))]
    assert all(one != two for one, two in pairwise(made))
