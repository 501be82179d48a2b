"""One model in our own engine and in CTranslate2."""

import torch

from support.engines import translator_of
from support.tiny import tiny_config, varied_model
from transformer_mt.config.sections import Config
from transformer_mt.extensions.ctranslate2.ctranslate2_engine import CTranslate2Engine
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.tokenizer.symbols import NEVER_GENERATED
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator


def both_engines(*overrides: str, tokenizer: Tokenizer) -> tuple[Translator, Translator]:
    """Both engines with a model whose weights are all perturbed; special symbols are unlikely, as after training."""
    model = varied_model(*overrides, vocabulary=tokenizer.size)
    with torch.no_grad():
        model.output.bias.add_(torch.randn_like(model.output.bias))
        model.output.bias[list(NEVER_GENERATED)] -= 30.0
    ours = translator_of(model, tokenizer)
    return ours, in_ctranslate2(ours, *overrides)


def in_ctranslate2(ours: Translator, *overrides: str) -> Translator:
    """The model of a translator, of this configuration, in CTranslate2."""
    tokenizer = ours.model.tokenizer
    tokens = tokenizer.pieces(range(tokenizer.size))
    files = model_files(ours.model.network, tiny_config(*overrides), tokens, quantization=None)
    longest = ours.model.engine.max_length
    engine = CTranslate2Engine(files, tokens=tokens, max_length=longest, device="cpu", quantization=None)
    return Translator(Model(Config(), tokenizer, engine), search=ours.search)
