import hashlib
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_mt.batching.batches import BatchPlan, fixed_batches, plan_batches
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.seeds import derive_seed

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


def sides(drawn: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    return torch.tensor([source for source, _ in drawn]), torch.tensor([target for _, target in drawn])


def lists(plan: BatchPlan) -> list[list[int]]:
    return [batch.tolist() for batch in plan]


@given(drawn=lengths, budget=st.integers(30, 200), seed=st.integers(0, 2**70), epoch=st.integers(0, 9))
def test_each_pair_is_in_one_batch_within_the_budget(
    drawn: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    source, target = sides(drawn)
    for plan in (
        plan_batches(source, target, batch_tokens=budget, seed=seed, epoch=epoch),
        fixed_batches(source, target, batch_tokens=budget),
    ):
        assert sorted(row for batch in plan for row in batch.tolist()) == list(range(len(drawn)))
        for batch in plan:
            assert len(batch) * max(int(source[batch].max()), int(target[batch].max())) <= budget


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    source, target = sides([(1 + index % 7, 1 + index % 5) for index in range(200)])
    plans = [
        plan_batches(source, target, batch_tokens=50, seed=seed, epoch=epoch)
        for seed, epoch in ((1, 2), (1, 2), (1, 3), (2, 1))
    ]
    assert lists(plans[0]) == lists(plans[1])
    assert lists(plans[0]) != lists(plans[2])
    assert lists(plans[0]) != lists(plans[3])


@pytest.mark.parametrize("rows", [None, torch.arange(100)], ids=["all", "named"])
def test_the_next_epoch_mixes_equal_pairs_differently(rows: Tensor | None) -> None:
    source, target = sides([(5, 5)] * 100)
    first, second = (
        {
            frozenset(batch.tolist())
            for batch in plan_batches(source, target, batch_tokens=20, seed=1, epoch=epoch, rows=rows)
        }
        for epoch in (1, 2)
    )
    assert len(first & second) < 5


def test_training_batches_are_shuffled_and_fixed_ones_sorted() -> None:
    source, target = sides([(1 + index % 30, 1 + index % 29) for index in range(400)])

    def widths(plan: BatchPlan) -> list[int]:
        return [int(torch.maximum(source, target)[batch].max()) for batch in plan]

    fixed = widths(fixed_batches(source, target, batch_tokens=100))
    assert fixed == sorted(fixed)
    planned = widths(plan_batches(source, target, batch_tokens=100, seed=1, epoch=1))
    assert planned != sorted(planned)


def test_batches_have_little_padding() -> None:
    draw = random.Random(1)
    drawn = []
    for _ in range(5_000):
        source = max(3, round(draw.gauss(15, 5)))
        drawn.append((source, max(3, source + round(draw.gauss(0, 3)))))
    source, target = sides(drawn)
    plan = plan_batches(source, target, batch_tokens=1_024, seed=1, epoch=1)
    cells = sum(len(batch) * int(side[batch].max()) for batch in plan for side in (source, target))
    assert 1 - int(source.sum() + target.sum()) / cells < 0.05


@pytest.mark.parametrize("long", [(51, 3), (3, 51)])
def test_a_pair_over_the_budget_is_an_error(long: tuple[int, int]) -> None:
    source, target = sides([(4, 5), long])
    with pytest.raises(
        InputError,
        match=r"^training.batch_tokens: less than the 51 tokens of a sentence; raise it$",
    ):
        plan_batches(source, target, batch_tokens=50, seed=1, epoch=1)


def test_pairs_of_equal_length_keep_their_order() -> None:
    source, target = sides([(5, 3)] * 500 + [(4, 3)] * 500)
    assert [row for batch in fixed_batches(source, target, batch_tokens=40) for row in batch.tolist()] == [
        *range(500, 1000),
        *range(500),
    ]


def test_no_pairs_make_no_batches() -> None:
    source, target = sides([])
    assert lists(fixed_batches(source.long(), target.long(), batch_tokens=9)) == []


def test_near_seeds_derive_unrelated_seeds() -> None:
    seeds = {derive_seed(*numbers) for numbers in ((), (0,), (1,), (0, 1), (1, 0), (11,), (1, 1), (-1, 1), (2**80, 1))}
    assert len(seeds) == 9
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(1, 2) == int(hashlib.sha256(b"1,2").hexdigest()[:16], 16) // 2


def test_plans_only_the_given_rows() -> None:
    source, target = sides([(1 + index % 7, 1 + index % 5) for index in range(97)])
    rows = torch.tensor([3, 96, 3, 51, 20])
    plan = plan_batches(source, target, batch_tokens=9, seed=1, epoch=1, rows=rows)
    assert sorted(row for batch in lists(plan) for row in batch) == sorted(rows.tolist())


def test_a_group_has_batches_of_similar_length() -> None:
    source, target = sides([(length, 3) for length in range(21, 33)])  # one batch each
    with pytest.raises(InputError, match=r"_tokens: 12 batches per epoch for 13 processes; lower"):
        plan_batches(source, target, batch_tokens=40, seed=1, epoch=1, processes=13)
    plan = [row for (row,) in lists(plan_batches(source, target, batch_tokens=40, seed=1, epoch=1, processes=3))]
    assert sorted(plan[turn : turn + 3] for turn in range(0, 12, 3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_each_epoch_drops_other_batches() -> None:
    source, target = sides([(index, index) for index in range(1, 40)])
    left_out = set()
    for epoch in range(9):
        plan = plan_batches(source, target, batch_tokens=40, seed=1, epoch=epoch, processes=7)
        left_out.add(frozenset(range(39)) - {row for batch in lists(plan) for row in batch})
    assert len(left_out) > 5
