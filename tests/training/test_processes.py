"""Several processes train what one would: run together once, looked at here."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from support import ranks
from support.small_training import validations_of
from torch import Tensor

from transformer_mt.distributed import Distributed

pytestmark = pytest.mark.slow

ALONE = Distributed()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def found(folder: Path) -> list[dict[str, Any]]:
    """What each scenario returned, by rank."""
    return ranks.run_scenarios(folder)


def both(found: list[dict[str, Any]], scenario: str) -> list[Any]:
    return [each[scenario] for each in found]


def assert_equal_to_one(together: list[list[Tensor]], alone: list[Tensor]) -> None:
    for one in together:
        assert len(one) == len(alone) > 0
        for ours, expected in zip(one, alone, strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)
    assert any(tensor.abs().max() > 1e-3 for tensor in alone)


def test_sums_are_the_same_in_all(found: list[dict[str, Any]]) -> None:
    for whole, half, tensor in both(found, "sums"):
        assert (whole, half, tensor.tolist()) == (5, 2.0, [2.0, 1.0])
        assert isinstance(whole, int)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the sockets of a process are read as on Linux")
def test_processes_of_one_machine_listen_where_no_other_machine_can_reach_them(found: list[dict[str, Any]]) -> None:
    for addresses in both(found, "listening"):
        assert set(addresses) == {"0100007F"}


def test_what_each_makes_and_what_the_first_makes_is_known_to_all(found: list[dict[str, Any]]) -> None:
    (gathered, first, time), (also_gathered, also_first, later) = both(found, "exchanges")
    assert gathered == also_gathered == [0, 1]
    assert first == also_first
    assert later > time  # although the first took longer


def test_an_error_of_one_is_raised_in_all_and_they_go_on_together(found: list[dict[str, Any]]) -> None:
    expected = (["MachineError process: of 1", "InputError process: of 0"], 2)
    assert both(found, "failures") == [expected, expected]


def test_an_interruption_of_one_is_one_of_all(found: list[dict[str, Any]]) -> None:
    assert both(found, "interruptions") == 2 * [("interrupted", False, 2)]


def test_the_gradient_of_two_processes_is_that_of_one_with_as_many_batches(
    found: list[dict[str, Any]], folder: Path
) -> None:
    alone = ranks.trainer_of(ALONE, folder, *ranks.WITHOUT_DROPOUT)
    counts = [alone.stream.take().target_tokens for _ in range(6)]
    assert counts[0] != counts[1]
    for scenario, overrides, steps in (
        ("accumulated", ranks.ACCUMULATED, 6),
        ("r_drop", ranks.R_DROP, 4),
        ("recurrent", ranks.RECURRENT, 2),
    ):
        override = f"training.accumulation_steps={steps}"
        assert_equal_to_one(both(found, scenario), ranks.gradients(ALONE, folder, *overrides, override))


def test_every_parameter_of_every_model_has_its_gradient_in_several_processes(found: list[dict[str, Any]]) -> None:
    one, other = both(found, "all_variants")
    assert one == other
    assert min(one) > 0


def test_gradients_are_summed_once_a_step(found: list[dict[str, Any]]) -> None:
    assert both(found, "reductions") == [1, 1]  # all of this small model are in one bucket of DDP


def test_a_shared_validation_has_the_scores_of_one(found: list[dict[str, Any]], folder: Path) -> None:
    expected = ranks.validation(ALONE, folder)
    assert both(found, "validation") == [expected, expected]


def test_stopped_processes_go_on_bit_for_bit_each_with_its_own_random_numbers(
    found: list[dict[str, Any]], folder: Path
) -> None:
    (digests, notes, random), (also_digests, _, other_random) = both(found, "resumption")
    assert len({*digests, *also_digests}) == 1
    assert notes == (f"continuing {folder / 'stopped'} from step 5",)
    assert not torch.equal(random, other_random)


def test_another_number_of_processes_continues_and_says_so(found: list[dict[str, Any]], folder: Path) -> None:
    fewer = ranks.session_of(ALONE, folder / "stopped", *ranks.LONG, "training.steps=9")
    assert re.fullmatch(r"not bit for bit .*, processes: 2 before, .*, processes: 1 now", fewer.notes[0])
    assert validations_of(list(fewer.train()))[-1].step == 9
    (notes, random, weights), (_, other_random, other_weights) = both(found, "single_continued")
    assert re.fullmatch(r"not bit for bit .*, processes: 1 before, .*, processes: 2 now", notes[0])
    assert notes[1:] == (f"continuing {folder / 'alone'} from step 5",)
    assert not torch.equal(random, other_random)
    assert weights == other_weights


def test_a_mistake_is_the_same_in_all_before_anything_is_written(found: list[dict[str, Any]], folder: Path) -> None:
    (first, together), other = both(found, "refused")
    assert (first, together) == other
    assert together == 2
    assert first[0].startswith("model.norm: batch would be measured by each process alone")
    assert first[1].startswith("training.device: cuda:1 is not for several processes")
    assert first[2].startswith("/whole: belongs to another configuration")
    assert not (folder / "new").exists()


def test_divergence_in_one_is_one_in_all(found: list[dict[str, Any]]) -> None:
    one, other = both(found, "divergence")
    assert one == other
    assert one.startswith("Diverged training: the loss diverged at step 1,")
