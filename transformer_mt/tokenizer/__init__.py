"""Subwords: the vocabulary that both languages share, and the symbols that no text can produce."""
