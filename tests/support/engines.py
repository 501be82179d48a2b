"""Translators without a run, and one model in both engines."""

import torch

from support.tiny import tiny_config, varied_model
from transformer_mt.config.sections import Config, SearchConfig, TokenizerConfig
from transformer_mt.extensions.ctranslate2.ctranslate2_engine import CTranslate2Engine
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import NEVER_GENERATED
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.model import Model
from transformer_mt.translation.torch_engine import TorchEngine
from transformer_mt.translation.translator import Translator

SEARCH = SearchConfig()
CORPUS = ["Can you help me?", "I will help you with the old house.", "The old man has a small house and a big dog."] * 7


def translator_of(network: Seq2Seq, tokenizer: Tokenizer, *, search: SearchConfig = SEARCH) -> Translator:
    """A translator with an unsaved network."""
    engine = TorchEngine(network, device=torch.device("cpu"))
    return Translator(Model(Config(), tokenizer, engine), search=search)


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


def small_tokenizer() -> Tokenizer:
    """A tokenizer trained on a few sentences."""
    return Tokenizer.train(CORPUS, TokenizerConfig(vocabulary_size=320))
