import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.table_model import SOURCE, VOCABULARY, TableModel, all_translations, log_probability, words
from torch import Tensor

from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.translation.beam_tree import ENDED, recording_search
from transformer_mt.translation.search import (
    Hypothesis,
    beam_search,
    length_penalty,
    sample,
)

EVERYTHING = 27  # all live hypotheses of three tokens, with at most 4 tokens allowed

seeds = st.integers(0, 2**32)
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.5])


def table(seed: int, *, scale: float = 1.5) -> TableModel:
    return TableModel(vocabulary=VOCABULARY, seed=seed, scale=scale)


def ranked(model: TableModel, source: Tensor, candidates: list[tuple[int, ...]], alpha: float) -> list[Hypothesis]:
    scored = []
    for tokens in candidates:
        total = log_probability(model, source, tokens)
        scored.append(Hypothesis(tokens, total, total / ((5 + len(tokens) + 1) / 6) ** alpha))
    return sorted(scored, key=lambda hypothesis: -hypothesis.score)


def textbook_beam(model: TableModel, source: Tensor, *, beam: int, alpha: float, max_length: int) -> list[Hypothesis]:
    """Beam search without cache, batches or early stopping."""
    ended: list[tuple[int, ...]] = []
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for length in range(1, max_length + 1):
        candidates = []
        for tokens, total in live:
            following = model(source[None], torch.tensor([[BOS, *tokens]])).log_softmax(dim=-1)[0, -1]
            allowed = [EOS] if length == max_length else [EOS, *words(VOCABULARY)]
            candidates += [((*tokens, token), total + float(following[token])) for token in allowed]
        candidates = sorted(candidates, key=lambda candidate: -candidate[1])[:beam]
        ended += [tokens[:-1] for tokens, _ in candidates if tokens[-1] == EOS]
        live = [candidate for candidate in candidates if candidate[0][-1] != EOS]
    return ranked(model, source, ended, alpha)


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [hypothesis.tokens for hypothesis in found] == [hypothesis.tokens for hypothesis in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-9)
        assert one.score == pytest.approx(other.score, abs=1e-9)


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def drawn_from(model: TableModel, **changes: Any) -> list[list[Hypothesis]]:
    """Draw samples for the sentences; options default to neutral values."""
    neutral = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "alpha": 1.0, "limits": (7, 7, 7), "num_samples": 5}
    return sample(model, **{"source": SOURCE, **neutral, "generators": generators(1, 2, 3), **changes})


@pytest.mark.parametrize(("length", "alpha", "expected"), [(1, 0.7, 1.0), (7, 1.0, 2.0), (7, 0.0, 1.0), (19, 0.5, 2.0)])
def test_length_penalty_matches_wu_et_al(length: int, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(expected)


@given(
    seed=seeds, alpha=alphas, beam=st.integers(1, 6), n_best=st.integers(1, 3), scale=st.sampled_from([0.3, 1.5, 4.0])
)
def test_early_stopping_never_changes_the_result(seed: int, alpha: float, beam: int, n_best: int, scale: float) -> None:
    model = table(seed, scale=scale)
    found = beam_search(model, SOURCE, beam=beam, alpha=alpha, limits=(5, 7, 6), n_best=n_best)
    for source, limit, hypotheses in zip(SOURCE, (5, 7, 6), found, strict=True):
        expected = textbook_beam(model, source, beam=beam, alpha=alpha, max_length=limit)
        same(hypotheses, expected[:n_best])


@given(
    seed=seeds,
    alpha=alphas,
    n_best=st.integers(1, 11),
    prefix=st.lists(st.sampled_from([1, 4, 5, 6]), max_size=3).map(tuple),
)
def test_exhaustive_beam_finds_the_best_with_the_prefix(
    seed: int, alpha: float, n_best: int, prefix: tuple[int, ...]
) -> None:
    model, more = table(seed), (4, 2, 3)
    limits = [len(prefix) + limit for limit in more]
    found = beam_search(model, SOURCE, beam=EVERYTHING, alpha=alpha, limits=limits, n_best=n_best, prefix=prefix)
    for source, limit, hypotheses in zip(SOURCE, more, found, strict=True):
        candidates = [(*prefix, *ending) for ending in all_translations(VOCABULARY, limit)]
        same(hypotheses, ranked(model, source, candidates, alpha)[:n_best])


def test_finished_sentences_leave_the_decoder() -> None:
    model = table(5)
    (first,), (second,), (third,) = beam_search(
        model, SOURCE, beam=1, alpha=1.0, limits=(31, 31, 31), n_best=1, prefix=(4,)
    )
    lengths = [len(best.tokens) for best in (first, second, third)]
    assert len(set(lengths)) > 1
    assert model.decoded[0] == (3, 2)
    steps = range(2, max(lengths) + 1)
    assert model.decoded[1:] == [(sum(length >= step for length in lengths), 1) for step in steps]


@given(seed=seeds, alpha=alphas, beam=st.integers(1, 5), n_best=st.integers(1, 3))
def test_hypotheses_that_cannot_win_leave_the_decoder(seed: int, alpha: float, beam: int, n_best: int) -> None:
    limits = (5, 19, 9)
    with recording_search() as steps:
        beam_search(table(seed), SOURCE, beam=beam, alpha=alpha, limits=limits, n_best=n_best)
    scores: list[list[float]] = [[] for _ in limits]
    for step in steps:
        for kept in step:
            scores[kept.origin] += [kept.score] * (kept.end == ENDED)
        for kept in step:
            to_beat = sorted(scores[kept.origin], reverse=True)[n_best - 1 : n_best] or [-math.inf]
            best_possible = kept.log_probability / length_penalty(limits[kept.origin], alpha)
            assert (kept.end is None) == (kept.end != ENDED and best_possible > to_beat[0])


def test_search_is_exact_in_float32_under_autocast() -> None:
    class Coarse(TableModel):
        def decode(self, target, state):  # type: ignore[no-untyped-def]
            logits, state = super().decode(target, state)
            return logits.bfloat16(), state

    model = Coarse(vocabulary=VOCABULARY, seed=3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = beam_search(model, SOURCE, beam=3, alpha=1.0, limits=(7, 7, 7), n_best=3)
    exact = table(3)
    exact.table = exact.table.bfloat16().double()
    for source, hypotheses in zip(SOURCE, found, strict=True):
        for hypothesis in hypotheses:
            total = log_probability(exact, source, hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)


def process_probabilities(
    model: TableModel, source: Tensor, *, max_length: int, temperature: float, kept: int
) -> dict[tuple[int, ...], float]:
    """The probability of every translation under token-by-token sampling, by enumeration."""
    probabilities = {}
    for tokens in all_translations(VOCABULARY, max_length):
        logits = model(source[None], torch.tensor([[BOS, *tokens]]))[0]
        probability = 1.0
        for length, token in enumerate([*tokens, EOS], start=1):
            allowed = [EOS] if length == max_length else [EOS, *words(VOCABULARY)]
            allowed = sorted(allowed, key=lambda choice: -float(logits[length - 1, choice]))[:kept]
            weights = {choice: math.exp(float(logits[length - 1, choice]) / temperature) for choice in allowed}
            probability *= weights.get(token, 0.0) / sum(weights.values())
        probabilities[tokens] = probability
    return probabilities


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, 0), (0.5, 0), (2.0, 2)])
def test_sample_frequencies_match_probabilities(temperature: float, top_k: int) -> None:
    model, num_samples = table(7), 4000
    drawn = drawn_from(model, temperature=temperature, top_k=top_k, limits=(3, 2, 3), num_samples=num_samples)
    for source, limit, hypotheses in zip(SOURCE, (3, 2, 3), drawn, strict=True):
        tokens = [hypothesis.tokens for hypothesis in hypotheses]
        expected = process_probabilities(
            model, source, max_length=limit, temperature=temperature, kept=top_k or VOCABULARY
        )
        assert set(tokens) <= {choice for choice, probability in expected.items() if probability > 0}
        chi_square = sum(
            (tokens.count(choice) - num_samples * probability) ** 2 / (num_samples * probability)
            for choice, probability in expected.items()
            if probability > 0
        )
        assert chi_square < 45  # p = 1e-5 with twelve degrees of freedom


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "expected"),
    [
        # After top_k = 2, the first token has 4/7 and reaches 0.5; before, it had 0.4 and did not.
        (1.0, 2, 0.5, {4}),
        # With temperature, probabilities are 0.33, 0.28, 0.23 and 0.16: 0.65 takes three tokens; without, two.
        (2.0, 0, 0.65, {4, 5, 6}),
    ],
)
def test_temperature_then_top_k_then_top_p_are_applied(
    temperature: float, top_k: int, top_p: float, expected: set[int]
) -> None:
    model = table(1)
    model.table[:, [4, 5, 6, EOS]] = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64).log()
    drawn = drawn_from(model, temperature=temperature, top_k=top_k, top_p=top_p, limits=(2, 2, 2), num_samples=101)
    for hypotheses in drawn:
        assert {hypothesis.tokens for hypothesis in hypotheses} == {(token,) for token in expected}


def test_samples_have_the_models_own_log_probability() -> None:
    model = table(7)
    drawn = drawn_from(model, temperature=3.0, top_k=2, top_p=0.9, alpha=0.6, prefix=(5, 6))
    for source, hypotheses in zip(SOURCE, drawn, strict=True):
        assert len(hypotheses) == 5
        for hypothesis in hypotheses:
            length = len(hypothesis.tokens) + 1
            assert hypothesis.tokens[:2] == (5, 6)
            assert length <= 7
            assert hypothesis.log_probability == pytest.approx(log_probability(model, source, hypothesis.tokens))
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / ((5 + length) / 6) ** 0.6)


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), [(1.0, 1, 1.0), (1e-320, 0, 1.0), (1.0, 0, 1e-9)])
def test_sampling_without_freedom_is_greedy(temperature: float, top_k: int, top_p: float) -> None:
    model, limits = table(11), (11, 4, 2)
    drawn = drawn_from(model, temperature=temperature, top_k=top_k, top_p=top_p, limits=limits, num_samples=2)
    greedy = beam_search(model, SOURCE, beam=1, alpha=1.0, limits=limits, n_best=1)
    assert [[one.tokens for one in hypotheses] for hypotheses in drawn] == [[best.tokens] * 2 for (best,) in greedy]


def test_sampling_depends_only_on_the_sentence_and_its_generator() -> None:
    model = table(13)

    def third(seed: int, num_samples: int = 5) -> list[Hypothesis]:
        alone = {"source": SOURCE[[2]], "limits": (7,), "generators": generators(seed)}
        return drawn_from(model, **alone, num_samples=num_samples)[0]

    together = drawn_from(model, limits=(11, 4, 7))
    assert together == drawn_from(model, limits=(11, 4, 7))
    assert together[2] == third(seed=3)
    assert together[2][:2] == third(seed=3, num_samples=2)
    assert together[2] != third(seed=4)
