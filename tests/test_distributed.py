from hypothesis import given
from hypothesis import strategies as st
from support.processes import OneOf

from transformer_mt.distributed import Distributed


@given(value=st.floats(allow_nan=False))
def test_the_sum_over_a_single_process_is_its_own_value(value: float) -> None:
    assert Distributed().all_reduce(value) == value


def test_the_main_process_is_the_one_that_writes() -> None:
    assert Distributed().is_main
    assert [OneOf(3, rank).is_main for rank in range(3)] == [True, False, False]
