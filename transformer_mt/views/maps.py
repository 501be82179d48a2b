"""The attention maps of a sentence pair over tokens and over words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.links.recording import attention_of
from transformer_mt.links.tokens import PairTokens, over_words, prepare_pair
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.brief import Brief
from transformer_mt.text.html import html_matrix
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.serialise import HIDDEN


@dataclass(frozen=True, repr=False)
class StackMaps(Brief):
    """The maps of one stack: weights, a mask of the cells that may be attended to (True), and the labels of both sides.

    `present` marks the heads that are on (None: all); weights of the others are zero. `over_words` has weights over
    words for methods that do not derive them from tokens by means and sums.
    """

    weights: Float[Tensor, "L H Q K"]
    mask: Bool[Tensor, "L Q K"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    present: Bool[Tensor, "L H"] | None = None
    over_words: Float[Tensor, "L H W V"] | None = field(default=None, metadata=HIDDEN)

    def heads(self, stack: str) -> list[HeadName]:
        """The heads that are on."""
        present = torch.ones(self.weights.shape[:2]) if self.present is None else self.present
        return [HeadName(stack, i + 1, j + 1) for i, j in present.nonzero().tolist()]

    def mean(self, heads: Sequence[HeadName]) -> Float[np.ndarray, "Q K"]:
        """The mean over heads; NaN in cells masked in all their layers."""
        layers = [head.layer - 1 for head in heads]
        weights = self.weights[layers, [head.head - 1 for head in heads]].mean(dim=0)
        return weights.masked_fill(~self.mask[layers].any(dim=0), math.nan).double().numpy()

    def to_json(self) -> JsonObject:
        """`rows`, `columns` and `weights[layer][head][row][column]`; null for masked cells and heads that are off."""
        weights = [list(layer) for layer in self.weights.masked_fill(~self.mask[:, None], math.nan)]
        for layer, head in () if self.present is None else (~self.present).nonzero().tolist():
            weights[layer][head] = None
        return {"rows": self.rows, "columns": self.columns, "weights": weights}


MapsByStack = dict[str, StackMaps]


@dataclass(frozen=True, repr=False)
class AttentionMaps(Brief):
    """The maps of a sentence pair by a method of `METHODS` for each stack, over tokens or, after `by_words`, words."""

    source: str
    target: str
    method: str
    stacks: MapsByStack
    tokens: PairTokens = field(metadata=HIDDEN)

    def _repr_html_(self) -> str:
        """The mean over heads of each stack."""
        tables = []
        for stack, maps in reversed(self.stacks.items()):
            if heads := maps.heads(stack):
                title = f"{STACKS[stack]}, {self.method}" + (f", mean of {len(heads)} heads" if len(heads) > 1 else "")
                tables.append(html_matrix(maps.mean(heads).tolist(), maps.rows, maps.columns, title=title))
        return "".join(tables)

    def by_words(self) -> "AttentionMaps":
        """The maps over words: a stack's own `over_words`, or the mean over a word's rows and sum over its columns."""
        stacks = {}
        for name, maps in self.stacks.items():
            sides = self.tokens.sides(name)
            rows, columns = (side.membership() for side in sides)
            weights = maps.over_words
            if weights is None:
                weights = torch.from_numpy(over_words(maps.weights.numpy(), rows, columns))
            # True if any token of one word may attend to any of the other.
            mask = torch.from_numpy(rows @ maps.mask.float().numpy() @ columns.T > 0.0)
            stacks[name] = StackMaps(weights, mask, sides[0].words, sides[1].words, maps.present)
        return replace(self, stacks=stacks)


def attend_pair(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> AttentionMaps:
    """All attention maps of a pair, under teacher forcing in evaluation mode.

    The decoder reads `<s>` and the target's tokens; each row of its maps is labelled with the token *predicted* there,
    the last one `</s>`. So in `cross`, a token's row shows where the model looked to write it. In `decoder`, the
    columns are one behind the rows: they start with `<s>`.

    Texts use their most probable tokens; a search may have found the same text with others. Raises `InputError` for a
    text longer than the model's `max_length`, and `MachineError` if the model's numbers are not finite.
    """
    tokens = prepare_pair(model, tokenizer, source, target)
    return AttentionMaps(tokens.source.text, tokens.written.text, "weights", weights_of_pair(model, tokens), tokens)


def weights_of_pair(model: Seq2Seq, tokens: PairTokens) -> MapsByStack:
    """The attention weights of every stack. Raises `MachineError` if the model's numbers are not finite."""
    stacks = {}
    for name, layers in attention_of(model, *tokens.inputs(model)).items():
        modules = model.attention_stacks()[name]
        rows, columns = (side.pieces for side in tokens.sides(name))
        mask = torch.ones(len(modules), len(rows), len(columns), dtype=torch.bool)  # no padding in a single sentence
        present = torch.zeros(len(modules), modules[0].heads, dtype=torch.bool)
        for layer, module in enumerate(modules):
            present[layer, active_heads(module)] = True
            if graph := getattr(module, "graph", None):
                mask[layer] = graph.mask(len(rows), len(columns), device=mask.device)
        maps = StackMaps(torch.cat(layers).float().cpu(), mask, rows, columns)  # layers of 1 H Q K
        if present.any() and not present.all():  # a stack with all heads off still shows its weights
            maps = replace(maps, weights=maps.weights * present[:, :, None, None], present=present)
        stacks[name] = maps
    return stacks
