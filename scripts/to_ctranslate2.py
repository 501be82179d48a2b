"""A trained run as a CTranslate2 model: the same weights, which that program then translates with.

    python scripts/to_ctranslate2.py runs/builtin builtin-ct2

For a Transformer with the default architecture, of any size; `pip install ctranslate2` first. CTranslate2 gets subwords
and gives subwords, without begin and end symbols; the run's tokenizer.model, a sentencepiece file, makes them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch import Tensor, nn

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.attention.positions import sinusoids
from transformer_mt.attention.projections import Independent
from transformer_mt.config.sections import ModelConfig, TransformerConfig
from transformer_mt.errors import InputError, MachineError, TmtError
from transformer_mt.models.blocks import LayerNorm, Norm, Residual
from transformer_mt.models.layers import DecoderLayer, EncoderLayer
from transformer_mt.models.positionwise import ReLU
from transformer_mt.models.transformer import Transformer
from transformer_mt.runs.directory import find_run
from transformer_mt.tokenizer.symbols import BOS, EOS, UNK

# What a configuration must say for CTranslate2 to compute the same, and what each activation is called there.
REQUIRED = {
    "kind": "transformer",
    "norm": "layer",
    "residual": "pre_norm",
    "attention.kind": "softmax",
    "attention.qk_projection": "independent",
    "attention.score": "scaled_dot",
    "attention.position": "sinusoidal",
    "attention.graph": "complete",
    "attention.head_mask": (),
}
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU"}

Weights = Iterator[tuple[str, Tensor]]


def main(
    run: Annotated[Path, typer.Argument(help="A run directory, or a checkpoint of one.", show_default=False)],
    directory: Annotated[Path, typer.Argument(help="Where the model goes; a new one.", show_default=False)],
) -> None:
    """Write the model of a run as a model of CTranslate2."""
    try:
        found = find_run(run).load()
        tokens = found.tokenizer.pieces(range(found.tokenizer.size))
        write(found.model, found.config.model, tokens, directory)
    except TmtError as error:
        print(f"to_ctranslate2: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


def write(model: nn.Module, config: ModelConfig, tokens: Sequence[str], directory: Path) -> None:
    """Write a model, whose vocabulary these tokens are, as a model of CTranslate2.

    Raises `InputError` for one that CTranslate2 cannot compute and for a directory that is there already, and
    `MachineError` where CTranslate2 is not installed.
    """
    require_convertible(config)
    assert isinstance(model, Transformer)
    assert isinstance(config, TransformerConfig)
    if directory.exists():
        raise InputError(f"{directory}: is there already; give the name of a new directory")
    specs = import_ctranslate2().specs
    spec = specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.attention.heads,
        activation=specs.Activation[ACTIVATIONS[config.feed_forward]],
    )
    for name, tensor in weights(model).items():
        place, _, last = name.rpartition("/")
        setattr(specs.model_spec.index_spec(spec, place), last, tensor)
    spec.register_source_vocabulary(list(tokens))
    spec.register_target_vocabulary(list(tokens))
    spec.config.bos_token = spec.config.decoder_start_token = tokens[BOS]
    spec.config.eos_token, spec.config.unk_token = tokens[EOS], tokens[UNK]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    directory.mkdir(parents=True)
    spec.save(str(directory))


def require_convertible(config: ModelConfig) -> None:
    """Raise `InputError` where CTranslate2 has no such model, or we do not know how to write it."""
    found = flat(config.model_dump())
    for key, value in REQUIRED.items():
        if found.get(key) != value:
            wanted = value if isinstance(value, str) else "none"
            given = found[key] if isinstance(found[key], str) else ", ".join(found[key])
            raise InputError(f"model.{key}: is {given}; only models with {wanted} there can be converted")
    if found["feed_forward"] not in ACTIVATIONS:
        known = " or ".join(ACTIVATIONS)
        raise InputError(
            f"model.feed_forward: is {found['feed_forward']}; only models with {known} there can be converted"
        )


def flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a section and of those inside it, by their full names."""
    values: dict[str, Any] = {}
    for name, value in section.items():
        values |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return values


def import_ctranslate2() -> Any:
    """The package. Raises `MachineError` where it is missing."""
    try:
        import ctranslate2
    except ImportError:
        raise MachineError("ctranslate2: is not installed; pip install ctranslate2") from None
    return ctranslate2


def weights(model: Transformer) -> dict[str, Tensor]:
    """The model's tensors under the names that CTranslate2 has for them."""
    return {name: tensor.detach().float().cpu().contiguous() for name, tensor in _weights(model)}


def _weights(model: Transformer) -> Weights:
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    positions = sinusoids(model.max_length, source.shape[1], torch.device("cpu"), torch.float64)
    yield "encoder/embeddings_0/weight", source
    yield "decoder/embeddings/weight", target
    for stack in ("encoder", "decoder"):
        yield f"{stack}/position_encodings/encodings", positions
    for number, layer in enumerate(model.encoder):
        yield from _attention(layer.self_attention, layer.self_residual, f"encoder/layer_{number}/self_attention")
        yield from _feed_forward(layer, f"encoder/layer_{number}/ffn")
    for number, layer in enumerate(model.decoder):
        place = f"decoder/layer_{number}"
        yield from _attention(layer.self_attention, layer.self_residual, f"{place}/self_attention")
        yield from _attention(layer.cross_attention, layer.cross_residual, f"{place}/attention", crosses=True)
        yield from _feed_forward(layer, f"{place}/ffn")
    yield from _norm(model.encoder_norm, "encoder/layer_norm")
    yield from _norm(model.decoder_norm, "decoder/layer_norm")
    yield from _linear(model.output, "decoder/projection")


def _attention(attention: nn.Module, residual: Residual, place: str, *, crosses: bool = False) -> Weights:
    """Projections of the same states are one matrix there: all three or, of a memory, those of keys and values."""
    assert isinstance(attention, MultiHeadAttention)
    assert isinstance(attention.projections, Independent)
    queries, keys = attention.projections.query_projection.weight, attention.projections.key_projection.weight
    values = attention.value_projection.weight
    matrices = [queries, torch.cat((keys, values))] if crosses else [torch.cat((queries, keys, values))]
    yield from _norm(residual.norm, f"{place}/layer_norm")
    for number, matrix in enumerate(matrices):
        yield f"{place}/linear_{number}/weight", matrix
    yield from _linear(attention.output_projection, f"{place}/linear_{len(matrices)}")


def _feed_forward(layer: EncoderLayer | DecoderLayer, place: str) -> Weights:
    """ReLU and GELU networks have the same parts."""
    assert isinstance(layer.feed_forward, ReLU)
    yield from _norm(layer.feed_forward_residual.norm, f"{place}/layer_norm")
    yield from _linear(layer.feed_forward.hidden, f"{place}/linear_0")
    yield from _linear(layer.feed_forward.output, f"{place}/linear_1")


def _linear(layer: nn.Module, place: str) -> Weights:
    assert isinstance(layer, nn.Linear)
    yield f"{place}/weight", layer.weight
    yield f"{place}/bias", layer.bias


def _norm(norm: Norm, place: str) -> Weights:
    assert isinstance(norm, LayerNorm)
    yield f"{place}/gamma", norm.weight
    yield f"{place}/beta", norm.bias


if __name__ == "__main__":
    typer.run(main)
