import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.table_model import TableModel, TableState, all_translations, log_probability
from torch import Tensor

from transformer_mt.models.seq2seq import State
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD
from transformer_mt.translation.constraints import FREE, Candidate, Constraint, Phrase, allocate
from transformer_mt.translation.engine import Hypothesis
from transformer_mt.translation.search import beam_search

VOCABULARY = 7  # three tokens of text: 4, 5 and 6
SOURCE = torch.tensor([[4, 5, 6, 4, EOS], [6, EOS, PAD, PAD, PAD], [5, 5, EOS, PAD, PAD]])
EVERYTHING = 109  # all candidates of a step with at most 4 tokens

seeds = st.integers(0, 2**32)
tokens = st.sampled_from([4, 5, 6])
texts = st.lists(tokens, max_size=7).map(tuple)
written = st.lists(tokens, min_size=1, max_size=3).map(tuple)


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    """Phrases whose first spellings begin a word, so that any of them may follow any other."""
    joining = draw(st.frozensets(tokens, max_size=2))
    starts = st.sampled_from(sorted({4, 5, 6} - joining))
    phrases = []
    for _ in range(draw(st.integers(0, 3))):
        usual = (draw(starts), *draw(st.lists(tokens, max_size=2)))
        others = draw(st.lists(written | written.map(lambda own: (BOS, *own)), max_size=2))
        phrases.append(Phrase((usual, *others), draw(st.integers(1, 2))))
    return Constraint(tuple(phrases), joining.__contains__)


def count(phrase: Phrase, text: tuple[int, ...], constraint: Constraint) -> int:
    """The number of places where an occurrence ends."""
    read, number = (BOS, *text), 0
    for end in range(2, len(read) + 1):
        if end == len(read) or not constraint.joins(read[end]):
            number += any(read[:end][-len(own) :] == own for own in phrase.spellings)
    return number


def meets(text: tuple[int, ...], constraint: Constraint) -> bool:
    return all(count(phrase, text, constraint) >= phrase.times for phrase in constraint.phrases)


def is_allowed(text: tuple[int, ...], prefix: tuple[int, ...], constraint: Constraint, limit: int) -> bool:
    """Whether a text meets the constraint, and always had room for what was missing, by its own count."""
    sizes = range(len(prefix), len(text) + 1)
    return meets(text, constraint) and all(size + constraint.start(text[:size]).left < limit for size in sizes)


def table(seed: int) -> TableModel:
    return TableModel(vocabulary=VOCABULARY, seed=seed)


def ranked(model: TableModel, source: Tensor, candidates: list[tuple[int, ...]]) -> list[Hypothesis]:
    scored = []
    for text in candidates:
        total = log_probability(model, source, text)
        scored.append(Hypothesis(text, total, total / ((5 + len(text) + 1) / 6)))
    return sorted(scored, key=lambda one: -one.score)


@given(constraint=constraints(), text=texts)
def test_nothing_is_left_exactly_if_every_phrase_occurs(constraint: Constraint, text: tuple[int, ...]) -> None:
    assert (constraint.start(text).left == 0) == meets(text, constraint)


@given(constraint=constraints(), text=texts)
def test_wanted_tokens_finish_within_the_tokens_left(constraint: Constraint, text: tuple[int, ...]) -> None:
    progress = constraint.start(text)
    for left in range(progress.left, 0, -1):
        assert progress.left <= left
        if progress.left:
            progress = min((progress.add(token) for token in progress.wanted), key=lambda one: one.left)
    assert progress.left == 0


@given(constraint=constraints(), text=texts)
def test_tokens_that_are_not_wanted_never_help(constraint: Constraint, text: tuple[int, ...]) -> None:
    progress = constraint.start(text)
    for token in {4, 5, 6} - progress.wanted:
        assert progress.add(token).left >= progress.left


def test_broken_match_falls_back_to_its_longest_beginning() -> None:
    constraint = Constraint((Phrase(((4, 4, 5),)),), lambda _: False)
    lefts = [constraint.start((4, 4, 4, 5)[:size]).left for size in range(5)]
    assert lefts == [3, 2, 1, 1, 0]


def test_word_that_a_phrase_would_break_is_counted_again() -> None:
    # After 4 5, the 6 of the second phrase would turn the 5 of the first into the middle of a word.
    constraint = Constraint((Phrase(((5,),)), Phrase(((4, 5, 6, 4),))), {6}.__contains__)
    assert [constraint.start((4, 5, 6, 4)[:size]).left for size in range(5)] == [5, 4, 3, 2, 1]


@given(
    seed=seeds,
    own=st.tuples(constraints(), constraints(), constraints()),
    n_best=st.integers(1, 7),
    prefix=st.lists(tokens, max_size=2).map(tuple),
)
def test_wide_beam_finds_the_best_that_meet_the_constraints(
    seed: int, own: tuple[Constraint, ...], n_best: int, prefix: tuple[int, ...]
) -> None:
    model, limit = table(seed), 5
    own = tuple(one if len(prefix) + one.start(prefix).left < limit else FREE for one in own)
    found = beam_search(
        model, SOURCE, beam=EVERYTHING, alpha=1.0, limits=(limit,) * 3, n_best=n_best, prefix=prefix, constraints=own
    )
    for source, constraint, hypotheses in zip(SOURCE, own, found, strict=True):
        possible = [(*prefix, *rest) for rest in all_translations(VOCABULARY, limit - len(prefix))]
        expected = ranked(model, source, [text for text in possible if is_allowed(text, prefix, constraint, limit)])
        assert [one.tokens for one in hypotheses] == [one.tokens for one in expected[:n_best]]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected[:n_best]])


@given(
    seed=seeds,
    own=st.tuples(constraints(), constraints(), constraints()),
    beam=st.integers(1, 5),
    n_best=st.integers(1, 3),
)
def test_narrow_beam_meets_the_constraints_within_the_limit(
    seed: int, own: tuple[Constraint, ...], beam: int, n_best: int
) -> None:
    model, limits = table(seed), [one.start(()).left + more for one, more in zip(own, (1, 2, 5), strict=True)]
    found = beam_search(model, SOURCE, beam=beam, alpha=1.0, limits=limits, n_best=n_best, constraints=own)
    for source, limit, constraint, hypotheses in zip(SOURCE, limits, own, found, strict=True):
        assert hypotheses
        assert len({one.tokens for one in hypotheses}) == len(hypotheses)
        for one in hypotheses:
            assert len(one.tokens) < limit
            assert meets(one.tokens, constraint)
            assert one.log_probability == pytest.approx(log_probability(model, source, one.tokens))


@given(seed=seeds, constraint=constraints(), beam=st.integers(1, 5), n_best=st.integers(1, 3))
def test_sentences_without_phrases_are_translated_as_usual(
    seed: int, constraint: Constraint, beam: int, n_best: int
) -> None:
    limits = (7, constraint.start(()).left + 3, 5)
    usual, mixed = (
        beam_search(table(seed), SOURCE, beam=beam, alpha=0.6, limits=limits, n_best=n_best, constraints=own)
        for own in ((), (FREE, constraint, FREE))
    )
    assert [mixed[0], mixed[2]] == [usual[0], usual[2]]


class Bigrams(TableModel):
    """The probabilities of a token depend on the token before it."""

    def read(self, target: Tensor, state: State) -> tuple[Tensor, TableState]:
        assert isinstance(state, TableState)
        return self.table[target], TableState(state.key, torch.cat((state.tokens, target), dim=1), self.selected)


def test_narrow_beam_puts_a_phrase_before_the_end_of_the_sentence() -> None:
    model = Bigrams(vocabulary=VOCABULARY, seed=1)
    following = {(BOS, 4): 0.9, (BOS, 6): 1e-4, (4, EOS): 0.9, (4, 6): 0.01, (6, 4): 0.9, (6, EOS): 0.1}
    with torch.no_grad():
        model.table[:] = -20.0
        for places, probability in following.items():
            model.table[places] = math.log(probability)

    def best(beam: int) -> tuple[int, ...]:
        constraint = Constraint((Phrase(((6,),)),), lambda _: False)
        [[found]] = beam_search(
            model, SOURCE[:1], beam=beam, alpha=0.0, limits=(9,), n_best=1, constraints=[constraint]
        )
        return found.tokens

    assert best(EVERYTHING) == (4, 6, 4)  # "The dog. hound" is likelier than "The hound."
    assert best(2) == (6, 4)


def candidate(parent: int, left: int, log_probability: float) -> Candidate:
    constraint = Constraint((Phrase(((4,) * left,)),) if left else (), lambda _: False)
    return Candidate(parent, 5, log_probability, constraint.start(()))


def test_beam_is_divided_evenly_and_free_slots_are_passed_on() -> None:
    banks = {2: [-1.0, -2.0, -3.0, -4.0], 0: [-9.0, -8.0, -7.0], 1: [-5.0]}
    candidates = [candidate(0, left, value) for left, values in banks.items() for value in values]

    def chosen(beam: int) -> list[tuple[int, float]]:
        return sorted((one.progress.left, one.log_probability) for one in allocate(candidates, beam))

    assert chosen(1) == [(0, -7.0)]  # the fewest tokens left
    assert chosen(3) == [(0, -7.0), (1, -5.0), (2, -1.0)]
    assert chosen(5) == [(0, -8.0), (0, -7.0), (1, -5.0), (2, -2.0), (2, -1.0)]
    assert len(chosen(99)) == len(candidates)
