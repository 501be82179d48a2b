"""A folder with a Marian model, from a stranger. Only JSON and SentencePiece are read, under fixed names."""

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import check_config
from transformer_mt.corpus.source import AUTO, IMPORTED
from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import read_regular
from transformer_mt.tokenizer.sentencepiece_model import SPECIAL_TOKENS
from transformer_mt.tokenizer.two_models import TwoModels

Settings = dict[str, Any]

# Later files have the last word. Each is limited to so many bytes.
_SETTINGS, _FEW = ("tokenizer_config.json", "generation_config.json", "config.json"), 2**16
_MANY = 2**25
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
# What a folder without these settings means.
_DEFAULTS = {
    "separate_vocabs": False, "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True, "num_beams": 1
}  # fmt: skip
# The values that tmt supports, and settings that must be equal.
_SUPPORTED = {
    "model_type": ("marian",), "scale_embedding": (True,), "separate_vocabs": (False,),
    "share_encoder_decoder_embeddings": (True,), "tie_word_embeddings": (True,),
    "activation_function": tuple(ACTIVATIONS),
}  # fmt: skip
_EQUAL = {
    "decoder_ffn_dim": "encoder_ffn_dim", "decoder_attention_heads": "encoder_attention_heads",
    "decoder_start_token_id": "pad_token_id",
}  # fmt: skip
# Peak learning rate of fine-tuning, far below the one that suits new weights.
_LEARNING_RATE = 1e-4


def read_settings(folder: Path) -> Settings:
    """The settings of a model. Raises `InputError` for one that tmt does not support."""
    settings: Settings = {**_DEFAULTS}
    for name in _SETTINGS:
        settings |= _read_json(folder / name, limit=_FEW)
    for key, values in (_SUPPORTED | {key: (settings.get(other),) for key, other in _EQUAL.items()}).items():
        if settings.get(key) not in values:
            needed = " or ".join(map(str, values))[:80]
            raise InputError(folder, f"{key} is {str(settings.get(key))[:80]}", f"tmt needs {needed}")
    return settings


def configuration(folder: Path, settings: Settings, *, tokens: int) -> Config:
    """The configuration of a run with this model. Raises `InputError` for a wrong value, under our key."""
    length = settings.get("max_position_embeddings")
    heads, attention_dropout = settings.get("encoder_attention_heads"), settings.get("attention_dropout")
    model = {
        "width": settings.get("d_model"),
        "feed_forward_width": settings.get("encoder_ffn_dim"),
        "max_length": length,
        "feed_forward": ACTIVATIONS[settings["activation_function"]],
        "residual": "post_norm",
        "attention": {"heads": heads, "dropout": attention_dropout, "bias": True},
    } | {key: settings.get(key) for key in ("encoder_layers", "decoder_layers", "dropout")}
    tree = {
        "data": {"corpus": IMPORTED}
        | {f"{side}_language": settings.get(f"{side}_lang") or AUTO for side in ("source", "target")},
        "tokenizer": {"vocabulary_size": tokens},
        "model": model,
        "schedule": {"name": "constant", "learning_rate": _LEARNING_RATE},
        "search": {"beam": settings.get("num_beams"), "max_length": length, "max_length_margin": length},
    }
    return check_config(tree, place=folder)


def read_vocabulary(folder: Path, settings: Settings) -> tuple[TwoModels, list[int]]:
    """The tokenizer of a model, and the model's id of each token, our special symbols first.

    Marian's padding also begins a target: its id is that of both `PAD` and `BOS`. Raises `MachineError` for a
    vocabulary that is damaged or does not fit the model.
    """
    ids = _read_json(folder / "vocab.json", limit=_MANY)
    source, target = (read_regular(folder / name, limit=_MANY) for name in ("source.spm", "target.spm"))
    pad, unknown, _, end = SPECIAL_TOKENS
    try:
        rest = sorted(ids.keys() - {pad, unknown, end}, key=ids.__getitem__)
        own = [ids[token] for token in (pad, unknown, pad, end, *rest)]
        if (
            sorted(own[1:]) != [*range(len(ids))]
            or [settings.get(f"{key}_token_id") for key in ("pad", "eos")] != own[2:4]
        ):
            raise ValueError("the ids")
        return TwoModels.join(source, target, [*SPECIAL_TOKENS, *rest]), list(map(int, own))
    except (KeyError, TypeError, RuntimeError, ValueError) as error:
        problem = f"damaged, or do not fit the model ({error})"
        raise MachineError(folder / "vocab.json, source.spm, target.spm", problem) from None


def _read_json(path: Path, *, limit: int) -> Settings:
    try:
        found = from_json(read_regular(path, limit=limit))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise MachineError(path, "damaged, or not a JSON object")
    return found
