"""Gradient × input and integrated gradients: what the embeddings of a pair add to the log-probabilities of its target.

Embeddings are those of the tokens, without what positions add: a position is not taken away with its token.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.models.recurrent import RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Seq2Seq, States, evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.views.words import PairTokens

# Tokens that go through the model at a time, at least one sentence's.
BATCH_TOKENS = 2_048

# Integrated gradients are computed at so many points, and at twice as many until every row is complete.
FEWEST_POINTS, MOST_POINTS = 32, 512
# How far, in nats, a row may be from the sum that it must have: about a hundredth of what rows usually sum to.
TOLERANCE = 0.05

# ln p of every piece that is written, for embeddings in place of the tokens': B N D -> B T.
LogProbabilities = Callable[[Tensor], Tensor]


class EmbeddedPair:
    """A pair for a model that reads given embeddings on one side, and on the other the tokens' own."""

    def __init__(self, model: Seq2Seq, tokens: PairTokens) -> None:
        assert isinstance(model, Transformer | RecurrentSeq2Seq)
        self.model = model
        self.source, self.read = tokens.inputs(next(model.parameters()).device)
        self.written = torch.tensor(tokens.written.ids, device=self.read.device)

    def embeddings(self, stack: str) -> Float[Tensor, "1 N D"]:
        """Those of the columns' tokens: of the source for `cross`, of what the decoder reads for `decoder`."""
        tables = {"cross": self.model.source_embedding.table, "decoder": self.model.target_embedding.table}
        return tables[stack].weight.detach()[self.source if stack == "cross" else self.read]

    def log_probabilities(self, stack: str) -> LogProbabilities:
        """The function of these embeddings that is to be explained."""
        return {"cross": self.of_source, "decoder": self.of_target}[stack]

    def of_source(self, embeddings: States) -> Float[Tensor, "B T"]:
        """ln p of the written pieces, the source being read from these embeddings."""
        count = len(embeddings)
        with _reading(self.model.source_embedding.table, embeddings):
            state = self.model.start(self.source.expand(count, -1))
        logits, _ = self.model.decode(self.read.expand(count, -1), state)
        return self._of_written(logits)

    def of_target(self, embeddings: States) -> Float[Tensor, "B T"]:
        """ln p of the written pieces, the target before each of them being read from these embeddings."""
        count = len(embeddings)
        with torch.no_grad():
            state = self.model.start(self.source).select(torch.zeros(count, dtype=torch.long, device=self.read.device))
        with _reading(self.model.target_embedding.table, embeddings):
            logits, _ = self.model.decode(self.read.expand(count, -1), state)
        return self._of_written(logits)

    def _of_written(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T"]:
        written = self.written.expand(len(logits), -1)[..., None]
        return logits.log_softmax(dim=-1).gather(-1, written)[..., 0]


def gradient_times_input(model: Seq2Seq, tokens: PairTokens, *, stack: str) -> Float[Tensor, "T N"]:
    """x_j · ∂ ln p(y_i) / ∂x_j for the columns of `cross` or `decoder` (Denil et al. 2014; Shrikumar et al. 2016).

    Signed: a column with a positive number speaks for the piece, one with a negative number against it.
    """
    pair = EmbeddedPair(model, tokens)
    with _differentiating(model):
        one = np.ones(1)
        return _weighted_gradients(pair.log_probabilities(stack), pair.embeddings(stack), points=one, weights=one)


def integrated_gradients(model: Seq2Seq, tokens: PairTokens, *, stack: str) -> Float[Tensor, "T N"]:
    """x_j · ∫₀¹ ∂ ln p(y_i) / ∂x_j at the embeddings α x dα (Sundararajan et al. 2017, §3), from the baseline zero.

    Zero is the baseline that the paper names for text: nothing at every place, and the positions as they are. `<pad>`
    and `<unk>`, which others take, are not neutral here: the model has never read either, so that their embeddings are
    what initialisation and the shared output matrix left. All tokens of one side go the way together, the other side
    stays.

    Complete: row i sums to ln p(y_i) − ln p(y_i | zeros) within `TOLERANCE`, or as near as `MOST_POINTS` come.
    """
    pair = EmbeddedPair(model, tokens)
    log_p, x = pair.log_probabilities(stack), pair.embeddings(stack)
    with _differentiating(model):
        with torch.no_grad():
            change = (log_p(x) - log_p(torch.zeros_like(x)))[0]
        count = FEWEST_POINTS
        while True:
            points, weights = quadrature(count)
            found = _weighted_gradients(log_p, x, points=points, weights=weights)
            if count == MOST_POINTS or (found.sum(dim=-1) - change).abs().max() <= TOLERANCE:
                return found
            count *= 2


def quadrature(count: int) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Points α and weights w with Σ w f(α) ≈ ∫₀¹ f(α) dα: the middles of equal steps of u, α = u³.

    Near α = 0, where the embeddings are as small as a norm's ε, it makes all of its change; there the points stand
    close. Rules of higher order gain nothing, since ReLU makes the gradient jump.
    """
    u = (np.arange(count) + 0.5) / count
    return u**3, 3.0 * u**2 / count


def _weighted_gradients(
    log_p: LogProbabilities,
    x: Float[Tensor, "1 N D"],
    *,
    points: Float[np.ndarray, " P"],
    weights: Float[np.ndarray, " P"],
) -> Float[Tensor, "T N"]:
    """x · Σ_p w_p ∂ ln p / ∂x at the embeddings α_p x, summed over features."""
    total: Tensor | None = None
    at_once = max(1, BATCH_TOKENS // x.shape[1])
    for first in range(0, len(points), at_once):
        α, w = (torch.from_numpy(some[first : first + at_once]).to(x)[:, None, None] for some in (points, weights))
        inputs = (α * x).requires_grad_()
        rows = log_p(inputs).sum(dim=0)  # the inputs are apart, so each has the gradient of its own
        slopes = torch.stack([torch.autograd.grad(row, inputs, retain_graph=True)[0] for row in rows])  # T P N D
        part = (w * slopes).sum(dim=1).mul(x).sum(dim=-1)
        total = part if total is None else total + part
    assert total is not None
    return total


@contextmanager
def _differentiating(model: Seq2Seq) -> Iterator[None]:
    """In evaluation mode, with gradients; cuDNN has those of a GRU in training mode alone."""
    with evaluating(model, gradients=True), torch.backends.cudnn.flags(enabled=False):
        yield


@contextmanager
def _reading(table: nn.Embedding, embeddings: States) -> Iterator[None]:
    """While this is open, the table gives these embeddings whatever the tokens are."""
    hook = table.register_forward_hook(lambda *_: embeddings)
    try:
        yield
    finally:
        hook.remove()
