"""Sentence pairs as tokens without a tokenizer, for models of a few tokens."""

from collections.abc import Sequence

from transformer_mt.links.tokens import PairTokens, Tokens
from transformer_mt.tokenizer.symbols import BOS, EOS


def pair_tokens(source: Sequence[int], target: Sequence[int], *, words: Sequence[int] = ()) -> PairTokens:
    """A pair of these ids; `words` says for each source piece and its end which word it is of, if not each its own."""
    return PairTokens(_tokens([*source, EOS], words), _tokens([BOS, *target]), _tokens([*target, EOS]))


def _tokens(ids: Sequence[int], words: Sequence[int] = ()) -> Tokens:
    words = words or range(len(ids))
    labels = tuple(f"w{number}" for number in range(max(words) + 1))
    return Tokens("", tuple(ids), tuple(f"p{index}" for index in ids), labels, tuple((word,) for word in words))
