"""Tokens: one vocabulary for both languages. Reading order:

- `symbols`: the ids of padding, unknown, begin and end, the same in every vocabulary.
- `tokenizer`: `Tokenizer`, from text to tokens and back, and subword sampling.
- `prepared`: `PreparedLine`, a line of text as a model reads it, and how its tokens map to words.
- `learning`: trains a sentencepiece model.
- `sentencepiece_model`: reads an untrusted model file, writes one with whole words, segments a word.
"""
