"""How well a query fits a key: e(q, k), before the softmax.

To add a score, subclass `Score` and enter it in `SCORES`.
"""

import math
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.projections import SHARING, Independent, Projections, QueriesOnly
from transformer_mt.attention.spelling import spelled
from transformer_mt.config import AttentionConfig
from transformer_mt.errors import InputError
from transformer_mt.names import lookup


class Score(nn.Module):
    """e(q, k) between the queries and keys that `projections` makes.

    `scale` is the factor in front of the dot product for scores of the form scale · q·k, which a fused kernel can
    compute; None for the others. `multiplies` says whether queries meet keys in inner products alone.
    """

    scale: float | None = None
    multiplies: ClassVar[bool] = True
    # The projections that the formula itself prescribes; None where the configuration chooses how heads share them.
    prescribed: ClassVar[type[Projections] | None] = None

    def __init__(self, projections: Projections) -> None:
        super().__init__()
        self.projections = projections

    def forward(self, queries: Float[Tensor, "B H Q dk"], keys: Float[Tensor, "B #H K dk"]) -> Float[Tensor, "B H Q K"]:
        """e(q, k) of every query with every key."""
        raise NotImplementedError


class Dot(Score):
    """Dot product: e(q, k) = q·k (Luong et al. 2015, §3.1)."""

    scale: float = 1.0

    def forward(self, queries: Float[Tensor, "B H Q dk"], keys: Float[Tensor, "B #H K dk"]) -> Float[Tensor, "B H Q K"]:
        """scale · Q Kᵀ. The scale goes to the queries, the smaller matrix."""
        return (queries * self.scale) @ keys.transpose(-1, -2)


class ScaledDot(Dot):
    """Scaled dot product: e(q, k) = q·k / √d, d = D/H the width of a head (Vaswani et al. 2017, §3.2.1).

    The products of random vectors have variance d; 1/√d, a temperature, keeps the softmax away from the corners where
    its gradient vanishes.
    """

    def __init__(self, projections: Projections) -> None:
        super().__init__(projections)
        self.scale = 1.0 / math.sqrt(projections.width // projections.heads)


class Bilinear(Dot):
    """Bilinear form: e(x_i, x_j) = x_i W x_jᵀ / √D, one full W a head; keys are not projected.

    Luong et al. 2015, §3.1 ("general"), whose recurrent states are bounded and need no 1/√D.
    """

    prescribed = QueriesOnly

    def __init__(self, projections: Projections) -> None:
        super().__init__(projections)
        self.scale = 1.0 / math.sqrt(projections.width)


class Additive(Score):
    """Additive score: e(q, k) = vᵀ tanh(W_q x_i + W_k x_j + b), one v and b a head (Bahdanau et al. 2014, §A.1.2)."""

    multiplies = False

    def __init__(self, projections: Projections) -> None:
        super().__init__(projections)
        heads, width = projections.heads, projections.key_width
        self.bias = nn.Parameter(torch.zeros(heads, width))
        self.direction = nn.Parameter(torch.randn(heads, width) / math.sqrt(width))

    def forward(self, queries: Float[Tensor, "B H Q dk"], keys: Float[Tensor, "B #H K dk"]) -> Float[Tensor, "B H Q K"]:
        """vᵀ tanh(q + k + b), with a vector for every pair: more memory than any product."""
        pairs = (queries + self.bias[:, None])[:, :, :, None] + keys[:, :, None]  # B H Q K dk
        return torch.einsum("bhqkd,hd->bhqk", pairs.tanh(), self.direction.to(pairs.dtype))


class Cosine(Score):
    """Cosine: e(q, k) = τ q·k / (‖q‖ ‖k‖), one learned τ a head: the dot product with the norms removed.

    τ starts at √d, which gives random vectors scores of variance one, as the scaled dot product does.
    """

    def __init__(self, projections: Projections) -> None:
        super().__init__(projections)
        self.temperature = nn.Parameter(torch.full((projections.heads,), math.sqrt(projections.key_width)))

    def forward(self, queries: Float[Tensor, "B H Q dk"], keys: Float[Tensor, "B #H K dk"]) -> Float[Tensor, "B H Q K"]:
        """τ cos(q, k); zero for a vector without direction."""
        directions = F.normalize(queries, dim=-1) * self.temperature[:, None, None]
        return directions @ F.normalize(keys, dim=-1).transpose(-1, -2)


SCORES: dict[str, type[Score]] = {
    "scaled_dot": ScaledDot,
    "dot": Dot,
    "bilinear": Bilinear,
    "additive": Additive,
    "cosine": Cosine,
}


def build_score(config: AttentionConfig, *, width: int) -> Score:
    """The score that the configuration names, over the projections that it or the configuration prescribes.

    Raises `InputError` for a sharing of heads that the score cannot have.
    """
    score = lookup(SCORES, config.score, key="model.attention.score")
    sharing = {name: partial(entry, width, config.heads) for name, entry in SHARING.items()}
    projections = spelled(config.sharing, sharing, key="model.attention.sharing")
    if score.prescribed is None and (score.multiplies or isinstance(projections, Independent)):
        return score(projections)
    if isinstance(projections, Independent):
        assert score.prescribed is not None
        return score(score.prescribed(width=width, heads=config.heads))  # type: ignore[call-arg]
    raise InputError(
        f"model.attention.sharing: {config.sharing} mixes the features of a product of queries and keys, which the "
        f"score {config.score} does not have; set model.attention.score to scaled_dot, dot or cosine"
    )
