"""How well a query fits a key: e(q, k), before the softmax.

To add a score, subclass `Score` and enter it in `SCORES`.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.projections import HeadSizes, Independent, QueriesOnly
from transformer_mt.attention.shapes import Keys, Queries, Scores
from transformer_mt.attention.steps import Step, Vector, Vectors


class Score(nn.Module, ABC):
    """e(q, k) of the queries and keys of heads of those sizes.

    `scale` is the factor in front of the dot product for scores of the form scale · q·k, which a fused kernel can
    compute; None for the others. `multiplies` says whether queries meet keys in inner products alone. `prescribed` are
    the projections that the formula itself prescribes; None where the model chooses them.
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

    @abstractmethod
    def explain(self, query: Vector, keys: Vectors, *, head: int) -> list[Step]:
        """The steps of the formula for one query of a head, counted from 0; the last is `scores`, e_j of every key."""


class Dot(Score):
    """Dot product: e(q, k) = q·k (Luong et al. 2015, §3.1).

    `scale_symbol` is how the scale is written, empty where there is none.
    """

    scale: float = 1.0
    scale_symbol: ClassVar[str] = ""

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # The scale goes to the queries, the smaller matrix.
        return (queries * self.scale) @ keys.transpose(-1, -2)

    @override
    def explain(self, query: Vector, keys: Vectors, *, head: int) -> list[Step]:
        steps = [products(query, keys)]
        if self.scale_symbol:
            words = "the scale, a temperature of the softmax"
            steps.append(Step("scale", words, self.scale_symbol, "", torch.tensor(self.scale)))
        formula = f"q·k_j · {self.scale_symbol}" if self.scale_symbol else "q·k_j"
        scores = steps[0].values * self.scale
        return [*steps, Step("scores", "the score of every key", "e_j", formula, scores, over="keys")]


class ScaledDot(Dot):
    """Scaled dot product: e(q, k) = q·k / √d, d = D/H the width of a head (Vaswani et al. 2017, §3.2.1).

    The products of random vectors have variance d; 1/√d, a temperature, keeps the softmax away from the corners where
    its gradient vanishes.
    """

    scale_symbol = "1/√d"

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.scale = 1.0 / math.sqrt(sizes.value_width)


class Bilinear(Dot):
    """Bilinear form: e(x_i, x_j) = x_i W x_jᵀ / √D, one full W a head; keys are not projected.

    Luong et al. 2015, §3.1 ("general"), there without 1/√D. A recurrent model has it too: the formula is the same in
    both models.
    """

    prescribed = QueriesOnly
    scale_symbol = "1/√D"

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.scale = 1.0 / math.sqrt(sizes.key_width)


class Additive(Score):
    """Additive score: e(q, k) = vᵀ tanh(W_q x_i + W_k x_j + b), one v and b a head (Bahdanau et al. 2014, §A.1.2)."""

    multiplies = False
    prescribed = Independent

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.bias = nn.Parameter(torch.zeros(sizes.heads, sizes.key_width))
        self.direction = nn.Parameter(torch.randn(sizes.heads, sizes.key_width) / math.sqrt(sizes.key_width))

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # A vector for every pair: more memory than any product.
        pairs = (queries + self.bias[:, None])[:, :, :, None] + keys[:, :, None]  # B H Q K dk
        return torch.einsum("bhqkd,hd->bhqk", pairs.tanh(), self.direction.to(pairs.dtype))

    @override
    def explain(self, query: Vector, keys: Vectors, *, head: int) -> list[Step]:
        bias, direction = self.bias[head], self.direction[head]
        hidden = (query + keys + bias).tanh()
        return [
            Step("bias", "the head's bias, learned", "b", "", bias),
            Step("hidden", "query and key added, squashed", "u_j", "tanh(q + k_j + b)", hidden, over="keys"),
            Step("direction", "the direction in which a pair fits, learned", "v", "", direction),
            Step("scores", "the score of every key", "e_j", "v·u_j", hidden @ direction, over="keys"),
        ]


class Cosine(Score):
    """Cosine: e(q, k) = τ q·k / (‖q‖ ‖k‖), one learned τ a head: the dot product with the norms removed.

    τ starts at √d, which gives random vectors scores of variance one, as the scaled dot product does. A vector without
    direction has the score zero.
    """

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.temperature = nn.Parameter(torch.full((sizes.heads,), math.sqrt(sizes.key_width)))

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        directions = F.normalize(queries, dim=-1) * self.temperature[:, None, None]
        return directions @ F.normalize(keys, dim=-1).transpose(-1, -2)

    @override
    def explain(self, query: Vector, keys: Vectors, *, head: int) -> list[Step]:
        temperature, cosines = self.temperature[head], F.normalize(keys, dim=-1) @ F.normalize(query, dim=-1)
        lengths = keys.norm(dim=-1)
        return [
            products(query, keys),
            Step("query_length", "the length of the query", "‖q‖", "√(Σ_c q_c²)", query.norm()),
            Step("key_lengths", "the length of every key", "‖k_j‖", "√(Σ_c k_jc²)", lengths, over="keys"),
            Step("cosines", "the cosine of their angle", "cos_j", "q·k_j / (‖q‖ ‖k_j‖)", cosines, over="keys"),
            Step("temperature", "the head's factor, learned", "τ", "", temperature),
            Step("scores", "the score of every key", "e_j", "τ cos_j", temperature * cosines, over="keys"),
        ]


class Euclidean(Score):
    """Negative squared distance: e(q, k) = −‖q − k‖² / (2√d), d = D/H the width of a head.

    −‖q − k‖² = 2 q·k − ‖q‖² − ‖k‖², and softmax ignores what is the same for all keys: where all keys have one length,
    the weights are those of the scaled dot product. Where they have not, a long key no longer wins by its length.
    """

    def __init__(self, sizes: HeadSizes) -> None:
        super().__init__(sizes)
        self.temperature = math.sqrt(sizes.value_width)

    @override
    def forward(self, queries: Queries, keys: Keys) -> Scores:
        # Multiplied out, which needs no vector q − k for every pair.
        squares = queries.square().sum(-1)[..., :, None] + keys.square().sum(-1)[..., None, :]  # B H Q K
        return (queries @ keys.transpose(-1, -2) - squares / 2) / self.temperature

    @override
    def explain(self, query: Vector, keys: Vectors, *, head: int) -> list[Step]:
        distances, scale = (query - keys).square().sum(-1), 1 / (2 * self.temperature)
        return [
            Step("squared_distances", "the squared distance of every key", "δ_j", "‖q − k_j‖²", distances, over="keys"),
            Step("scale", "the scale, a temperature of the softmax", "1/(2√d)", "", torch.tensor(scale)),
            Step("scores", "the score of every key", "e_j", "−δ_j · 1/(2√d)", -distances * scale, over="keys"),
        ]


def products(query: Vector, keys: Vectors) -> Step:
    """q·k of every key, a step that several scores begin with."""
    words = "the product of the query with every key"
    return Step("products", words, "q·k_j", "Σ_c q_c k_jc", keys @ query, over="keys")


SCORES: dict[str, type[Score]] = {
    "scaled_dot": ScaledDot,
    "dot": Dot,
    "bilinear": Bilinear,
    "additive": Additive,
    "cosine": Cosine,
    "euclidean": Euclidean,
}
