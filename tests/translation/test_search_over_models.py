"""The search over every kind of model there is: the cache of a real decoder follows the hypotheses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import pytest
import torch
from support.table_model import all_translations, log_probability
from torch import Tensor, nn

from transformer_mt.config.sections import AttentionConfig, ModelConfig, RecurrentConfig, TransformerConfig
from transformer_mt.models.build_model import MODELS, build_model
from transformer_mt.models.seq2seq import Seq2Seq, State
from transformer_mt.tokenizer.symbols import EOS, PAD
from transformer_mt.translation.search import beam_search, sample

VOCABULARY = 7
SOURCE = torch.tensor([[4, 5, 6, 4, EOS], [6, EOS, PAD, PAD, PAD], [5, 5, EOS, PAD, PAD]])
LIMITS = (7, 13, 9)

pytestmark = pytest.mark.usefixtures("float64")


CONFIGS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(
        width=12,
        encoder_layers=2,
        decoder_layers=2,
        feed_forward_width=20,
        max_length=31,
        attention=AttentionConfig(heads=2),
    ),
    "recurrent": RecurrentConfig(width=12, max_length=31),
}


@dataclass(frozen=True, slots=True)
class SealedState:
    """Offers a search nothing but what the protocol promises."""

    sealed: State

    def select(self, rows: Tensor) -> Self:
        return type(self)(self.sealed.select(rows))


class SealedModel(Seq2Seq):
    """Another model, of whose state a search sees only `select`."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model, self.output, self.max_length = model, model.output, model.max_length

    def attention_stacks(self) -> dict[str, list[nn.Module]]:
        return self.model.attention_stacks()

    def start(self, source: Tensor) -> SealedState:
        return SealedState(self.model.start(source))

    def read(self, target: Tensor, state: State) -> tuple[Tensor, SealedState]:
        assert isinstance(state, SealedState)
        states, following = self.model.read(target, state.sealed)
        return states, SealedState(following)


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """As people search."""
    with torch.no_grad():
        yield


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest, float64: None) -> Seq2Seq:
    config = CONFIGS[request.param]
    model = build_model(config, vocabulary_size=VOCABULARY).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)  # so that what the model prefers depends on what it has read
    return model.requires_grad_(False)


@pytest.mark.parametrize("prefix", [(), (4, 6)])
def test_wide_beam_is_exhaustive(model: Seq2Seq, prefix: tuple[int, ...]) -> None:
    found = beam_search(model, SOURCE, beam=27, alpha=0.6, limits=[4] * len(SOURCE), n_best=5, prefix=prefix)
    endings = all_translations(VOCABULARY, 4 - len(prefix))
    for row, hypotheses in zip(SOURCE, found, strict=True):
        source = row[row != PAD]
        scores = {
            (*prefix, *ending): log_probability(model, source, (*prefix, *ending))
            / ((5 + len(prefix) + len(ending) + 1) / 6) ** 0.6
            for ending in endings
        }
        best = sorted(scores, key=lambda tokens: -scores[tokens])[:5]
        assert [hypothesis.tokens for hypothesis in hypotheses] == best
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([scores[tokens] for tokens in best])


def test_search_reorders_nothing_but_the_state(model: Seq2Seq) -> None:
    expected = beam_search(model, SOURCE, beam=4, alpha=1.0, limits=LIMITS, n_best=4)
    assert beam_search(SealedModel(model), SOURCE, beam=4, alpha=1.0, limits=LIMITS, n_best=4) == expected


def test_samples_agree_with_teacher_forcing(model: Seq2Seq) -> None:
    drawn = sample(
        model,
        SOURCE,
        temperature=1.0,
        top_k=0,
        top_p=0.9,
        alpha=1.0,
        limits=LIMITS,
        num_samples=3,
        generators=[torch.Generator().manual_seed(seed) for seed in (1, 2, 3)],
    )
    for row, hypotheses in zip(SOURCE, drawn, strict=True):
        for hypothesis in hypotheses:
            expected = log_probability(model, row[row != PAD], hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(expected)
