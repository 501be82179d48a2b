"""The ids of the special symbols, the same in every vocabulary."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = frozenset((PAD, UNK, BOS, EOS))
NEVER_GENERATED = (PAD, UNK, BOS)
