import math

import pytest
import torch
from support.tiny import VOCABULARY, sentences, targets, tiny_config
from torch import Tensor, nn

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.models.build_model import build_transformer
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import PAD

pytestmark = pytest.mark.usefixtures("float64")

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}

# Each parameter of torch, and the parameters of tmt that it stacks.
Pairs = list[tuple[Tensor, list[Tensor]]]


def transformer(*overrides: str, vocabulary: int = VOCABULARY) -> Transformer:
    return build_transformer(tiny_config(*overrides), vocabulary)


class Reference(nn.Module):
    """`torch.nn.Transformer` with embeddings, sinusoids and an output layer added."""

    def __init__(self, *, residual: str, activation: str) -> None:
        super().__init__()
        pre_norm = residual == "pre_norm"
        sizes = {"d_model": 6, "nhead": 3, "dim_feedforward": 11, "dropout": 0.0, "batch_first": True}
        sizes |= {"norm_first": pre_norm, "activation": activation}
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**sizes), 2, nn.LayerNorm(6) if pre_norm else None, enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), 2, nn.LayerNorm(6) if pre_norm else None)
        self.stacks = nn.Transformer(**sizes, custom_encoder=encoder, custom_decoder=decoder)
        self.source_table = nn.Parameter(torch.empty(VOCABULARY, 6))
        self.target_table = nn.Parameter(torch.empty(VOCABULARY, 6))
        self.output = nn.Linear(6, VOCABULARY)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden = self.stacks(
            self.embed(self.source_table, source),
            self.embed(self.target_table, target),
            tgt_mask=torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        logits: Tensor = self.output(hidden)
        return logits

    @staticmethod
    def embed(table: Tensor, tokens: Tensor) -> Tensor:
        angles = [[i / 10_000 ** (c // 2 * 2 / 6) for c in range(6)] for i in range(tokens.shape[1])]
        waves = [[math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(row)] for row in angles]
        return math.sqrt(6) * table[tokens] + torch.tensor(waves)


def attention_pairs(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> Pairs:
    projections = ours.projections
    stacked = [projections.query_projection.weight, projections.key_projection.weight, ours.value_projection.weight]
    return [(theirs.in_proj_weight, stacked), *pairs(theirs.out_proj, ours.output_projection)]


def pairs(theirs: nn.Module, ours: nn.Module) -> Pairs:
    """The pairs of two modules of the same kind."""
    return [(theirs.get_parameter(name), [parameter]) for name, parameter in ours.named_parameters()]


def all_pairs(theirs: Reference, ours: Transformer) -> Pairs:
    found = [
        (theirs.source_table, [ours.source_embedding.table.weight]),
        (theirs.target_table, [ours.target_embedding.table.weight]),
        *pairs(theirs.output, ours.output),
    ]
    if theirs.stacks.encoder.norm is not None:
        found += pairs(theirs.stacks.encoder.norm, ours.encoder_norm)
        found += pairs(theirs.stacks.decoder.norm, ours.decoder_norm)
    for layer, own in zip(theirs.stacks.encoder.layers, ours.encoder, strict=True):
        found += attention_pairs(layer.self_attn, own.self_attention)
        found += pairs(layer.norm1, own.self_residual.norm) + pairs(layer.norm2, own.feed_forward_residual.norm)
        found += pairs(layer.linear1, own.feed_forward.hidden) + pairs(layer.linear2, own.feed_forward.output)
    for layer, own in zip(theirs.stacks.decoder.layers, ours.decoder, strict=True):
        found += attention_pairs(layer.self_attn, own.self_attention)
        found += attention_pairs(layer.multihead_attn, own.cross_attention)
        found += pairs(layer.norm1, own.self_residual.norm) + pairs(layer.norm2, own.cross_residual.norm)
        found += pairs(layer.norm3, own.feed_forward_residual.norm)
        found += pairs(layer.linear1, own.feed_forward.hidden) + pairs(layer.linear2, own.feed_forward.output)
    return found


def randomised(model: Transformer) -> Transformer:
    """Randomise norms and biases, since their initial ones and zeros would hide mix-ups."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.5)
    return model


@pytest.mark.parametrize("residual", ["pre_norm", "post_norm"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("training", [True, False])
def test_outputs_and_gradients_equal_torch(residual: str, activation: str, training: bool) -> None:
    chosen = (f"model.residual={residual}", f"model.feed_forward={activation}")
    ours = randomised(transformer("model.tied=none", *chosen)).train(training)
    theirs = Reference(residual=residual, activation=activation).train(training)
    matched = all_pairs(theirs, ours)
    covered = {id(p) for _, parameters in matched for p in parameters}
    assert covered == {id(p) for p in ours.parameters()}
    # torch's query, key and value projections have biases, initially zero; tmt's have none.
    assert {id(p) for p, _ in matched} == {id(p) for n, p in theirs.named_parameters() if "in_proj_bias" not in n}
    with torch.no_grad():
        for parameter, parameters in matched:
            parameter.copy_(torch.cat(parameters))

    source, target = sentences(5, 3, 4), targets(4, 7, 2)
    real = target != PAD
    logits, expected = ours(source, target)[real], theirs(source, target)[real]
    torch.testing.assert_close(logits, expected, **TOLERANCE)
    direction = torch.randn(logits.shape)
    (logits * direction).sum().backward()
    (expected * direction).sum().backward()
    for parameter, parameters in matched:
        torch.testing.assert_close(torch.cat([p.grad for p in parameters]), parameter.grad, **TOLERANCE)


def test_every_dropout_has_its_configured_rate() -> None:
    model = transformer("model.dropout=0.25", "model.attention.dropout=0.5")
    called: list[Dropout] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda module, inputs, output: called.append(module))
    model(sentences(5, 3), targets(7, 4))
    assert {id(module) for module in called} == {id(m) for m in model.modules() if isinstance(m, Dropout)}
    # Two embeddings, two residuals in each of two encoder layers, three in each decoder layer.
    assert sorted(module.probability for module in called) == [0.25] * (2 + 2 * 2 + 2 * 3)
    attentions = [module for stack in model.attention_stacks().values() for module in stack]
    assert [module.dropout.p for module in attentions] == [0.5] * 6


def test_matrices_start_with_glorot_and_biases_at_zero() -> None:
    model = transformer("model.width=96", "model.feed_forward_width=192")
    for name, parameter in model.named_parameters():
        if name.startswith(("encoder.", "decoder.")) and parameter.dim() == 2:
            bound = math.sqrt(6 / sum(parameter.shape))
            assert parameter.abs().max().item() <= bound, name
            assert parameter.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05), name
        elif name.endswith("bias"):
            assert not parameter.any(), name
