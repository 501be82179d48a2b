"""Several processes train the same model as one: run once, checked here."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from support import ranks
from support.plugins import FOLDER, loaded
from support.small_training import validations_of
from torch import Tensor

from transformer_mt.ground.distributed import Distributed

pytestmark = pytest.mark.slow

ALONE = Distributed()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def found(folder: Path) -> list[dict[str, Any]]:
    """The results of each scenario, by rank."""
    return ranks.run_scenarios(folder)


def both(found: list[dict[str, Any]], scenario: str) -> list[Any]:
    return [each[scenario] for each in found]


def assert_equal_to_one(together: list[list[Tensor]], alone: list[Tensor]) -> None:
    for one in together:
        torch.testing.assert_close(one, alone, rtol=1e-10, atol=1e-10)
    assert any(tensor.abs().max() > 1e-3 for tensor in alone)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the sockets of a process are read as on Linux")
def test_processes_listen_only_on_loopback(found: list[dict[str, Any]]) -> None:
    for addresses in both(found, "listening"):
        assert set(addresses) == {"0100007F"}


def test_results_are_gathered_and_broadcast(found: list[dict[str, Any]]) -> None:
    (gathered, first, time), (also_gathered, also_first, later) = both(found, "exchanges")
    assert gathered == also_gathered == [0, 1]
    assert first == also_first
    assert later > time  # although the main process took longer


def test_error_in_one_process_is_raised_in_all(found: list[dict[str, Any]]) -> None:
    expected = (["MachineError process: of 1", "InputError process: of 0"], 2)
    assert both(found, "failures") == [expected, expected]


def test_interrupting_one_process_interrupts_all(found: list[dict[str, Any]]) -> None:
    assert both(found, "interruptions") == 2 * [("interrupted", False, 2)]


def test_gradient_of_two_processes_equals_that_of_one(found: list[dict[str, Any]], folder: Path) -> None:
    stream = ranks.trainer_of(ALONE, folder, *ranks.WITHOUT_DROPOUT).stream
    counts = [stream.take().target_tokens for _ in range(2)]
    assert counts[0] != counts[1]
    with loaded(FOLDER / "r_drop.py"):
        for number, (overrides, steps) in enumerate(ranks.GRADIENTS):
            together = [each[number] for each in both(found, "all_gradients")]
            alone = ranks.gradients(ALONE, folder, *overrides, f"training.accumulation_steps={steps}")
            assert_equal_to_one(together, alone)


def test_every_parameter_gets_a_gradient_in_several_processes(found: list[dict[str, Any]]) -> None:
    one, other = both(found, "all_variants")
    assert one == other
    assert min(one) > 0


def test_gradients_are_reduced_once_per_step(found: list[dict[str, Any]]) -> None:
    assert both(found, "reductions") == [1, 1]  # this small model fits into one DDP bucket


def test_shared_validation_equals_that_of_one_process(found: list[dict[str, Any]], folder: Path) -> None:
    expected = ranks.validation(ALONE, folder)
    assert both(found, "validation") == [expected, expected]


def test_several_processes_resume_bit_for_bit(found: list[dict[str, Any]], folder: Path) -> None:
    (digests, notes, random), (also_digests, _, other_random) = both(found, "resumption")
    assert len({*digests, *also_digests}) == 1
    assert notes == (f"continuing {folder / 'stopped'} from step 5",)
    assert not torch.equal(random, other_random)


def test_resuming_with_another_number_of_processes_adds_a_note(found: list[dict[str, Any]], folder: Path) -> None:
    fewer = ranks.session_of(ALONE, folder / "stopped", *ranks.LONG, "training.steps=9")
    assert re.fullmatch(r"resuming is not bit-exact: .*, processes: 2 before, .*, processes: 1 now", fewer.notes[0])
    assert validations_of(list(fewer.train()))[-1].step == 9
    (notes, random, weights), (_, other_random, other_weights) = both(found, "single_continued")
    assert re.fullmatch(r"resuming is not bit-exact: .*, processes: 1 before, .*, processes: 2 now", notes[0])
    assert notes[1:] == (f"continuing {folder / 'alone'} from step 5",)
    assert not torch.equal(random, other_random)
    assert weights == other_weights


def test_all_processes_report_the_same_error_before_writing(found: list[dict[str, Any]], folder: Path) -> None:
    (first, together), other = both(found, "refused")
    assert (first, together) == other
    assert together == 2
    assert first[0].startswith("model.norm: batch would use separate statistics in each process")
    assert first[1].startswith("training.device: cuda:1 is not for several processes")
    assert first[2].startswith("/whole: belongs to another configuration")
    assert not (folder / "new").exists()


def test_divergence_in_one_process_stops_all(found: list[dict[str, Any]]) -> None:
    one, other = both(found, "divergence")
    assert one == other
    assert one.startswith("Diverged training: the loss diverged at step 1,")
