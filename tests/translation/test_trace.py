import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.table_model import TableModel, log_probability

from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.translation.beam_tree import BEATEN, DROPPED, ENDED, BeamTrace, beam_trace, recording_search
from transformer_mt.translation.search import Hypothesis, beam_search, length_penalty

SOURCE = torch.tensor([[4, 5, 6, 4, EOS]])
seeds = st.integers(0, 2**32)


def as_text(ids: list[int]) -> list[str]:
    return [str(index) for index in ids]


def traced(
    seed: int, *, beam: int = 3, max_length: int = 7, n_best: int = 1, prefix: tuple[int, ...] = ()
) -> tuple[BeamTrace, list[Hypothesis]]:
    """The trace and the result of a search; tokens are ids as text."""
    with recording_search() as steps:
        (found,) = beam_search(
            TableModel(vocabulary=7, seed=seed),
            SOURCE,
            beam=beam,
            alpha=1.0,
            limits=[max_length] * len(SOURCE),
            n_best=n_best,
            prefix=prefix,
        )
    trace = beam_trace(steps, as_text)
    assert trace is not None
    return trace, found


def path(trace: BeamTrace, number: int) -> list[int]:
    """The nodes from the root to this one."""
    parent = trace.nodes[number].parent
    return [*(path(trace, parent) if parent is not None else []), number]


def written(trace: BeamTrace, number: int) -> tuple[int, ...]:
    """The tokens of the hypothesis that a node ends."""
    return tuple(int(piece) for piece in [*trace.prefix, *(trace.nodes[node].token for node in path(trace, number))])


@given(seed=seeds, beam=st.integers(1, 5), prefix=st.sampled_from([(), (4,), (5, 6)]))
def test_best_leaf_is_the_translation(seed: int, beam: int, prefix: tuple[int, ...]) -> None:
    trace, (best,) = traced(seed, beam=beam, prefix=prefix)
    assert written(trace, trace.best) == (*best.tokens, EOS)
    assert trace.nodes[trace.best].score == pytest.approx(best.score)
    assert trace.nodes[trace.best].log_probability == pytest.approx(best.log_probability)


@given(seed=seeds, beam=st.integers(1, 5))
def test_steps_match_the_beam_width_and_the_models_numbers(seed: int, beam: int) -> None:
    trace, _ = traced(seed, beam=beam)
    model = TableModel(vocabulary=7, seed=seed)
    children = trace.children()
    for step in {node.step for node in trace.nodes}:
        assert 1 <= sum(node.step == step for node in trace.nodes) <= beam
    for number, node in enumerate(trace.nodes):
        assert len(path(trace, number)) == node.step
        assert (number in children) == (node.end is None)
        tokens = written(trace, number)
        assert node.score == pytest.approx(node.log_probability / length_penalty(len(tokens), 1.0))
        if node.end == ENDED:
            assert tokens[-1] == EOS
            assert node.log_probability == pytest.approx(log_probability(model, SOURCE[0], tokens[:-1]))


def test_dropped_and_beaten_branches_are_distinguished() -> None:
    for seed in range(9):
        trace, (best,) = traced(seed)
        last = max(node.step for node in trace.nodes)
        for node in trace.nodes:
            if node.end == BEATEN:  # even ending at once, with the best possible score, it would not win
                assert node.log_probability / length_penalty(7, 1.0) <= best.score
            if node.end == DROPPED:  # the beam continued without it
                assert node.step < last


def test_recording_changes_nothing() -> None:
    with recording_search() as steps:
        pass
    model = TableModel(vocabulary=7, seed=3)
    outside = beam_search(model, SOURCE, beam=3, alpha=1.0, limits=[7] * len(SOURCE), n_best=1)
    assert beam_trace(steps, as_text) is None
    assert [traced(3)[1]] == outside


def test_empty_steps_are_skipped() -> None:
    with recording_search() as steps:
        beam_search(TableModel(vocabulary=7, seed=1), SOURCE, beam=2, alpha=1.0, limits=[7], n_best=1)
    assert beam_trace([*steps, []], as_text) == beam_trace(steps, as_text)
    assert beam_trace([[]], as_text) is None
