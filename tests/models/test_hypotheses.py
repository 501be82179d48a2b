import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.tiny import VOCABULARY, sentences, targets, tiny_model
from support.variants import RECURRENT, VARIANTS, Variant

from transformer_mt.attention.observing import observing
from transformer_mt.models.hypotheses import Hypotheses, Seating
from transformer_mt.models.seq2seq import State
from transformer_mt.models.stepping import LEAST_PLACES, WIDEST, DecoderState, SharedState
from transformer_mt.models.transformer import Transformer

pytestmark = pytest.mark.usefixtures("float64")

CPU = torch.device("cpu")

# Positions and graphs that ask where a key stands, and sums that have no keys: there every hypothesis has its own.
OWN_COPIES = ("=relative", "=rotary", "=alibi", "=linear", "=band", "=strided", "=fixed", "=grid", "=edges")


def started(*overrides: str, lengths: tuple[int, ...] = (5, 3, 2)) -> tuple[Transformer, DecoderState]:
    model = tiny_model(*overrides)
    assert isinstance(model, Transformer)
    return model, model.start(sentences(*lengths))


def step(model: Transformer, state: State, rows: int) -> State:
    return model.decode(torch.randint(4, VOCABULARY, (rows, 1)), state)[1]


def shared_step(model: Transformer, state: State, rows: int) -> SharedState:
    following = step(model, state, rows)
    assert isinstance(following, SharedState)
    return following


@given(sentence=st.lists(st.integers(0, 4), min_size=1, max_size=13))
def test_every_hypothesis_sits_in_its_sentences_row_of_the_table(sentence: list[int]) -> None:
    seating = Seating.of(torch.tensor(sentence), 5)
    x = torch.randn(len(sentence), 3)
    table = seating.together(x)
    assert table.shape == (5, max(map(sentence.count, sentence)), 3)
    assert seating.left == len(set(sentence))
    for number in set(sentence):
        own = [row for row, one in enumerate(sentence) if one == number]
        torch.testing.assert_close(table[number, : len(own)], x[own], rtol=0.0, atol=0.0)
    torch.testing.assert_close(seating.apart(table), x, rtol=0.0, atol=0.0)


def test_a_table_without_an_empty_seat_is_the_rows_themselves() -> None:
    x = torch.randn(6, 3)
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
    assert isinstance(state, DecoderState if owns else SharedState)
    if isinstance(state, SharedState):
        assert (len(state.kept.target[0].keys), len(state.source[0].keys)) == (3, 3)


@torch.no_grad()
def test_reordering_copies_nothing() -> None:
    model, state = started()
    state = shared_step(model, step(model, state, 3).select(torch.tensor([0, 0, 1, 1, 2, 2])), 6)
    moved = state.select(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert isinstance(moved, SharedState)
    assert moved.kept is state.kept
    assert moved.source is state.source


@torch.no_grad()
def test_sentences_without_a_hypothesis_leave() -> None:
    model, state = started()
    state = shared_step(model, step(model, state, 3).select(torch.tensor([0, 0, 2])), 3)
    assert [len(kept.keys) for kept in (*state.source, *state.kept.target)] == [2, 2, 2, 2]
    assert state.hypotheses.seating.sentence.tolist() == [0, 0, 1]


@torch.no_grad()
def test_places_that_lead_to_no_hypothesis_are_given_up() -> None:
    model, state = started(lengths=(3,))
    state = step(model, state, 1).select(torch.zeros(4, dtype=torch.long))
    for _ in range(3 * LEAST_PLACES):
        state = shared_step(model, state, 4).select(torch.tensor([0, 0, 0, 1]))  # all others die out
    assert isinstance(state, SharedState)
    assert state.length == 3 * LEAST_PLACES + 1
    assert state.places < 3 * state.length


@torch.no_grad()
def test_too_many_hypotheses_of_a_sentence_part() -> None:
    model, state = started(lengths=(3,))
    wide = step(model, state, 1).select(torch.zeros(WIDEST, dtype=torch.long))
    assert isinstance(wide, SharedState)
    assert len(wide.source[0].keys) == 1
    wider = wide.select(torch.arange(WIDEST + 1) % WIDEST)
    assert isinstance(wider, DecoderState)
    assert len(wider.layers[0].memory.keys) == WIDEST + 1


@torch.no_grad()
def test_who_watches_sees_every_hypothesis_with_its_own_keys() -> None:
    model, state = started()
    state = step(model, state, 3).select(torch.tensor([0, 0, 1, 2]))
    seen: list[torch.Size] = []
    with observing(lambda module, attended: seen.append(attended.weights.shape)):
        watched = step(model, state, 4)
    assert set(seen) == {(4, 3, 1, 2), (4, 3, 1, 5)}
    assert isinstance(watched, DecoderState)


def test_training_and_gradients_go_through_the_layers() -> None:
    model, state = started()
    assert isinstance(step(model, state, 3), DecoderState)
    with torch.no_grad():
        assert isinstance(step(model.train(), model.start(sentences(5, 3)), 2), DecoderState)
        state = model.eval().start(sentences(5, 3))
    assert isinstance(step(model, state, 2), DecoderState)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if RECURRENT not in v], ids=" ".join)
@torch.no_grad()
def test_a_step_in_half_precision_stays_close(variant: Variant) -> None:
    model, target = tiny_model(*variant).float(), targets(2, 2)
    target[:], source = target[0], sentences(5, 3)
    expected = model(source, target)[:, 1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, state = model.decode(target[:, :1], model.start(source))
        logits, _ = model.decode(target[[0, 0, 0], 1:], state.select(torch.tensor([1, 0, 1])))
    close = 0.1 * max(1.0, expected.std().item())
    torch.testing.assert_close(logits[:, 0].float(), expected[[1, 0, 1]], rtol=0.0, atol=close)


@pytest.mark.parametrize("sharing", ["independent", "collaborative(5)"])
@torch.no_grad()
def test_keys_are_turned_in_memory_where_several_queries_meet_them(sharing: str) -> None:
    model, state = started(f"model.attention.sharing={sharing}")
    state = shared_step(model, state, 3)
    assert [kept.turned for kept in state.kept.target] == [sharing != "independent"] * 2
    alone = shared_step(model, state.select(torch.tensor([0, 2])), 2)
    assert alone.kept.target[0].turned == (sharing != "independent")
    several = shared_step(model, state.select(torch.tensor([0, 0, 1, 2])), 4)
    assert all(kept.turned for kept in (*several.kept.target, *several.source))
    left = several.select(torch.tensor([1]))
    assert isinstance(left, SharedState)
    assert left.kept.target[0].turned  # as they were


@torch.no_grad()
def test_a_swept_state_has_memory_for_the_next_steps() -> None:
    model, state = started()
    swept = shared_step(model, state, 3).select(torch.tensor([0, 2]))
    assert isinstance(swept, SharedState)
    assert len(swept.mask) == 2
    following = shared_step(model, swept, 2)
    assert following.kept.target[0].values.data_ptr() == swept.kept.target[0].values.data_ptr()


@torch.no_grad()
def test_memory_for_places_grows_by_doubling() -> None:
    model, state = started()
    memories = []
    for _ in range(3 * LEAST_PLACES):
        state = shared_step(model, state, 3)
        if state.kept not in memories:
            memories.append(state.kept)
    assert len(memories) <= 4
