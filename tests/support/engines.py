"""Translators without a run."""

import torch

from transformer_mt.config.sections import Config, SearchConfig, TokenizerConfig
from transformer_mt.models.seq2seq import Seq2Seq
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


def small_tokenizer() -> Tokenizer:
    """A tokenizer trained on a few sentences."""
    return Tokenizer.train(CORPUS, TokenizerConfig(vocabulary_size=320))
