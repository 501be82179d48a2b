"""Search with every kind of model: the decoder's cache follows the hypotheses."""

from collections.abc import Iterator
from itertools import chain

import pytest
import torch
from support.table_model import SOURCE, VOCABULARY, log_probability
from support.tiny import varied_model

from transformer_mt.models.build_model import MODELS
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.translation.search import beam_search, sample

LIMITS = (7, 13, 9)

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """Search runs without gradients."""
    with torch.no_grad():
        yield


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest, float64: None) -> Seq2Seq:
    return varied_model(f"model.kind={request.param}", vocabulary=VOCABULARY)


def test_hypotheses_have_the_probability_of_teacher_forcing(model: Seq2Seq) -> None:
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2, 3)]
    options = {"temperature": 1.0, "top_k": 0, "top_p": 0.9, "num_samples": 3, "generators": generators}
    drawn = sample(model, SOURCE, alpha=1.0, limits=LIMITS, **options)
    found = beam_search(model, SOURCE, beam=5, alpha=0.6, limits=LIMITS, n_best=5, prefix=(4, 6))
    for row, *hypotheses in zip(SOURCE, drawn, found, strict=True):
        for hypothesis in chain(*hypotheses):
            expected = log_probability(model, row[row != PAD], hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(expected)
