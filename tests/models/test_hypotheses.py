import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.tiny import VOCABULARY, sentences, tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.attention.observing import observing
from transformer_mt.models.hypotheses import Hypotheses, Seating
from transformer_mt.models.transformer import LEAST_PLACES, WIDEST, DecoderState, Transformer

pytestmark = pytest.mark.usefixtures("float64")

CPU = torch.device("cpu")

# Positions and graphs that ask where a key stands, and sums that have no keys: there every hypothesis has its own.
OWN_COPIES = ("=relative", "=rotary", "=alibi", "=linear", "=band", "=strided", "=fixed", "=grid", "=edges")


def started(*overrides: str, lengths: tuple[int, ...] = (5, 3, 2)) -> tuple[Transformer, DecoderState]:
    model = tiny_model(*overrides)
    assert isinstance(model, Transformer)
    return model, model.start(sentences(*lengths))


def step(model: Transformer, state: DecoderState, rows: int) -> DecoderState:
    return model.decode(torch.randint(4, VOCABULARY, (rows, 1)), state)[1]


@given(sentence=st.lists(st.integers(0, 4), min_size=1, max_size=13))
def test_every_hypothesis_sits_in_its_sentences_row_of_the_table(sentence: list[int]) -> None:
    seating = Seating.of(torch.tensor(sentence), 5)
    x = torch.randn(len(sentence), 1, 3)
    table = seating.together(x)
    assert table.shape == (5, max(map(sentence.count, sentence)), 3)
    assert seating.left == len(set(sentence))
    for number in set(sentence):
        own = [row for row, one in enumerate(sentence) if one == number]
        torch.testing.assert_close(table[number, : len(own)], x[own, 0], rtol=0.0, atol=0.0)
    torch.testing.assert_close(seating.apart(table), x, rtol=0.0, atol=0.0)


def test_a_table_without_an_empty_seat_is_the_rows_themselves() -> None:
    x = torch.randn(6, 1, 3)
    seating = Seating.of(torch.tensor([0, 0, 1, 1, 2, 2]), 3)
    assert seating.together(x).data_ptr() == x.data_ptr()
    assert Seating.of(torch.tensor([0, 1, 0, 1]), 2).table is not None


def test_a_token_attends_to_its_path_and_itself() -> None:
    paths = torch.tensor([[True, True, False], [True, False, True], [True, True, False]])
    seating = Seating.of(torch.tensor([0, 0, 1]), 2)
    found = Hypotheses(seating, paths).neighbours
    assert found is not None
    assert found[0].int().tolist() == [[1, 1, 0, 1, 0], [1, 0, 1, 0, 1]]
    assert found[1, 0].int().tolist() == [1, 1, 0, 1, 0]
    extended = Hypotheses(seating, paths).extend()
    assert extended.positions(places=5).tolist() == [[0, 1, 3], [0, 2, 4], [0, 1, 3]]


@pytest.mark.parametrize("variant", [v for v in VARIANTS if RECURRENT not in v], ids=" ".join)
@torch.no_grad()
def test_hypotheses_share_what_was_read_where_its_order_does_not_matter(variant: Variant) -> None:
    model, state = started(*variant)
    rows = torch.tensor([0, 0, 1, 1, 1, 2])
    state = step(model, step(model, state, 3).select(rows), 6)
    owns = any(sign in choice for choice in variant for sign in OWN_COPIES)
    target = state.layers[0].target
    assert target is not None
    assert (target.keys.shape[0], state.layers[0].memory.keys.shape[0]) == ((6, 6) if owns else (3, 3))


@torch.no_grad()
def test_reordering_copies_nothing() -> None:
    model, state = started()
    state = step(model, step(model, state, 3).select(torch.tensor([0, 0, 1, 1, 2, 2])), 6)
    moved = state.select(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert [layer.memory.keys.data_ptr() for layer in moved.layers] == [
        layer.memory.keys.data_ptr() for layer in state.layers
    ]
    assert all(one.target is other.target for one, other in zip(moved.layers, state.layers, strict=True))


@torch.no_grad()
def test_sentences_without_a_hypothesis_leave() -> None:
    model, state = started()
    state = step(model, step(model, state, 3).select(torch.tensor([0, 0, 2])), 3)
    assert [len(layer.memory.keys) for layer in state.layers] == [2, 2]
    assert state.hypotheses.seating.sentence.tolist() == [0, 0, 1]


@torch.no_grad()
def test_places_that_lead_to_no_hypothesis_are_given_up() -> None:
    model, state = started(lengths=(3,))
    state = step(model, state, 1).select(torch.zeros(4, dtype=torch.long))
    for _ in range(3 * LEAST_PLACES):
        state = step(model, state, 4).select(torch.tensor([0, 0, 0, 1]))  # all others die out
    assert state.length == 3 * LEAST_PLACES + 1
    assert state.places < 3 * state.length


@torch.no_grad()
def test_too_many_hypotheses_of_a_sentence_part() -> None:
    model, state = started(lengths=(3,))
    wide = step(model, state, 1).select(torch.zeros(WIDEST, dtype=torch.long))
    assert len(wide.layers[0].memory.keys) == 1
    wider = wide.select(torch.arange(WIDEST + 1) % WIDEST)
    assert len(wider.layers[0].memory.keys) == WIDEST + 1
    assert wider.room is None


@torch.no_grad()
def test_who_watches_sees_every_hypothesis_with_its_own_keys() -> None:
    model, state = started()
    state = step(model, state, 3).select(torch.tensor([0, 0, 1, 2]))
    seen: list[torch.Size] = []
    with observing(lambda module, attended: seen.append(attended.weights.shape)):
        step(model, state, 4)
    assert set(seen) == {(4, 3, 1, 2), (4, 3, 1, 5)}


@torch.no_grad()
def test_a_cache_grows_by_doubling() -> None:
    model, state = started()
    places = set()
    for _ in range(40):
        state = step(model, state, 3)
        target = state.layers[0].target
        assert target is not None
        places.add(target.keys.data_ptr())
    assert len(places) <= 7
