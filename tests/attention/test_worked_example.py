import pytest
import torch
from torch import Tensor

from transformer_mt.attention.graphs import Complete
from transformer_mt.attention.hooks import record_values
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.normalisers import Softmax
from transformer_mt.attention.positions import Position
from transformer_mt.attention.projections import Independent, Unprojected
from transformer_mt.attention.scores import Dot, ScaledDot
from transformer_mt.attention.worked_example import one_head, simple_attention

HELLO, SHINY, SUN = (0.34, 0.22, 0.54), (0.53, 0.34, 0.98), (0.29, 0.54, 0.93)


@pytest.fixture
def words() -> Tensor:
    return torch.tensor([HELLO, SHINY, SUN], dtype=torch.float64)


@pytest.mark.usefixtures("float64")
@torch.no_grad()
def test_the_lesson_matches_the_model(words: Tensor) -> None:
    for projections, formula in ((Unprojected(3), Dot), (Independent(3, 1), ScaledDot)):
        score = formula(projections.sizes)
        model = MultiHeadAttention(projections, score, Softmax(), Position(), Complete(), dropout=0.0)
        model.output_projection.weight.copy_(torch.eye(3))
        model.output_projection.bias.zero_()
        if isinstance(projections, Unprojected):
            model.value_projection.weight.copy_(torch.eye(3))
            lesson = simple_attention(words)
        else:
            query, key = projections.query_projection.weight, projections.key_projection.weight
            lesson = one_head(words, query.T, key.T, model.value_projection.weight.T)
        with record_values(model) as values:
            contexts = model(words[None], model.key_values(words[None]))[0]
        (scores,), (weights,) = values["score", "e_j"], values["", "α_j"]
        torch.testing.assert_close((scores[0, 0], weights[0, 0], contexts), tuple(lesson))
