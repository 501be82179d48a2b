"""What the log-probabilities of a target lose when a part of the pair is taken out."""

import pytest
import torch
from support.pairs import pair_tokens
from support.tiny import VOCABULARY, tiny_model, varied_model

from transformer_mt.inspection import erasure
from transformer_mt.inspection.erasure import Part, erase
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import BOS, EOS

pytestmark = pytest.mark.usefixtures("float64")

SOURCE, TARGET = [5, 7, 11, 6, 9], [8, 4, 10]
PAIR = pair_tokens(SOURCE, TARGET)
NOTHING: Part = frozenset()


def log_p(model: Seq2Seq, source: list[int], read: list[int], token: int) -> float:
    """ln p of the token after what was read."""
    with torch.no_grad():
        return float(model(torch.tensor([source]), torch.tensor([read]))[0, -1].log_softmax(dim=-1)[token])


def without(ids: list[int], part: Part) -> list[int]:
    return [token for place, token in enumerate(ids) if place not in part]


@pytest.mark.parametrize(
    "variant", ["model.attention.position=relative(2)", "model.attention.kind=linear", "model.kind=recurrent"]
)
def test_it_is_the_fall_against_a_source_without_the_part(variant: str) -> None:
    model = varied_model(variant, vocabulary=VOCABULARY)
    source, read, written = [*SOURCE, EOS], [BOS, *TARGET], [*TARGET, EOS]
    parts = [frozenset({0}), frozenset({1, 2}), frozenset({5}), frozenset({0, 3, 4})]
    found = erase(model, PAIR, parts, stack="cross")
    for row, token in enumerate(written):
        for column, part in enumerate(parts):
            left = log_p(model, without(source, part), read[: row + 1], token)
            assert float(found[row, column]) == pytest.approx(log_p(model, source, read[: row + 1], token) - left)
    assert found.abs().max() > 1e-3


@pytest.mark.parametrize(
    "variant", ["model.attention.position=relative(2)", "model.attention.kind=linear", "model.kind=recurrent"]
)
def test_of_the_target_it_is_the_fall_against_what_is_read_without_the_part(variant: str) -> None:
    model = varied_model(variant, vocabulary=VOCABULARY)
    source, read, written = [*SOURCE, EOS], [BOS, *TARGET], [*TARGET, EOS]
    parts = [frozenset({1}), frozenset({3}), frozenset({1, 2})]
    found = erase(model, PAIR, parts, stack="decoder")
    for row, token in enumerate(written):
        for column, part in enumerate(parts):
            left = log_p(model, source, without(read[: row + 1], part), token)
            assert float(found[row, column]) == pytest.approx(log_p(model, source, read[: row + 1], token) - left)
    assert not found[0].any()
    assert found[3].abs().min() > 1e-3


def test_the_start_of_a_target_and_nothing_at_all_change_nothing() -> None:
    model = tiny_model()
    assert not erase(model, PAIR, [frozenset({0})], stack="decoder").any()
    assert not erase(model, PAIR, [NOTHING], stack="cross").any()


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_a_source_of_which_nothing_is_left_gives_numbers(kind: str) -> None:
    alone = pair_tokens([], TARGET)
    assert erase(tiny_model(f"model.kind={kind}"), alone, [frozenset({0})], stack="cross").isfinite().all()


def test_the_parts_of_a_sentence_go_through_the_model_together_and_long_ones_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, sizes = tiny_model(), []
    model.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0])))
    parts = [frozenset({place}) for place in range(5)]
    whole = erase(model, PAIR, parts, stack="cross")
    assert sizes == [1, 5]
    monkeypatch.setattr(erasure, "BATCH_TOKENS", 13)
    torch.testing.assert_close(erase(model, PAIR, parts, stack="cross"), whole)
    assert sizes[2:] == [1, 2, 2, 1]
