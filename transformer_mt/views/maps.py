"""The attention maps of a sentence pair over pieces and over words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_mt.errors import checked
from transformer_mt.links.recording import record_attention
from transformer_mt.links.tokens import PairTokens, over_words, prepare_pair
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.serialise import HIDDEN


@dataclass(frozen=True, slots=True)
class StackMaps:
    """The maps of one stack: weights, the cells of a layer that may have any (True), and the labels along both sides.

    `present` marks the heads that are switched on (None: all); the weights of the others are zero. `over_words` are the
    weights over words, where they do not follow from those over pieces as attention weights do.
    """

    weights: Float[Tensor, "L H Q K"]
    mask: Bool[Tensor, "L Q K"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    present: Bool[Tensor, "L H"] | None = None
    over_words: Float[Tensor, "L H W V"] | None = field(default=None, metadata=HIDDEN)

    def heads(self, layer: int) -> list[int]:
        """The heads that a layer has; both are counted from 0."""
        every = range(self.weights.shape[1])
        return [head for head in every if self.present is None or self.present[layer, head]]

    def matrix(self, layer: int, head: int | None) -> list[list[float | None]]:
        """A head, or without one the mean over all that are present; both count from 0."""
        return self.mean([(layer, present) for present in self.heads(layer) if head in (None, present)])

    def mean(self, heads: Sequence[tuple[int, int]]) -> list[list[float | None]]:
        """The mean over heads, each a layer and a number from 0; None where no query of theirs may attend."""
        layers, numbers = [layer for layer, _ in heads], [number for _, number in heads]
        weights, allowed = self.weights[layers, numbers].mean(dim=0), self.mask[layers].any(dim=0)
        return [
            [weight if may else None for weight, may in zip(*row, strict=True)]
            for row in zip(weights.tolist(), allowed.tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """`weights[layer][head][row][column]`, null where a query may not attend, and for a head that was left out."""
        weights = [
            [head if j in self.heads(i) else None for j, head in enumerate(layer)]
            for i, layer in enumerate(self.weights.masked_fill(~self.mask[:, None], math.nan))
        ]
        return {"rows": self.rows, "columns": self.columns, "weights": weights}


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """The maps of a sentence pair by a method of `METHODS` for each stack, over pieces or, after `by_words`, words."""

    source: str
    target: str
    method: str
    stacks: dict[str, StackMaps]
    tokens: PairTokens = field(metadata=HIDDEN)

    def by_words(self) -> "AttentionMaps":
        """The maps over words: those that a stack has of its own, else a word's mean over rows and sum over columns."""
        stacks = {}
        for name, maps in self.stacks.items():
            sides = self.tokens.sides(name)
            rows, columns = (side.membership() for side in sides)
            weights = maps.over_words
            if weights is None:
                weights = torch.from_numpy(over_words(maps.weights.numpy(), rows, columns))
            # Any piece of the word to any piece of the other.
            mask = torch.from_numpy(rows @ maps.mask.float().numpy() @ columns.T > 0.0)
            stacks[name] = StackMaps(weights, mask, sides[0].words, sides[1].words, maps.present)
        return replace(self, stacks=stacks)


def maps_of(method: str, tokens: PairTokens, stacks: dict[str, StackMaps]) -> AttentionMaps:
    """The maps of a pair over pieces."""
    return AttentionMaps(tokens.source.text, tokens.written.text, method, stacks, tokens)


@checked
def attend_pair(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> AttentionMaps:
    """Every attention map while the model, in evaluation mode, reads the source and writes the target.

    The decoder is given the target (teacher forcing): it reads `<s>` and the target's pieces, and each row of its maps
    is labelled with the piece *predicted* there, the last one `</s>`. So in `cross` the row of a piece says where the
    model looked to write it, and in `decoder` the columns are one behind the rows: they start with `<s>`.

    A text is cut into its most probable pieces; a search can have found the same text in others. Raises `InputError`
    for a text longer than the model's `max_length`.
    """
    tokens = prepare_pair(model, tokenizer, source, target)
    return maps_of("weights", tokens, weights_of_pair(model, tokens))


def weights_of_pair(model: Seq2Seq, tokens: PairTokens) -> dict[str, StackMaps]:
    """The attention weights of every stack."""
    with evaluating(model), record_attention(model) as recording:
        require_finite(model(*tokens.inputs(next(model.parameters()).device)))
    stacks = {}
    for name, modules in model.attention_stacks().items():
        layers = recording.of_tokens(name, len(tokens.source.ids), len(tokens.read.ids))
        rows, columns = (side.pieces for side in tokens.sides(name))
        every = torch.ones(len(rows), len(columns), dtype=torch.bool)
        graphs = [getattr(module, "graph", None) for module in modules]  # a single sentence has no padding
        mask = torch.stack([graph.mask(*every.shape, device=every.device) if graph else every for graph in graphs])
        present = torch.tensor([[j + 1 in active_heads(module) for j in range(module.heads)] for module in modules])
        weights = torch.cat(layers).float().cpu()  # one sentence: L 1 H Q K -> L H Q K
        if present.all() or not present.any():  # a stack that is switched off as a whole still shows its weights
            stacks[name] = StackMaps(weights, mask, rows, columns)
        else:
            stacks[name] = StackMaps(weights * present[:, :, None, None], mask, rows, columns, present)
    return stacks
