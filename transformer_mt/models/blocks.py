"""The parts of a layer around attention: norms and residuals, chosen by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, Generic, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.shapes import States
from transformer_mt.ground.registry import Table
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.seq2seq import TokenMask

AnyLayer = TypeVar("AnyLayer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[AnyLayer]):
    """A stack of layers of one kind."""

    def __init__(self, layers: Iterable[AnyLayer]) -> None:
        super().__init__(layers)

    @override
    def __iter__(self) -> Iterator[AnyLayer]:
        return cast("Iterator[AnyLayer]", super().__iter__())


class Norm(nn.Module, ABC):
    """Normalises the scale of each token's features."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    @abstractmethod
    def forward(self, x: States, mask: TokenMask) -> States:
        """Normalise the states. `mask` is True at real tokens."""


class NoNorm(Norm):
    """y = x."""

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        return x


class LayerNorm(Norm):
    """y = γ (x − μ) / √(σ² + ε) + β, mean and variance over the features of each token (Ba et al. 2016)."""

    formulas: ClassVar = {"norm(x)": "γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵"}

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        return show(self, "norm(x)", F.layer_norm(x, (self.width,), self.weight, self.bias), "B Q D")


class RMSNorm(Norm):
    """y = γ x / √(mean(x²) + ε), without mean and bias (Zhang and Sennrich 2019)."""

    formulas: ClassVar = {"norm(x)": "γ x / √(mean(x²) + ε), ε = 10⁻⁶"}

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        return show(self, "norm(x)", F.rms_norm(x, (self.width,), self.weight, eps=1e-6), "B Q D")


class BatchNorm(Norm):
    """y = γ (x − μ) / √(σ² + ε) + β, mean and variance of each feature over the real tokens of the batch.

    Ioffe and Szegedy 2015, but with the unbiased variance in training too. Evaluation uses running means of both, to
    which each batch contributes a tenth. In training, a token's output depends on the other sentences, and in a decoder
    on later tokens.
    """

    formulas: ClassVar = {"norm(x)": "γ (x − μ) / √(σ² + ε) + β, μ and σ² running means, ε = 10⁻⁵"}
    mean: Tensor
    variance: Tensor

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    @override
    def forward(self, x: States, mask: TokenMask) -> States:
        """Measure only real tokens. Padding is rescaled too, but does not count."""
        mean, variance = self.measured(x, mask) if self.training else (self.mean, self.variance)
        return show(self, "norm(x)", (x - mean) * (variance + 1e-5).rsqrt() * self.weight + self.bias, "B Q D")

    def measured(self, x: States, mask: TokenMask) -> tuple[Float[Tensor, " D"], Float[Tensor, " D"]]:
        """Measure mean and unbiased variance of each feature, and update the running means."""
        real = x[mask]  # tokens D
        if len(real) < 2:  # too few for a variance
            return self.mean, self.variance
        variance, mean = torch.var_mean(real, dim=0)
        with torch.no_grad():
            self.mean.lerp_(mean.to(self.mean.dtype), 0.1)
            self.variance.lerp_(variance.to(self.variance.dtype), 0.1)
        return mean, variance


class Residual(nn.Module, ABC):
    """A residual connection, in two halves: `x, h = residual.enter(x)`, then `x = residual.after(x, layer(h))`.

    `ends_in_norm` says whether the output is normalised, so that a stack needs no final norm.
    """

    ends_in_norm: bool

    def __init__(self, norm: Norm, *, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def enter(self, x: States, mask: TokenMask) -> tuple[States, States]:
        """Return the state and the layer's input."""
        x = show(self, "x", x, "B Q D")
        return x, self.before(x, mask)

    @abstractmethod
    def before(self, x: States, mask: TokenMask) -> States:
        """The layer's input."""

    @abstractmethod
    def after(self, x: States, y: States, mask: TokenMask) -> States:
        """Add the layer's output y to x."""


class PreNorm(Residual):
    """h = x + dropout(layer(norm(x))): the residual path stays an identity (Xiong et al. 2020)."""

    formulas: ClassVar = {"x": "", "x′": "x + y"}
    ends_in_norm = False

    @override
    def before(self, x: States, mask: TokenMask) -> States:
        return self.norm(x, mask)

    @override
    def after(self, x: States, y: States, mask: TokenMask) -> States:
        return show(self, "x′", self.dropout(y, onto=x), "B Q D")


class PostNorm(Residual):
    """h = norm(x + dropout(layer(x))): the original order (Vaswani et al. 2017, §3.1), which needs a longer warm-up."""

    formulas: ClassVar = {"x": "", "z": "x + y", "x′": "norm(z)"}
    ends_in_norm = True

    @override
    def before(self, x: States, mask: TokenMask) -> States:
        return x

    @override
    def after(self, x: States, y: States, mask: TokenMask) -> States:
        return show(self, "x′", self.norm(show(self, "z", self.dropout(y, onto=x), "B Q D"), mask), "B Q D")


NORMS: Table[type[Norm]] = Table("model.norm", {"layer": LayerNorm, "batch": BatchNorm, "rms": RMSNorm, "none": NoNorm})
RESIDUALS: Table[type[Residual]] = Table("model.residual", {"pre_norm": PreNorm, "post_norm": PostNorm})
