"""Small Marian models in transformers' format, made without that package, and what they compute."""

import io
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import safetensors.torch
import sentencepiece
import torch
from torch import Tensor
from torch.nn import functional as F

from support.small_training import PAIRS

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
    angles = [[i / 10_000 ** (2 * (j // 2) / width) for j in range(width)] for i in range(length)]
    sines = [[math.sin(row[j]) for j in range(0, width, 2)] for row in angles]
    cosines = [[math.cos(row[j]) for j in range(1, width, 2)] for row in angles]
    return torch.tensor([[*a, *b] for a, b in zip(sines, cosines, strict=True)], dtype=torch.float64)


def marian_logits(tensors: Tensors, config: Mapping[str, Any], source: Tensor, target: Tensor) -> Tensor:
    """The logits of a Marian model in float64, as transformers computes them; source and target without padding."""
    tensors = {name: tensor.double() for name, tensor in tensors.items()}
    heads, width = config["encoder_attention_heads"], config["d_model"]
    activation = {"swish": F.silu, "silu": F.silu, "relu": F.relu, "gelu": F.gelu}[config["activation_function"]]

    def linear(x: Tensor, place: str) -> Tensor:
        return F.linear(x, tensors[f"{place}.weight"], tensors[f"{place}.bias"])

    def attention(x: Tensor, memory: Tensor, place: str, *, causal: bool = False) -> Tensor:
        states = (linear(x, f"{place}.q_proj"), linear(memory, f"{place}.k_proj"), linear(memory, f"{place}.v_proj"))
        q, k, v = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in states)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // heads)
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
        return linear((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2), f"{place}.out_proj")

    def norm(x: Tensor, place: str) -> Tensor:
        return F.layer_norm(x, (width,), tensors[f"{place}.weight"], tensors[f"{place}.bias"])

    def embed(tokens: Tensor) -> Tensor:
        return math.sqrt(width) * tensors["model.shared.weight"][tokens] + positions(tokens.shape[1], width)

    memory, x = embed(source), embed(target)
    for stack, count in (("encoder", config["encoder_layers"]), ("decoder", config["decoder_layers"])):
        state = memory if stack == "encoder" else x
        for layer in range(count):
            place = f"model.{stack}.layers.{layer}"
            own = attention(state, state, f"{place}.self_attn", causal=stack == "decoder")
            state = norm(state + own, f"{place}.self_attn_layer_norm")
            if stack == "decoder":
                read = attention(state, memory, f"{place}.encoder_attn")
                state = norm(state + read, f"{place}.encoder_attn_layer_norm")
            inner = linear(activation(linear(state, f"{place}.fc1")), f"{place}.fc2")
            state = norm(state + inner, f"{place}.final_layer_norm")
        memory, x = (state, x) if stack == "encoder" else (memory, state)
    return x @ tensors["model.shared.weight"].T + tensors["final_logits_bias"]
