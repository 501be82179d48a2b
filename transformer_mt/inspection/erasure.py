"""Erasure: how far the log-probabilities of a target fall when a part of what the model reads is taken out."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.tokenizer.symbols import BOS, PAD
from transformer_mt.views.words import PairTokens

# Tokens that go through the model at a time, at least one sentence's.
BATCH_TOKENS = 4_096

# Positions of pieces that are taken out together, such as those of a word.
Part = frozenset[int]


def erase(model: Seq2Seq, tokens: PairTokens, parts: Sequence[Part], *, stack: str) -> Float[Tensor, "T N"]:
    """ln p(y_i) − ln p(y_i | without part j), for parts of the source (`cross`) or of the target before i (`decoder`).

    Li et al. 2016. The part is really taken out and the sentence becomes shorter, as where Jain and Wallace (2019,
    §4.1) leave one word out: what is left is tokens such as the model was trained on. Others put a zero vector or
    `<unk>` in its place, which this model has never read. What stands behind the part moves up, so the change of its
    position counts too. `<s>` stays, for a decoder cannot begin without it, and its fall is zero.
    """
    at_once = max(1, BATCH_TOKENS // max(len(tokens.source.ids), len(tokens.read.ids)))
    with evaluating(model):
        whole = _log_probabilities(model, tokens, [frozenset()], stack=stack)
        found = [
            _log_probabilities(model, tokens, parts[first : first + at_once], stack=stack)
            for first in range(0, len(parts), at_once)
        ]
        falls = whole - torch.cat(found)
    if stack == "decoder":  # what is read after a piece cannot matter to it, not even by rounding
        falls = falls.masked_fill(_kept(tokens.read.ids, parts).cummin(dim=1).values.to(falls.device), 0.0)
    return falls.T


def _log_probabilities(
    model: Seq2Seq, tokens: PairTokens, parts: Sequence[Part], *, stack: str
) -> Float[Tensor, "N T"]:
    """ln p of each written piece, without each part of the source or of the target."""
    device = next(model.parameters()).device
    nothing = [frozenset[int]()] * len(parts)
    source = _kept(tokens.source.ids, parts if stack == "cross" else nothing)
    read = _kept(tokens.read.ids, parts if stack == "decoder" else nothing)
    logits = model(_left(tokens.source.ids, source).to(device), _left(tokens.read.ids, read).to(device))
    last = (read.cumsum(dim=1) - 1).to(device)  # where the last token stands that is read before each piece
    written = torch.tensor(tokens.written.ids, device=device).expand_as(last)
    rows = torch.arange(len(parts), device=device)[:, None]
    return require_finite(logits).log_softmax(dim=-1)[rows, last, written]


def _kept(ids: Sequence[int], parts: Sequence[Part]) -> Bool[Tensor, "N L"]:
    """Which tokens are left without each part."""
    return torch.tensor([[place not in part or ids[place] == BOS for place in range(len(ids))] for part in parts])


def _left(ids: Sequence[int], kept: Bool[Tensor, "N L"]) -> Int[Tensor, "N M"]:
    """The tokens that are left, padded; padding alone where nothing is."""
    tokens = torch.tensor(ids)
    left = pad_sequence([tokens[row] for row in kept], batch_first=True, padding_value=PAD)
    return left if left.shape[1] else left.new_full((len(left), 1), PAD)
