"""Subwords: one vocabulary for both languages.

Read in this order:

- `symbols`: the ids of padding, unknown, begin and end, the same in every vocabulary.
- `tokenizer`: `Tokenizer`, from text to subwords and back, and subword sampling.
- `prepared`: `PreparedLine`, a line of text as a model reads it, and how its subwords relate to its words.
- `learning`: learning a sentencepiece model.
- `sentencepiece_model`: reading a model file from a stranger, writing one with whole words, cutting a word.
"""
