import math
from collections.abc import Callable

import pytest
import torch
from support.tiny import VOCABULARY, padding, sentences, targets, tiny_config, tiny_model
from support.variants import RECURRENT
from torch import Tensor, nn

from transformer_mt.ground.errors import InputError
from transformer_mt.models.build_model import RECURRENT_SCORES, build_recurrent
from transformer_mt.models.recurrent import Cell, Encoder, RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Memory

pytestmark = pytest.mark.usefixtures("float64")

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}
D = 6

every_score = pytest.mark.parametrize("score", RECURRENT_SCORES)


def recurrent(*overrides: str) -> RecurrentSeq2Seq:
    """A tiny model whose biases are not zero, in evaluation mode."""
    model = build_recurrent(tiny_config(RECURRENT, *overrides), VOCABULARY).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.5)
    return model


def memory_of(*lengths: int) -> Memory:
    """Random states, zero at padding."""
    mask = padding(*lengths, columns=max(lengths))
    return Memory(torch.randn(len(lengths), max(lengths), D) * mask[:, :, None], mask)


# The encoder


def test_the_encoder_is_the_bidirectional_gru_of_torch() -> None:
    ours = Encoder(width=D, layers=2, dropout=0.0)
    theirs = nn.GRU(D, D // 2, num_layers=2, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for layer, own in enumerate(ours.layers):
            for name, parameter in own.named_parameters():
                theirs.get_parameter(name.replace("l0", f"l{layer}")).copy_(parameter)
    x = torch.randn(3, 5, D)
    torch.testing.assert_close(ours(x, torch.tensor([5, 5, 5])), theirs(x)[0], **TOLERANCE)


def test_dropout_acts_between_the_layers_of_encoder_and_decoder() -> None:
    model = build_recurrent(tiny_config(RECURRENT, "model.dropout=0.5"), VOCABULARY).train()
    x, lengths = torch.randn(2, 5, D), torch.tensor([5, 3])
    assert not torch.equal(model.encoder(x, lengths), model.encoder(x, lengths))
    start = model.decoder.start(memory_of(5, 3))
    first, second = model.decoder(x, start), model.decoder(x, start)
    assert not torch.equal(first[0], second[0])
    gates = torch.randn(2, 3 * D)
    (low, high), (same, other) = (model.decoder.step(start.layers, gates) for _ in range(2))
    assert torch.equal(low, same)
    assert not torch.equal(high, other)


def test_states_of_padding_only_are_zeros() -> None:
    memory = recurrent().encode(sentences(5, 0))
    assert memory.states[0].all()
    assert not memory.states[1].any()


# e(s, h) of a recurrent decoder, for scores without their own projections.
FORMULAS: dict[str, Callable[[nn.Module, Tensor, Tensor], Tensor]] = {
    "dot": lambda score, s, h: h @ s,
    "scaled_dot": lambda score, s, h: h @ s / math.sqrt(D),
    "cosine": lambda score, s, h: score.temperature[0] * nn.functional.cosine_similarity(s, h, dim=-1),
    "euclidean": lambda score, s, h: -(s - h).square().sum(dim=-1) / (2 * math.sqrt(D)),
}


@pytest.mark.parametrize("score", FORMULAS)
def test_the_context_follows_the_formula(score: str) -> None:
    reader, memory, states = recurrent(f"model.score={score}").decoder.reader, memory_of(5, 3), torch.randn(2, D)
    contexts = reader(states[:, None], reader.key_values(memory))[:, 0]
    for row, length in enumerate((5, 3)):
        h = memory.states[row, :length]
        expected = FORMULAS[score](reader.score, states[row], h).softmax(dim=-1) @ h
        torch.testing.assert_close(contexts[row], expected, **TOLERANCE)


def test_the_decoder_without_attention_reads_only_the_final_states() -> None:
    model, memory = recurrent("model.score=none"), memory_of(5, 3)
    reader = model.decoder.reader
    for row, last in enumerate((4, 2)):
        expected = torch.cat((memory.states[row, last, : D // 2], memory.states[row, 0, D // 2 :]))
        contexts = reader(torch.randn(2, 3, D), reader.key_values(memory))
        torch.testing.assert_close(contexts[row], expected.expand(3, D), **TOLERANCE)
    assert model.attention_stacks() == {}


# The decoder


def gru_cell(ours: Cell, inputs: Tensor, weight: Tensor) -> nn.GRUCell:
    """torch's cell with the weights of a tmt cell and this input matrix."""
    theirs = nn.GRUCell(inputs.shape[-1], D)
    with torch.no_grad():
        theirs.weight_ih.copy_(weight)
        theirs.weight_hh.copy_(ours.state_gates.weight)
        theirs.bias_ih.copy_(ours.input_gates.bias)
        theirs.bias_hh.copy_(ours.state_gates.bias)
    return theirs


@every_score
def test_the_decoder_equals_the_cells_of_torch_step_by_step(score: str) -> None:
    model, memory, target = recurrent(f"model.score={score}"), memory_of(5, 3), targets(7, 7)
    decoder, (low, high) = model.decoder, model.decoder.cells
    with torch.no_grad():
        logits, state = model.decode(target, decoder.start(memory))
        start = decoder.start_projection(memory.states[:, 0, D // 2 :]).tanh()
        below, above = start[:, :D], start[:, D:]
        for t in range(7):
            context = decoder.reader(above[:, None], decoder.reader.key_values(memory))[:, 0]
            embedded = math.sqrt(D) * model.target_embedding.table.weight[target[:, t]]
            inputs = torch.cat((embedded, context), dim=1)
            weight = torch.cat((low.input_gates.weight, decoder.context_gates.weight), dim=1)
            below = gru_cell(low, inputs, weight)(inputs, below)
            above = gru_cell(high, below, high.input_gates.weight)(below, above)
            units = model.readout.projection(torch.cat((above, context, embedded), dim=1))
            maxima = torch.maximum(units[:, 0::2], units[:, 1::2])
            torch.testing.assert_close(logits[:, t], model.output(maxima), **TOLERANCE)
    torch.testing.assert_close(state.layers, (below, above), **TOLERANCE)


def test_an_odd_width_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InputError, match=r"^model\.width: 7 is odd, and the encoder halves it; set it to 8"):
        tiny_model(RECURRENT, "model.width=7")
