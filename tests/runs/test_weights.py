from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.checksums import saved_sums
from transformer_mt.runs.weights import digest, pack, require_specs, specs_of, unpack


def test_tensors_round_trip(tmp_path: Path) -> None:
    tensors = {"x": torch.randn(3, 5).T, "steps": torch.tensor(7), "y": torch.tensor([2, 0], dtype=torch.uint8)}
    unpacked = unpack(pack(tensors), path=tmp_path)
    require_specs(unpacked, specs_of(tensors), path=tmp_path)
    assert unpacked.keys() == tensors.keys()
    assert all(torch.equal(unpacked[name], tensor) for name, tensor in tensors.items())
    assert unpack(pack({}), path=tmp_path) == {}


@given(content=st.binary(max_size=50) | st.binary(max_size=50).map(lambda tail: pack({"x": torch.ones(3)})[:40] + tail))
def test_invalid_safetensors_file_is_a_one_line_error(content: bytes) -> None:
    with pytest.raises(MachineError, match=r"^model.safetensors: damaged or not a safetensors file; .*again$"):
        unpack(content, path=Path("model.safetensors"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"x": torch.ones(2, 3)}, {"y": torch.ones(2, 3)}),
        ({"x": torch.ones(2, 3)}, {"x": torch.ones(3, 2)}),
        ({"x": torch.zeros(2)}, {"x": torch.zeros(2, dtype=torch.int32)}),
        ({"x": torch.zeros(2)}, {"x": torch.tensor([0.0, -0.0])}),
        ({"x": torch.ones(1), "y": torch.zeros(1)}, {"x": torch.zeros(1), "y": torch.ones(1)}),
    ],
)
def test_digest_depends_on_names_shapes_types_and_bytes(
    old: dict[str, torch.Tensor], new: dict[str, torch.Tensor]
) -> None:
    assert digest(old) != digest(new)
    assert digest(old) == digest(dict(reversed(old.items())))


def test_packing_is_deterministic(tmp_path: Path) -> None:
    sums = {name: name for name in "abcdefgh"}
    packed = pack({"x": torch.ones(3)}, sums)
    assert {pack({"x": torch.ones(3)}, sums) for _ in range(9)} == {packed}
    assert saved_sums(packed) == sums | {"tensors": digest({"x": torch.ones(3)})}
