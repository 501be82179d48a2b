import doctest
import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from transformer_mt.attention.graphs import Complete
from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.normalisers import Softmax
from transformer_mt.attention.positions import Position
from transformer_mt.attention.projections import Independent, Unprojected
from transformer_mt.attention.scores import Dot, ScaledDot
from transformer_mt.attention.worked_example import Attended, one_head, simple_attention

README = Path(__file__).parents[2] / "configs" / "laboratory" / "README.md"

HELLO, SHINY, SUN = (0.34, 0.22, 0.54), (0.53, 0.34, 0.98), (0.29, 0.54, 0.93)

Vectors = list[list[float]]


def by_hand(queries: Vectors, keys: Vectors, values: Vectors, scale: float) -> tuple[Vectors, Vectors, Vectors]:
    """Scores, weights and contexts in plain Python."""
    scores = [[scale * sum(q * k for q, k in zip(query, key, strict=True)) for key in keys] for query in queries]
    weights = [[math.exp(score) / sum(map(math.exp, row)) for score in row] for row in scores]
    contexts = [
        [sum(w * v[c] for w, v in zip(row, values, strict=True)) for c in range(len(values[0]))] for row in weights
    ]
    return scores, weights, contexts


def assert_same(found: Attended, expected: tuple[Vectors, Vectors, Vectors]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, torch.tensor(theirs, dtype=torch.float64), rtol=0.0, atol=1e-12)


def projected(x: Tensor, matrix: Tensor) -> Vectors:
    return [
        [sum(a * w for a, w in zip(row, column, strict=True)) for column in matrix.T.tolist()] for row in x.tolist()
    ]


@pytest.fixture
def words() -> Tensor:
    return torch.tensor([HELLO, SHINY, SUN], dtype=torch.float64)


def test_simple_attention_is_the_sum_done_by_hand(words: Tensor) -> None:
    assert_same(simple_attention(words), by_hand(words.tolist(), words.tolist(), words.tolist(), 1.0))


def test_one_head_is_the_sum_done_by_hand(words: Tensor) -> None:
    query, key, value = torch.randn(3, 3, 2, dtype=torch.float64)
    expected = by_hand(projected(words, query), projected(words, key), projected(words, value), 1 / math.sqrt(2))
    assert_same(one_head(words, query, key, value), expected)


@pytest.mark.usefixtures("float64")
def test_the_lesson_computes_what_the_model_does(words: Tensor) -> None:
    for projections, formula in ((Unprojected(3), Dot), (Independent(3, 1), ScaledDot)):
        score = formula(projections.sizes)
        model = MultiHeadAttention(projections, score, Softmax(), Position(), Complete(), dropout=0.0)
        with torch.no_grad():
            model.output_projection.weight.copy_(torch.eye(3))
            model.output_projection.bias.zero_()
            if isinstance(projections, Unprojected):
                model.value_projection.weight.copy_(torch.eye(3))
                lesson = simple_attention(words)
            else:
                query, key = projections.query_projection.weight, projections.key_projection.weight
                lesson = one_head(words, query.T, key.T, model.value_projection.weight.T)
        torch.testing.assert_close(model(words[None], model.key_values(words[None]))[0], lesson.contexts)


def test_the_first_lesson_prints_what_it_says() -> None:
    found = re.search(r"first lesson.*?^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert found, "the README has no ```python block after the words “first lesson”"
    lesson = doctest.DocTestParser().get_doctest(found[1], {}, "the first lesson", str(README), 0)
    assert len(lesson.examples) >= 5
    printed: list[str] = []
    failed, _ = doctest.DocTestRunner().run(lesson, out=printed.append)
    assert not failed, "".join(printed)
