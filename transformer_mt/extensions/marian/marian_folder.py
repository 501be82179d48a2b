"""A folder with a Marian model, from a stranger. Only JSON and SentencePiece are read, under fixed names."""

from codecs import BOM_UTF8
from collections import defaultdict
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import check_config
from transformer_mt.corpus.source import AUTO, IMPORTED
from transformer_mt.extensions.marian.two_models import TwoModels, TwoModelsFile
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import read_regular
from transformer_mt.tokenizer.sentencepiece_model import SPECIAL_TOKENS

Settings = dict[str, Any]

_FEW, _MANY = 2**16, 2**25  # bytes
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
# Defaults of missing settings.
_DEFAULTS: Settings = {"separate_vocabs": False, "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
# The values that tmt supports.
_SUPPORTED = {
    "model_type": ("marian",), "scale_embedding": (True,), "separate_vocabs": (False,),
    "share_encoder_decoder_embeddings": (True,), "tie_word_embeddings": (True,),
    "activation_function": tuple(ACTIVATIONS),
}  # fmt: skip
# Peak learning rate of fine-tuning, far below the one that suits new weights.
_LEARNING_RATE = 1e-4
_PAD, _UNKNOWN, _, _END = SPECIAL_TOKENS


def read_settings(folder: Path) -> tuple[Settings, dict[str, int]]:
    """The settings of a model, and its id of each token. Raises `InputError` for an unsupported one."""
    of_tokenizer, of_model = (_read_json(folder / f"{name}config.json", limit=_FEW) for name in ("tokenizer_", ""))
    ids = _read_json(folder / "vocab.json", limit=_MANY)
    settings = defaultdict(lambda: None, _DEFAULTS | of_tokenizer | of_model)
    equal = {
        "decoder_ffn_dim": settings["encoder_ffn_dim"],
        "decoder_attention_heads": settings["encoder_attention_heads"],
        "decoder_start_token_id": settings["pad_token_id"],
        "pad_token_id": ids.get(_PAD),
        "eos_token_id": ids.get(_END),
    }
    for key, values in (_SUPPORTED | {key: (value,) for key, value in equal.items()}).items():
        if settings[key] not in values:
            problem = f"{key} is {str(settings[key])[:80]}"
            needed = " or ".join(map(str, values))[:80]
            raise InputError(folder, problem, f"tmt needs {needed}")
    return settings, ids


def configuration(folder: Path, settings: Settings, *, tokens: int) -> Config:
    """The configuration of a run with this model. Raises `InputError` for a wrong value, under our key."""
    length = settings["max_position_embeddings"]
    heads = settings["encoder_attention_heads"]
    tree = {
        "data": {
            "corpus": IMPORTED,
            "source_language": settings["source_lang"] or AUTO,
            "target_language": settings["target_lang"] or AUTO,
        },
        "tokenizer": {"vocabulary_size": tokens},
        "model": {
            "width": settings["d_model"],
            "encoder_layers": settings["encoder_layers"],
            "decoder_layers": settings["decoder_layers"],
            "dropout": settings["dropout"],
            "max_length": length,
            "feed_forward": ACTIVATIONS[settings["activation_function"]],
            "feed_forward_width": settings["encoder_ffn_dim"],
            "residual": "post_norm",
            "attention": {"heads": heads, "dropout": settings["attention_dropout"], "bias": True},
        },
        "schedule": {"name": "constant", "learning_rate": _LEARNING_RATE},
        "search": {"max_length": length, "max_length_margin": length},
    }
    return check_config(tree, place=folder)


def read_vocabulary(folder: Path, ids: dict[str, int]) -> tuple[TwoModels, list[int]]:
    """The tokenizer of a model, and the model's id of each token, our special symbols first.

    Marian's padding also begins a target, so `PAD` and `BOS` have the same id there.

    Raises `MachineError` for a damaged vocabulary.
    """
    source, target = (read_regular(folder / name, limit=_MANY) for name in ("source.spm", "target.spm"))
    try:
        rest = sorted(ids.keys() - {_PAD, _UNKNOWN, _END}, key=ids.__getitem__)
        own = [ids[token] for token in (_PAD, _UNKNOWN, _PAD, _END, *rest)]
        if sorted(own[1:]) != list(range(len(ids))):
            raise ValueError("ids")
        file = TwoModelsFile.model_construct(source=source, target=target, tokens=[*SPECIAL_TOKENS, *rest])
        return TwoModels(file), list(map(int, own))
    except (KeyError, TypeError, RuntimeError, ValueError) as error:
        raise MachineError(folder / "vocab.json, source.spm, target.spm", f"damaged ({error})") from None


def _read_json(path: Path, *, limit: int) -> Settings:
    try:
        found = from_json(read_regular(path, limit=limit).removeprefix(BOM_UTF8))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise MachineError(path, "damaged, or not a JSON object")
    return found
