"""Small Marian models in transformers' format, made without that package, and what they compute."""

import io
import json
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import safetensors.torch
import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from support.small_training import PAIRS
from transformer_mt.attention.positions import sinusoids

Tensors = dict[str, Tensor]

WIDTH, HEADS, LAYERS, HIDDEN, LONGEST = 15, 5, (2, 3), 7, 41
CODES = (">>fra<<", ">>deu<<")


@cache
def sentencepiece_model(side: str, size: int) -> bytes:
    """A model of one side of the small corpus, with sentencepiece's default normalisation, as Marian's have."""
    model = io.BytesIO()
    sentences = [getattr(pair, side) for pair in PAIRS]
    options: dict[str, Any] = {"vocab_size": size, "hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.Train(sentence_iterator=iter(sentences), model_writer=model, **options)
    return model.getvalue()


def processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


@cache
def vocabulary() -> dict[str, int]:
    """The tokens of both sides, target languages, and Marian's special symbols in their usual places."""
    ids = {"</s>": 0, "<unk>": 1}
    for side, size in (("source", 60), ("target", 50)):
        own = processor(sentencepiece_model(side, size))
        for index in range(3, own.GetPieceSize()):
            ids.setdefault(own.IdToPiece(index), len(ids))
    for token in (*CODES, "<pad>"):
        ids[token] = len(ids)
    return ids


def settings(**changes: Any) -> dict[str, Any]:
    """A config.json."""
    pad = vocabulary()["<pad>"]
    return {
        "model_type": "marian", "vocab_size": pad + 1, "d_model": WIDTH, "encoder_layers": LAYERS[0],
        "decoder_layers": LAYERS[1], "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": HIDDEN, "decoder_ffn_dim": HIDDEN, "max_position_embeddings": LONGEST,
        "activation_function": "swish", "dropout": 0.1, "attention_dropout": 0.0, "scale_embedding": True,
        "pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad, "architectures": ["MarianMTModel"],
    } | changes  # fmt: skip


def random_tensors(config: Mapping[str, Any], *, scale: float = 0.5) -> Tensors:
    """Weights under Marian's names, none of them zero or one."""
    width, hidden, vocabulary = config["d_model"], config["encoder_ffn_dim"], config["vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "model.shared.weight": (vocabulary, width),
        "final_logits_bias": (1, vocabulary),
    }
    for side, blocks in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "encoder_attn"))):
        for layer in range(config[f"{side}_layers"]):
            place = f"model.{side}.layers.{layer}"
            for block in blocks:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes |= {f"{place}.{block}.{part}.weight": (width, width)}
                    shapes |= {f"{place}.{block}.{part}.bias": (width,)}
            for norm in (*(f"{block}_layer_norm" for block in blocks), "final_layer_norm"):
                shapes |= {f"{place}.{norm}.{kind}": (width,) for kind in ("weight", "bias")}
            shapes |= {f"{place}.fc1.weight": (hidden, width), f"{place}.fc1.bias": (hidden,)}
            shapes |= {f"{place}.fc2.weight": (width, hidden), f"{place}.fc2.bias": (width,)}
    tensors = {name: scale * torch.randn(shape) for name, shape in shapes.items()}
    return {name: tensor + name.endswith("norm.weight") for name, tensor in tensors.items()}


def write_marian(folder: Path, tensors: Tensors | None = None, **changes: Any) -> Path:
    """Write a model, by default with random weights; `changes` go to config.json."""
    folder.mkdir(parents=True)
    config = settings(**changes)
    files = {
        "config.json": config,
        "generation_config.json": {"num_beams": 3, "bad_words_ids": [[config["pad_token_id"]]]}
        | {key: config[key] for key in config if key.endswith("_token_id")},
        "tokenizer_config.json": {"source_lang": "de", "target_lang": "en", "separate_vocabs": False},
        "vocab.json": vocabulary(),
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    (folder / "source.spm").write_bytes(sentencepiece_model("source", 60))
    (folder / "target.spm").write_bytes(sentencepiece_model("target", 50))
    found = random_tensors(config) if tensors is None else tensors
    (folder / "model.safetensors").write_bytes(safetensors.torch.save(found))
    return folder


def positions(length: int, width: int) -> Tensor:
    """Marian's positions: sines in the first half of the features, cosines in the second."""
    own = sinusoids(length, width, torch.device("cpu"), torch.float64)
    return torch.cat((own[:, 0::2], own[:, 1::2]), dim=1)


# Marian's names of parts, and PyTorch's.
RENAMED = {
    "encoder_attn_layer_norm": "norm2", "self_attn_layer_norm": "norm1", "encoder_attn": "multihead_attn",
    "fc1": "linear1", "fc2": "linear2",
}  # fmt: skip
SIZES = ("encoder_attention_heads", "encoder_layers", "decoder_layers", "encoder_ffn_dim")


def marian_logits(tensors: Tensors, config: Mapping[str, Any], source: Tensor, target: Tensor) -> Tensor:
    """The logits of a Marian model in float64, by PyTorch's own layers; source and target without padding."""
    grouped = defaultdict[str, list[Tensor]](list)
    for name, tensor in tensors.items():
        for theirs, torchs in RENAMED.items():
            name = name.replace(f".{theirs}.", f".{torchs}.")
        last = "norm2" if name.startswith("model.encoder") else "norm3"
        name = re.sub(r"\.[qkv]_proj\.", ".in_proj_", name).replace("final_layer_norm", last)
        grouped[name.removeprefix("model.")].append(tensor.double())
    joined = {name: torch.cat(parts) for name, parts in grouped.items()}  # of queries, keys and values
    table, bias, width = joined.pop("shared.weight"), joined.pop("final_logits_bias"), config["d_model"]
    activation = {"swish": "silu"}.get(config["activation_function"], config["activation_function"])
    sizes = [config[key] for key in SIZES]
    with warnings.catch_warnings(action="ignore"):  # about speed
        model = nn.Transformer(width, *sizes, activation=getattr(F, activation), batch_first=True)
    model.encoder.norm = model.decoder.norm = None
    model.double().eval().load_state_dict(joined)
    sides = (math.sqrt(width) * table[one] + positions(one.shape[1], width) for one in (source, target))
    causal = model.generate_square_subsequent_mask(target.shape[1], dtype=torch.float64)
    return model(*sides, tgt_mask=causal) @ table.T + bias
