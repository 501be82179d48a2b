"""A small Transformer and a tokenizer, both from nothing."""

import pytest

from transformer_mt.config.sections import AttentionConfig, TokenizerConfig, TransformerConfig
from transformer_mt.models.build import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer import Tokenizer

SENTENCES = (
    "Kannst du mir helfen, diesen Satz zu übersetzen?",
    "Can you help me translate this sentence?",
    "Der alte Mann liest ein gutes Buch.",
    "The old man is reading a good book.",
    "Ich glaube, dass die Kinder im Garten spielen.",
    "I think that the children are playing in the garden.",
)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES, TokenizerConfig(vocabulary_size=330))


@pytest.fixture
def model(tokenizer: Tokenizer) -> Seq2Seq:
    attention = AttentionConfig(heads=5, dropout=0.3)
    config = TransformerConfig(
        width=35, encoder_layers=2, decoder_layers=3, feedforward=11, dropout=0.3, max_length=64, attention=attention
    )
    return build_model(config, vocabulary_size=tokenizer.size)
