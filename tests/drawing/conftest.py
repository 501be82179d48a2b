"""A tokenizer from nothing."""

import pytest
from support.sentences import small_tokenizer

from transformer_mt.tokenizer.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return small_tokenizer()
