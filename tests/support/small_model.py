"""A small Transformer and a tokenizer, both made from scratch."""

import pytest

from support.sentences import small_tokenizer
from transformer_mt.config.sections import AttentionConfig, TransformerConfig
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture
def model(tokenizer: Tokenizer) -> Seq2Seq:
    attention = AttentionConfig(heads=5, dropout=0.3)
    config = TransformerConfig(
        width=35,
        encoder_layers=2,
        decoder_layers=3,
        feed_forward_width=11,
        dropout=0.3,
        max_length=64,
        attention=attention,
    )
    return build_model(config, vocabulary_size=tokenizer.size)
