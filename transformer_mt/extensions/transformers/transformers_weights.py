"""Conversion to transformers: the same weights as a Pegasus model (pre-norm) or a Marian model (post-norm).

Both classes store the sines of all positions before the cosines, ours alternate. So the D features of every state are
reordered, which changes no result.
"""

import re

import torch
from torch import Tensor

from transformer_mt.attention.multihead import MultiHeadAttention
from transformer_mt.config.sections import Config, ModelConfig, TransformerConfig
from transformer_mt.extensions.export.supported import masked_output
from transformer_mt.extensions.marian.marian_weights import NAMES, reordered
from transformer_mt.models.transformer import Transformer
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED, PAD

# The class for each residual. Pegasus normalises before layers and after stacks, Marian only after layers.
CLASSES = {"pre_norm": "Pegasus", "post_norm": "Marian"}

Tensors = dict[str, Tensor]
_TABLES = ("source_embedding.table", "target_embedding.table")


def model_config(model: ModelConfig, *, vocabulary_size: int) -> JsonObject:
    """The content of `config.json`."""
    assert isinstance(model, TransformerConfig)
    name = CLASSES[model.residual]
    stacks = {"encoder": model.encoder_layers, "decoder": model.decoder_layers}
    found = {
        "architectures": [f"{name}{'MTModel' if name == 'Marian' else 'ForConditionalGeneration'}"],
        "model_type": name.lower(),
        "vocab_size": vocabulary_size,
        "d_model": model.width,
        "activation_function": model.feed_forward,
        "max_position_embeddings": model.max_length,
        "scale_embedding": True,
        "tie_word_embeddings": model.tied == "all" or (name == "Marian" and model.tied == "target"),
        "dropout": model.dropout,
        "attention_dropout": model.attention.dropout,
        "activation_dropout": 0.0,
        **_symbols(),
    }
    if name == "Marian":
        found["share_encoder_decoder_embeddings"] = model.tied == "all"
    for stack, layers in stacks.items():
        found |= {
            f"{stack}_layers": layers,
            f"{stack}_attention_heads": model.attention.heads,
            f"{stack}_ffn_dim": model.feed_forward_width,
            f"{stack}_layerdrop": 0.0,
        }
    return found


def generation_config(config: Config) -> JsonObject:
    """The content of `generation_config.json`: our search, as closely as transformers can express it.

    transformers divides log-probabilities by length^p; p = α / 2 is closest to our ((5 + length) / 6)^α.
    """
    search = config.search
    return {
        **_symbols(),
        "suppress_tokens": list(NEVER_GENERATED),
        "max_length": min(search.max_length, config.model.max_length),  # with the begin symbol, but no end symbol
        "num_beams": search.beam,
        "length_penalty": search.length_penalty / 2,
        "do_sample": False,
    }


def _symbols() -> JsonObject:
    return {
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }


def weights(model: Transformer, config: ModelConfig) -> Tensors:
    """The model's tensors in float32, under the names of transformers."""
    assert isinstance(config, TransformerConfig)
    own = _complete(model)
    source, target, output = (own.pop(f"{name}.weight") for name in (*_TABLES, "output"))
    bias = own.pop("output.bias")
    order = (torch.arange(config.width) % 2).argsort(stable=True)  # even features before odd ones
    found = {_their_name(name): reordered(name, tensor, order) for name, tensor in own.items()}
    found["final_logits_bias"] = bias[None]
    tables = {"model.shared.weight": source}
    if config.tied != "all":
        tables |= {"model.encoder.embed_tokens.weight": source, "model.decoder.embed_tokens.weight": target}
        if config.residual == "post_norm":  # only Pegasus has a table that nothing reads
            del tables["model.shared.weight"]
    if config.tied == "none" or (config.tied == "target" and config.residual == "pre_norm"):
        tables["lm_head.weight"] = output
    nothing = torch.zeros(1, model.max_length, config.width)
    for stack, embedding in (("encoder", model.source_embedding), ("decoder", model.target_embedding)):
        tables[f"model.{stack}.embed_positions.weight"] = embedding.position.embed(nothing, start=0)[0]
    found |= {name: reordered(name, table, order) for name, table in tables.items()}
    return {name: tensor.clone().contiguous() for name, tensor in found.items()}


def _complete(model: Transformer) -> Tensors:
    """Our tensors in float32 with all biases, the scale of scores in the queries, and without heads that are off."""
    tensors = {name: tensor.detach().float().cpu() for name, tensor in model.state_dict().items()}
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            assert module.score.scale is not None
            factor = module.score.scale * module.score.sizes.key_width**0.5
            places = ("projections.query_projection", "projections.key_projection", "value_projection")
            for place in places:
                tensors.setdefault(f"{name}.{place}.bias", torch.zeros(module.score.sizes.width))
            for part in ("weight", "bias"):
                tensors[f"{name}.{places[0]}.{part}"] = tensors[f"{name}.{places[0]}.{part}"] * factor
            tensors[f"{name}.output_projection.weight"] = masked_output(module).detach().float().cpu()
    return tensors


def _their_name(name: str) -> str:
    name = re.sub(r"^(encoder|decoder)_norm", r"model.\1.layer_norm", name)
    name = re.sub(r"^(encoder|decoder)(?=\.\d)", r"model.\1.layers", name)
    for theirs, ours in NAMES.items():
        name = name.replace(ours, theirs) if "." not in theirs else name
    return name
