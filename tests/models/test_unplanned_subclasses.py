"""Custom parts outside the tables, as in early research: search must compute the trained model."""

import math
from collections.abc import Iterator

import pytest
import torch
from support.shown import values_of
from support.table_model import SOURCE, VOCABULARY
from support.tiny import targets
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention import normalisers, projections, scores
from transformer_mt.attention.normalisers import Softmax
from transformer_mt.attention.projections import Independent
from transformer_mt.attention.scores import Score
from transformer_mt.config.toml import load_config
from transformer_mt.models import blocks, positionwise
from transformer_mt.models.blocks import Residual
from transformer_mt.models.build_model import build_model
from transformer_mt.models.positionwise import ReLU
from transformer_mt.models.seq2seq import Seq2Seq


class QKNorm(Independent):
    """Queries and keys of length one, times a learned factor (Henry et al. 2020)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        self.factor = nn.Parameter(torch.tensor(3.0))

    def queries(self, states: Tensor) -> Tensor:
        return self.factor * F.normalize(super().queries(states), dim=-1)

    def keys(self, states: Tensor) -> Tensor:
        return F.normalize(super().keys(states), dim=-1)


class SquaredReLU(ReLU):
    """max(0, x)² (So et al. 2021)."""

    def activation(self, x: Tensor) -> Tensor:
        return super().activation(x).square()


class ReZero(Residual):
    """x + α layer(x), without a norm (Bachlechner et al. 2020); it shows nothing."""

    ends_in_norm = False

    def __init__(self, norm: blocks.Norm, *, dropout: float) -> None:
        super().__init__(norm, dropout=dropout)
        self.alpha = nn.Parameter(torch.tensor(0.7))

    def before(self, x: Tensor, mask: Tensor) -> Tensor:
        return x

    def after(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        return x + self.alpha * self.dropout(y)


class Gauss(Score):
    """A Gaussian kernel, exp(−‖q − k‖²): a score without anything to explain."""

    multiplies = False

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        keys = keys.expand(-1, queries.shape[1], -1, -1)
        return 3.0 * torch.cdist(queries, keys).square().neg().exp()


class Tempered(Softmax):
    """The softmax of halved scores."""

    def normalise(self, scores: Tensor) -> Tensor:
        return super().normalise(scores / 2)


# Each is entered in its table while a test builds its model.
UNPLANNED = {
    "model.attention.qk_projection=unplanned": (projections.QK_PROJECTIONS, QKNorm),
    "model.feed_forward=unplanned": (positionwise.FEED_FORWARDS, SquaredReLU),
    "model.residual=unplanned": (blocks.RESIDUALS, ReZero),
    "model.attention.score=unplanned": (scores.SCORES, Gauss),
    "model.attention.normaliser=unplanned": (normalisers.NORMALISERS, Tempered),
}


@pytest.fixture(params=UNPLANNED, ids=lambda override: UNPLANNED[override][1].__name__)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, float64: None) -> Iterator[Seq2Seq]:
    table, variant = UNPLANNED[request.param]
    monkeypatch.setitem(table, "unplanned", variant)
    sizes = "width=12 encoder_layers=2 decoder_layers=2 feed_forward_width=20 max_length=31 attention.heads=2"
    config = load_config(None, [*(f"model.{size}" for size in sizes.split()), request.param])
    torch.manual_seed(7)
    model = build_model(config.model, vocabulary_size=VOCABULARY).eval()
    assert any(type(module) is variant for module in model.modules())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)  # so that predictions depend on the tokens read
        yield model.requires_grad_(False)


def test_hypotheses_of_one_sentence_equal_separate_decoding(model: Seq2Seq) -> None:
    rows = torch.tensor([0, 2, 0, 0, 2])
    target = targets(5, 5, 5, 5, 5, vocabulary=VOCABULARY)
    state = model.start(SOURCE).select(rows)
    for t in range(5):
        logits, state = model.decode(target[:, t : t + 1], state)
    torch.testing.assert_close(logits[:, 0], model(SOURCE[rows], target)[:, -1], rtol=0.0, atol=1e-10)


def test_watching_sees_the_weights_and_changes_nothing(model: Seq2Seq) -> None:
    target = targets(4, 4, 4, vocabulary=VOCABULARY)
    with values_of("α_j") as shown:
        watched = model(SOURCE, target)
    torch.testing.assert_close(watched, model(SOURCE, target), rtol=0.0, atol=1e-10)
    assert len(shown) == 2 + 2 * 2
    assert math.isclose(shown[-1][1].sum(dim=-1).mean().item(), 1.0)
