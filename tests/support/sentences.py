"""Sentences of both languages, and a tokenizer trained on them."""

from functools import cache

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.tokenizer.tokenizer import Tokenizer

SENTENCES = (
    "Kannst du mir helfen, diesen Satz zu übersetzen?",
    "Can you help me translate this sentence?",
    "Der alte Mann liest ein gutes Buch.",
    "The old man is reading a good book.",
    "Ich glaube, dass die Kinder im Garten spielen.",
    "I think that the children are playing in the garden.",
)


@cache
def small_tokenizer() -> Tokenizer:
    """Its 330 tokens are words, parts of words and letters."""
    return Tokenizer.train(SENTENCES, TokenizerConfig(vocabulary_size=330))
