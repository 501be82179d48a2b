"""Token pairs without a tokenizer, for models with a few tokens."""

from collections.abc import Sequence

from transformer_mt.links.tokens import PairTokens, Tokens
from transformer_mt.tokenizer.symbols import BOS, EOS


def pair_tokens(source: Sequence[int], target: Sequence[int], *, words: Sequence[int] = ()) -> PairTokens:
    """A pair of these ids; `words` has the word of each source token and of the end (default: one word per token)."""
    return PairTokens(_tokens([*source, EOS], words), _tokens([BOS, *target]), _tokens([*target, EOS]))


def _tokens(ids: Sequence[int], words: Sequence[int] = ()) -> Tokens:
    words = words or range(len(ids))
    labels = tuple(f"w{number}" for number in range(max(words) + 1))
    return Tokens("", tuple(ids), tuple(f"p{index}" for index in ids), labels, tuple((word,) for word in words))
