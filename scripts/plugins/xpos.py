"""xPos: rotary positions whose products decay with the distance in a decoder.

    tmt --plugin scripts/plugins/xpos.py train --set model.attention.position=xpos

docs/laboratory.md has its results.
"""

from typing import ClassVar

import torch
from typing_extensions import override

from transformer_mt.attention.positions import POSITIONS, Place, Rotary
from transformer_mt.attention.shapes import Keys, Queries


class XPos(Rotary):
    """Rotary positions, with pair t of q_i times ζ_t^{i/512} and pair t of k_j times ζ_t^{−j/512}.

    Sun et al. 2022, §3.2, ζ_t = (2t/d + γ) / (1 + γ), γ = 0.4: q_i·k_j decays as i − j grows. It would grow for j > i,
    so an encoder, not being causal, uses plain rotary positions.
    """

    formulas: ClassVar = {"q′": "R_i q ∘ ζ^{i/512}, θ_t = 10000^{−2t/d}", "k′_j": "R_j k_j ∘ ζ^{−j/512}"}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        if place.score.scale is None:
            raise ValueError("it scales keys of a dot product, and this score is not one; choose another, or rotary")
        self.causal = place.causal

    @override
    def rotate(self, queries: Queries, keys: Keys) -> tuple[Queries, Keys]:
        if self.causal:
            dtype = torch.promote_types(keys.dtype, torch.float32)
            length, width = keys.shape[2:]
            pairs = torch.arange(width, dtype=dtype, device=keys.device) // 2 * 2 / width
            places = torch.arange(length, dtype=dtype, device=keys.device)[:, None]
            decay = ((pairs + 0.4) / 1.4).pow(places / 512).to(keys.dtype)  # K d
            queries = queries * decay[length - queries.shape[2] :]
            keys = keys / decay
        return super().rotate(queries, keys)


POSITIONS["xpos"] = XPos
