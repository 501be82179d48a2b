"""Scores e(q, k), before the softmax: how well a query fits a key.

To add one, subclass `Score` and enter it in `SCORES`; `formulas` names e_j and anything else it shows.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.initialisation import drawn
from transformer_mt.attention.projections import HeadSizes, Independent, QueriesOnly
from transformer_mt.attention.shapes import Keys, Queries, Scores
from transformer_mt.ground.registry import Table


class Score(nn.Module, ABC):
    """e(q, k) for the queries and keys of heads of these sizes.

    `scale` is set for scores of the form scale · q·k, so that a fused kernel can compute them; None for others.
    `multiplies` says whether queries meet keys only in inner products. `prescribed` are the projections that the
    formula requires; None lets the model choose.
    """

    scale: float | None = None
    multiplies: ClassVar[bool] = True
    prescribed: ClassVar[type[Independent] | type[QueriesOnly] | None] = None

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__()
        self.sizes = sizes

    @abstractmethod
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        """e(q, k) of every query with every key."""


class Dot(Score):
    """Dot product: e(q, k) = q·k (Luong et al. 2015, §3.1)."""

    formulas: ClassVar = {"e_j": "q·k_j"}
    scale: float = 1.0

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # Scale the queries, the smaller matrix.
        return (queries * self.scale) @ keys.transpose(-1, -2)


class ScaledDot(Dot):
    """Scaled dot product: e(q, k) = q·k / √d, d = D/H the width of a head (Vaswani et al. 2017, §3.2.1).

    Products of random vectors have variance d. 1/√d, a temperature, keeps the softmax away from the corners, where its
    gradient vanishes.
    """

    formulas: ClassVar = {"e_j": "q·k_j / √d"}

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.scale = 1.0 / math.sqrt(sizes.value_width)


class Bilinear(Dot):
    """Bilinear form: e(x_i, x_j) = x_i W x_jᵀ / √D, one full W per head; keys are not projected.

    Luong et al. 2015, §3.1 ("general"), there without 1/√D. Recurrent models use it too, with the same formula.
    """

    formulas: ClassVar = {"e_j": "q·k_j / √D"}
    prescribed = QueriesOnly

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.scale = 1.0 / math.sqrt(sizes.key_width)


class Additive(Score):
    """Additive score: e(q, k) = vᵀ tanh(W_q x_i + W_k x_j + b), one v and b per head (Bahdanau et al. 2014, §A.1.2)."""

    formulas: ClassVar = {"u_j": "tanh(q + k_j + b)", "v": "", "e_j": "v·u_j"}
    multiplies = False
    prescribed = Independent

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.bias = nn.Parameter(torch.zeros(sizes.heads, sizes.key_width))
        self.direction = nn.Parameter(drawn(sizes.heads, sizes.key_width, std=sizes.key_width**-0.5))

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # A vector for every pair takes more memory than any product.
        pairs = (queries + self.bias[:, None])[:, :, :, None] + keys[:, :, None]  # B H Q K dk
        hidden = show(self, "u_j", pairs.tanh(), "B H Q K d")
        return torch.einsum("bhqkd,hd->bhqk", hidden, show(self, "v", self.direction, "H d").to(pairs.dtype))


class Cosine(Score):
    """Cosine: e(q, k) = τ q·k / (‖q‖ ‖k‖), one learned τ per head: the dot product without the norms.

    τ starts at √d, so that scores of random vectors have variance one, like the scaled dot product. A zero
    vector scores zero.
    """

    formulas: ClassVar = {"τ": "", "e_j": "τ q·k_j / (‖q‖ ‖k_j‖)"}

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.temperature = nn.Parameter(torch.full((sizes.heads,), math.sqrt(sizes.key_width)))

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        directions = F.normalize(queries, dim=-1) * show(self, "τ", self.temperature, "H")[:, None, None]
        return directions @ F.normalize(keys, dim=-1).transpose(-1, -2)


class Euclidean(Score):
    """Negative squared distance: e(q, k) = −‖q − k‖² / (2√d), d = D/H the width of a head.

    −‖q − k‖² = 2 q·k − ‖q‖² − ‖k‖², and softmax ignores terms that all keys share. If all keys have the same length,
    the weights match the scaled dot product. If not, a key no longer wins by its length.
    """

    formulas: ClassVar = {"e_j": "−‖q − k_j‖² / (2√d)"}

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.temperature = math.sqrt(sizes.value_width)

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # Expanded, to avoid a vector q − k for every pair.
        squares = queries.square().sum(-1)[..., :, None] + keys.square().sum(-1)[..., None, :]  # B H Q K
        return (queries @ keys.transpose(-1, -2) - squares / 2) / self.temperature


SCORES: Table[type[Score]] = Table(
    "model.attention.score",
    {
        "scaled_dot": ScaledDot,
        "dot": Dot,
        "bilinear": Bilinear,
        "additive": Additive,
        "cosine": Cosine,
        "euclidean": Euclidean,
    },
)
