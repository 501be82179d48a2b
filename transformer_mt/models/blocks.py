"""What stands around attention in a layer: norms, residuals and feed-forward networks, each chosen by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from transformer_mt.attention.steps import Stage, Step
from transformer_mt.dropout import Dropout
from transformer_mt.models.feed_forward import relu_network
from transformer_mt.models.seq2seq import Mask, States, Surroundings

Layer = TypeVar("Layer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Layer]):
    """Layers of one kind, one above the other."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        super().__init__(layers)

    @override
    def __iter__(self) -> Iterator[Layer]:
        return cast("Iterator[Layer]", super().__iter__())


class Norm(nn.Module, ABC):
    """Brings the features of every token to one scale. `formula` says how, with `x` for the state."""

    formula: ClassVar[str]

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    @abstractmethod
    def forward(self, x: States, mask: Mask) -> States:
        """The states on their new scale; mask is True at real tokens."""

    @abstractmethod
    def explain(self, x: Float[Tensor, " D"]) -> list[Step]:
        """What the formula needs beside the state, when the model does not train."""

    def of(self, x: Float[Tensor, " D"]) -> Float[Tensor, " D"]:
        """A single state on its new scale."""
        return self(x[None, None], x.new_ones(1, 1, dtype=torch.bool))[0, 0]


class NoNorm(Norm):
    """y = x."""

    formula = "x"

    @override
    def forward(self, x: States, mask: Mask) -> States:
        return x

    @override
    def explain(self, x: Float[Tensor, " D"]) -> list[Step]:
        return []


class LayerNorm(Norm):
    """y = γ (x − μ) / √(σ² + ε) + β, mean and variance over the features of each token (Ba et al. 2016)."""

    formula = "γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵"

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    @override
    def forward(self, x: States, mask: Mask) -> States:
        return F.layer_norm(x, (self.width,), self.weight, self.bias)

    @override
    def explain(self, x: Float[Tensor, " D"]) -> list[Step]:
        return [
            Step("mean", "the mean of the features", "μ", "Σ_c x_c / D", x.mean()),
            Step("variance", "their variance", "σ²", "Σ_c (x_c − μ)² / D", x.var(unbiased=False)),
            Step("gain", "the factors of the features, learned", "γ", "", self.weight),
            Step("shift", "what is added to them, learned", "β", "", self.bias),
        ]


class RMSNorm(Norm):
    """y = γ x / √(mean(x²) + ε), without mean and bias (Zhang and Sennrich 2019)."""

    formula = "γ x / √(r² + ε), ε = 10⁻⁶"

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))

    @override
    def forward(self, x: States, mask: Mask) -> States:
        return F.rms_norm(x, (self.width,), self.weight, eps=1e-6)

    @override
    def explain(self, x: Float[Tensor, " D"]) -> list[Step]:
        return [
            Step("mean_square", "the mean of the squared features", "r²", "Σ_c x_c² / D", x.square().mean()),
            Step("gain", "the factors of the features, learned", "γ", "", self.weight),
        ]


class BatchNorm(Norm):
    """y = γ (x − μ) / √(σ² + ε) + β, mean and variance of each feature over the real tokens of the batch.

    Ioffe and Szegedy 2015, with the unbiased variance in training too. Evaluation uses running means of both, which
    take in a tenth of each batch. In training, a token's output depends on the other sentences, and in a decoder on
    what follows.
    """

    formula = "γ (x − μ) / √(σ² + ε) + β, ε = 10⁻⁵"
    mean: Tensor
    variance: Tensor

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    @override
    def forward(self, x: States, mask: Mask) -> States:
        """Over real tokens alone; padding is put on the same scale and counts for nothing."""
        mean, variance = self.measured(x, mask) if self.training else (self.mean, self.variance)
        return (x - mean) * (variance + 1e-5).rsqrt() * self.weight + self.bias

    def measured(self, x: States, mask: Mask) -> tuple[Float[Tensor, " D"], Float[Tensor, " D"]]:
        """Mean and unbiased variance of each feature, which the running ones take in."""
        real = x[mask]  # tokens D
        if len(real) < 2:  # no variance can be measured
            return self.mean, self.variance
        variance, mean = torch.var_mean(real, dim=0)
        with torch.no_grad():
            self.mean.lerp_(mean.to(self.mean.dtype), 0.1)
            self.variance.lerp_(variance.to(self.variance.dtype), 0.1)
        return mean, variance

    @override
    def explain(self, x: Float[Tensor, " D"]) -> list[Step]:
        return [
            Step("mean", "the running mean of every feature, over the training data", "μ", "", self.mean),
            Step("variance", "their running variance", "σ²", "", self.variance),
            Step("gain", "the factors of the features, learned", "γ", "", self.weight),
            Step("shift", "what is added to them, learned", "β", "", self.bias),
        ]


class Residual(nn.Module, Surroundings):
    """A layer with a path around it, in two halves: `y = layer(residual.before(x))`, then `x = residual.after(x, y)`.

    `ends_in_norm` says whether what comes out has been normalised, so that a stack needs no norm at its end.
    """

    ends_in_norm: bool

    def __init__(self, norm: Norm, *, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    @abstractmethod
    def before(self, x: States, mask: Mask) -> States:
        """What the layer reads."""

    @abstractmethod
    def after(self, x: States, y: States, mask: Mask) -> States:
        """x with what the layer made of it."""

    @override
    def explain_state(self, x: Float[Tensor, " D"]) -> Step:
        return Step("state", "the state of the row, as it comes to this layer", "x", "", x)


class PreNorm(Residual):
    """h = x + dropout(layer(norm(x))): the residual path stays an identity (Xiong et al. 2020)."""

    ends_in_norm = False

    @override
    def before(self, x: States, mask: Mask) -> States:
        return self.norm(x, mask)

    @override
    def after(self, x: States, y: States, mask: Mask) -> States:
        return self.dropout(y, onto=x)

    @override
    def entrance(self, attention: nn.Module) -> nn.Module:
        return self.norm

    @override
    def explain_before(self, x: Float[Tensor, " D"]) -> Stage:
        read = Step("read", "what the attention reads", "h", self.norm.formula, self.norm.of(x))
        return Stage("The norm before the attention", (*self.norm.explain(x), read))

    @override
    def explain_after(self, x: Float[Tensor, " D"], y: Float[Tensor, " D"]) -> Stage:
        words = "the state as it goes on: nothing of it is lost, y is added"
        return Stage("The residual", (Step("output", words, "x′", "x + y", x + y),))


class PostNorm(Residual):
    """h = norm(x + dropout(layer(x))): the original order (Vaswani et al. 2017, §3.1), which needs a longer warm-up."""

    ends_in_norm = True

    @override
    def before(self, x: States, mask: Mask) -> States:
        return x

    @override
    def after(self, x: States, y: States, mask: Mask) -> States:
        return self.norm(self.dropout(y, onto=x), mask)

    @override
    def entrance(self, attention: nn.Module) -> nn.Module:
        return attention

    @override
    def explain_before(self, x: Float[Tensor, " D"]) -> Stage:
        read = Step("read", "what the attention reads: the state as it is", "h", "x", x)
        return Stage("No norm before the attention", (read,))

    @override
    def explain_after(self, x: Float[Tensor, " D"], y: Float[Tensor, " D"]) -> Stage:
        total = x + y
        added = Step("residual", "the state with what the attention adds", "z", "x + y", total)
        output = Step("output", "the state as it goes on", "x′", self.norm.formula, self.norm.of(total))
        norm = (replace(step, formula=step.formula.replace("x", "z")) for step in (*self.norm.explain(total), output))
        return Stage("The residual, and the norm after it", (added, *norm))


class ReLU(nn.Sequential):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, §3.3)."""

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    @override
    def forward(self, x: States) -> States:
        """One part after the other; in place without gradients, and in training on a CPU, unless parts have hooks."""
        in_place = not torch.is_grad_enabled() or (self.training and x.device.type == "cpu")
        if in_place and not any(map(has_hooks, self)):
            first, _, second = self
            assert isinstance(first, nn.Linear)
            assert isinstance(second, nn.Linear)
            return relu_network(x, first, second) if torch.is_grad_enabled() else second(first(x).relu_())
        output: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return output


def has_hooks(module: nn.Module) -> bool:
    """Whether somebody is told of calls of the module, or changes what it gets or gives."""
    forward = module._forward_hooks or module._forward_pre_hooks
    return bool(forward or module._backward_hooks or module._backward_pre_hooks)


class GELU(nn.Sequential):
    """FFN(x) = GELU(x W_1 + b_1) W_2 + b_2, GELU(x) = x Φ(x) (Hendrycks and Gimpel 2016)."""

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class SwiGLU(nn.Module):
    """FFN(x) = (Swish(x W) ∘ x V) W_2, Swish(x) = x σ(x) (Shazeer 2020, §2).

    Three matrices where the others have two; the hidden width is the configured one, not two thirds of it.
    """

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.value = nn.Linear(width, hidden, bias=False)
        self.output = nn.Linear(hidden, width, bias=False)

    @override
    def forward(self, x: States) -> States:
        return self.output(F.silu(self.gate(x)) * self.value(x))


NORMS: dict[str, type[Norm]] = {"layer": LayerNorm, "batch": BatchNorm, "rms": RMSNorm, "none": NoNorm}
RESIDUALS: dict[str, type[Residual]] = {"pre_norm": PreNorm, "post_norm": PostNorm}
ACTIVATIONS: dict[str, type[ReLU] | type[GELU] | type[SwiGLU]] = {"relu": ReLU, "gelu": GELU, "swiglu": SwiGLU}
