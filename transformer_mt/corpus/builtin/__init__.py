"""The built-in corpus: German–English sentence pairs made by a small synchronous grammar."""

from transformer_mt.corpus.builtin.splits import SHOWCASE, SHOWCASE_TRANSLATION, generate_corpus

__all__ = ["SHOWCASE", "SHOWCASE_TRANSLATION", "generate_corpus"]
