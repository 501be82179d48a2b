"""Token pairs without a tokenizer, for models with a few tokens."""

from collections.abc import Sequence

from transformer_mt.links.tokens import PairTokens, Tokens
from transformer_mt.tokenizer.symbols import BOS, EOS


def pair_tokens(source: Sequence[int], target: Sequence[int]) -> PairTokens:
    """A pair of these ids; each token is a word."""
    return PairTokens(_tokens([*source, EOS]), _tokens([BOS, *target]), _tokens([*target, EOS]))


def _tokens(ids: Sequence[int]) -> Tokens:
    labels = tuple(f"w{index}" for index in ids)
    return Tokens("", tuple(ids), labels, labels, tuple((word,) for word in range(len(ids))))
