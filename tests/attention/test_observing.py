import threading

import pytest
import torch
from support.variants import GRAPH_EXAMPLES
from torch import Tensor, nn

from transformer_mt.attention.build import ATTENTION, build_attention
from transformer_mt.attention.multihead import Attention
from transformer_mt.attention.observing import Attended, Observer, current_observer, observing
from transformer_mt.attention.scores import SCORES
from transformer_mt.config.sections import AttentionConfig


class Notes:
    """Everything an observer was shown."""

    def __init__(self) -> None:
        self.modules: list[nn.Module] = []
        self.weights: list[Tensor] = []

    def __call__(self, module: nn.Module, attended: Attended) -> None:
        self.modules.append(module)
        self.weights.append(attended.weights)


def attention_over(graph: str = "complete", score: str = "scaled_dot", kind: str = "softmax") -> Attention:
    config = AttentionConfig(kind=kind, heads=3, score=score, graph=graph, position="none", dropout=0.0)
    return build_attention(config, width=6).self_attention(causal=False)


def ignore(module: nn.Module, attended: Attended) -> None:
    del module, attended


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("graph", GRAPH_EXAMPLES.values())
def test_the_observer_is_shown_the_module_and_its_weights(score: str, graph: str) -> None:
    notes, attention = Notes(), attention_over(graph, score)
    with observing(notes):
        attention(torch.randn(2, 5, 6), attention.key_values(torch.randn(2, 7, 6)))
    assert notes.modules == [attention]
    assert [weights.shape for weights in notes.weights] == [(2, 3, 5, 7)]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("graph", GRAPH_EXAMPLES.values())
def test_being_watched_changes_nothing(score: str, graph: str) -> None:
    attention, states = attention_over(graph, score), torch.randn(2, 7, 6)
    unwatched = attention(states, attention.key_values(states))
    with observing(ignore):
        watched = attention(states, attention.key_values(states))
    torch.testing.assert_close(watched, unwatched)


@pytest.mark.parametrize("kind", ATTENTION)
def test_every_kind_of_attention_can_be_watched(kind: str) -> None:
    notes, attention, states = Notes(), attention_over(kind=kind), torch.randn(2, 7, 6)
    unwatched = attention(states, attention.key_values(states))
    with observing(notes):
        watched = attention(states, attention.key_values(states))
    torch.testing.assert_close(watched, unwatched)
    assert notes.modules == [attention]
    assert [weights.shape for weights in notes.weights] == [(2, 3, 7, 7)]


def test_nobody_watches_before_and_after() -> None:
    assert current_observer() is None
    with observing(ignore):
        assert current_observer() is ignore
    assert current_observer() is None


def test_an_inner_observer_takes_over_and_hands_back() -> None:
    outer, inner, attention, states = Notes(), Notes(), attention_over(), torch.randn(2, 7, 6)
    key_values = attention.key_values(states)
    with observing(outer):
        attention(states[:, :2], key_values)
        with observing(inner):
            attention(states[:, :3], key_values)
        attention(states[:, :5], key_values)
    assert [weights.shape[2] for weights in outer.weights] == [2, 5]
    assert [weights.shape[2] for weights in inner.weights] == [3]


def test_the_previous_observer_is_restored_after_an_exception() -> None:
    with observing(ignore):
        with pytest.raises(ZeroDivisionError), observing(Notes()):
            raise ZeroDivisionError
        assert current_observer() is ignore
    assert current_observer() is None


def test_an_observer_that_fails_is_removed() -> None:
    def fail(module: nn.Module, attended: Attended) -> None:
        raise ZeroDivisionError

    attention, states = attention_over(), torch.randn(2, 7, 6)
    with pytest.raises(ZeroDivisionError), observing(fail):
        attention(states, attention.key_values(states))
    assert current_observer() is None


def test_another_thread_is_not_watched() -> None:
    seen: list[Observer | None] = []
    with observing(ignore):
        thread = threading.Thread(target=lambda: seen.append(current_observer()))
        thread.start()
        thread.join()
    assert seen == [None]
