"""The attention maps of one sentence pair, with the tokens beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_mt.attention.graphs import Graph
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.recording import record_attention
from transformer_mt.views.words import PairTokens, merge_mask, merge_pieces, tokenize_pair

# What a number keeps in JSON: enough for every use of a weight, in a third of the characters.
SIGNIFICANT_DIGITS = 5


@dataclass(frozen=True, slots=True)
class StackMaps:
    """The maps of one stack: weights, which cells of a layer may have any (True), and the labels along both sides.

    `present` says which heads the model has (None: all); of those that have been left out, the weights are zero.
    """

    weights: Float[Tensor, "L H Q K"]
    mask: Bool[Tensor, "L Q K"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    present: Bool[Tensor, "L H"] | None = None

    def has(self, layer: int, head: int) -> bool:
        """Whether the model has that head, counted from 0."""
        return self.present is None or bool(self.present[layer, head])

    def matrix(self, layer: int, head: int | None) -> list[list[float | None]]:
        """One map as rows of numbers, None where a query may not attend, and everywhere for a head that is not there.

        Layers and heads count from 0; without a head it is the mean over all there are, whose rows sum to 1 too.
        """
        heads = [number for number in range(self.weights.shape[1]) if self.has(layer, number)]
        chosen = self.weights[layer, [number for number in heads if head in (None, number)]]
        mask = (self.mask[layer] & bool(len(chosen))).tolist()
        weights = chosen.sum(dim=0).div(max(len(chosen), 1)).tolist()
        return [
            [weight if may else None for weight, may in zip(*row, strict=True)]
            for row in zip(weights, mask, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """The maps of a sentence pair by stack: `encoder`, `decoder` and `cross`, those that the model has.

    Rows and columns are pieces; in what `by_words` gives they are words. `over_words` has the matrices over words of
    those stacks where they do not follow from those over pieces as attention weights do.
    """

    source: str
    target: str
    tokens: PairTokens
    stacks: dict[str, StackMaps]
    over_words: Mapping[str, Float[Tensor, "L H W V"]] = field(default_factory=dict)

    def by_words(self) -> "AttentionMaps":
        """The maps over words: those of `over_words`, and of other stacks the mean over the pieces of a row's word and
        the sum over those of a column's."""
        stacks = {}
        for name, maps in self.stacks.items():
            rows, columns = self.tokens.sides(name)
            given = self.over_words.get(name)
            weights = merge_pieces(maps.weights, rows, columns) if given is None else given
            mask = merge_mask(maps.mask, rows, columns)
            stacks[name] = StackMaps(weights, mask, rows.words, columns.words, maps.present)
        return replace(self, stacks=stacks)

    def arrays(self) -> dict[str, np.ndarray]:
        """The maps for `numpy.savez`: `cross.weights`, `cross.mask`, `cross.rows` and `cross.columns`, …

        `cross.present` stands there where heads have been left out of the stack.
        """
        found: dict[str, np.ndarray] = {"source": np.array(self.source), "target": np.array(self.target)}
        for name, maps in self.stacks.items():
            found |= {f"{name}.weights": maps.weights.numpy(), f"{name}.mask": maps.mask.numpy()}
            found |= {f"{name}.rows": np.array(maps.rows), f"{name}.columns": np.array(maps.columns)}
            found |= {} if maps.present is None else {f"{name}.present": maps.present.numpy()}
        return found

    def to_json(self) -> dict[str, Any]:
        """The maps as plain lists, ready for `json.dumps`.

        Keys: `source` and `target`, the texts; `stacks`, which has for each stack `rows` and `columns`, the labels, and
        `weights[layer][head][row][column]`, numbers of `SIGNIFICANT_DIGITS` digits, null where a query may not attend;
        in place of a head that has been left out stands null.
        """
        stacks = {
            name: {"rows": list(maps.rows), "columns": list(maps.columns), "weights": _plain(maps)}
            for name, maps in self.stacks.items()
        }
        return {"source": self.source, "target": self.target, "stacks": stacks}


def attend_pair(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> AttentionMaps:
    """Every attention map while the model, in evaluation mode, reads the source and writes the target.

    The decoder is given the target (teacher forcing): it reads `<s>` and the target's pieces, and each row of its maps
    is labelled with the piece *predicted* there, the last one `</s>`. So in `cross` the row of a piece says where the
    model looked to write it, and in `decoder` the columns are one behind the rows: they start with `<s>`. Sources end
    with `</s>`, which has a row and a column like any other piece.

    A text is cut into its most probable pieces; a search can have found the same text in others. Raises `InputError`
    for a text longer than the model's `max_length`.
    """
    tokens = tokenize_pair(tokenizer, source, target, limit=model.max_length)
    with evaluating(model), record_attention(model) as recording:
        require_finite(model(*tokens.inputs(next(model.parameters()).device)))
    stacks = {}
    for name, modules in model.attention_stacks().items():
        if recording[name]:
            rows, columns = (side.pieces for side in tokens.sides(name))
            mask = torch.stack([edges(module, len(rows), len(columns)) for module in modules])
            (weights,) = recording.stacked(name).float().cpu()  # 1 L H Q K -> L H Q K
            stacks[name] = StackMaps(weights, mask, rows, columns)
    return AttentionMaps(source, target, tokens, stacks)


def edges(module: nn.Module, queries: int, keys: int) -> Bool[Tensor, "Q K"]:
    """Where the module's graph has an edge; everywhere for a module without one. A single sentence has no padding."""
    graph = getattr(module, "graph", None)
    if not isinstance(graph, Graph):
        return torch.ones(queries, keys, dtype=torch.bool)
    return graph.mask(queries, keys, device=torch.device("cpu"))


def _plain(maps: StackMaps) -> list[list[list[list[float | None]] | None]]:
    layers, heads = maps.weights.shape[:2]
    return [
        [[_rounded(row) for row in maps.matrix(i, j)] if maps.has(i, j) else None for j in range(heads)]
        for i in range(layers)
    ]


def _rounded(row: list[float | None]) -> list[float | None]:
    return [None if weight is None else float(f"{weight:.{SIGNIFICANT_DIGITS}g}") for weight in row]
