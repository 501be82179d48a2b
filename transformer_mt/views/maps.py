"""A sentence pair as a model reads and writes it, its attention as it is computed, and its maps over pieces and words.

A matrix over pieces becomes one over words by the mean over the rows of a word and the sum over its columns
(Clark et al. 2019, §4.1), so rows that sum to 1 still do.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_mt.attention.showing import Shown, watching
from transformer_mt.errors import InputError, checked
from transformer_mt.models.head_mask import active_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.registry import STACKS
from transformer_mt.tokenizer.prepared import Owners, PreparedSentence, Preparer
from transformer_mt.tokenizer.symbols import BOS, EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.data import HIDDEN

# W words, N pieces: 1 where a piece belongs to a word.
Membership = Float[np.ndarray, "W N"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """One side of a pair with its special symbols: ids, pieces and words; a symbol is a word of its own.

    `words_of_piece` has for each piece the numbers of the words that it belongs to.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    words_of_piece: tuple[Owners, ...]

    @classmethod
    def of(cls, sentence: PreparedSentence, *, begins: bool = False) -> "Tokens":
        """A sentence with `</s>` behind it or, where it `begins`, `<s>` before it."""
        ids, pieces, words, owners = sentence.ids, sentence.pieces, sentence.words, sentence.words_of_piece
        if begins:
            owners = ((0,), *(tuple(word + 1 for word in of_piece) for of_piece in owners))
            return cls(sentence.text, (BOS, *ids), ("<s>", *pieces), ("<s>", *words), owners)
        return cls(sentence.text, (*ids, EOS), (*pieces, "</s>"), (*words, "</s>"), (*owners, (len(words),)))

    def by_words(self) -> list[tuple[str, list[str]]]:
        """Every word with its pieces."""
        pieces: list[list[str]] = [[] for _ in self.words]
        for owners, piece in zip(self.words_of_piece, self.pieces, strict=True):
            for word in owners:
                pieces[word].append(piece)
        return list(zip(self.words, pieces, strict=True))

    def membership(self) -> Float[np.ndarray, "W N"]:
        """W words, N pieces: 1 where a piece belongs to the word."""
        matrix = np.zeros((len(self.words), len(self.pieces)), np.float32)
        for piece, owners in enumerate(self.words_of_piece):
            matrix[list(owners), piece] = 1.0
        return matrix


@dataclass(frozen=True, slots=True)
class PairTokens:
    """A pair under teacher forcing: the source with `</s>`; `<s>` and the target; and the target with `</s>`."""

    source: Tokens
    read: Tokens
    written: Tokens

    @classmethod
    def of(cls, source: PreparedSentence, target: PreparedSentence, *, limit: int) -> "PairTokens":
        """The tokens of a pair. Raises `InputError` for a side of more than `limit` tokens, the end symbol included."""
        pair = cls(Tokens.of(source), Tokens.of(target, begins=True), Tokens.of(target))
        for place, tokens in (("SENTENCE", pair.source), ("--target", pair.written)):
            if len(tokens.ids) > limit:
                raise InputError(f"{place}: {len(tokens.ids)} tokens, the model takes at most {limit}; shorten it")
        return pair

    def sides(self, stack: str) -> tuple[Tokens, Tokens]:
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.written, self.read),
            "cross": (self.written, self.source),
        }[stack]

    def inputs(self, device: torch.device) -> tuple[Int[Tensor, "1 S"], Int[Tensor, "1 T"]]:
        return torch.tensor([self.source.ids], device=device), torch.tensor([self.read.ids], device=device)


def prepare_pair(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> PairTokens:
    """The tokens of two texts, each as one sentence. Raises `InputError` for one that is too long for the model."""
    prepare = Preparer(tokenizer)
    return PairTokens.of(prepare.sentence(source), prepare.sentence(target), limit=model.max_length)


def over_words(
    weights: Float[np.ndarray, "*N Q K"], rows: Float[np.ndarray, "W Q"], columns: Float[np.ndarray, "V K"]
) -> Float[np.ndarray, "*N W V"]:
    """Matrices over words, by the memberships of both sides: the mean over a word's rows, the sum over its columns.

    Words share the column of a piece that belongs to several. In NumPy: for matrices this small, torch's threads cost
    more than they gain.
    """
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0) @ weights @ shared(columns).T


def shared(columns: Membership) -> Membership:
    """Each piece divided among its words, so that a row's sum over words is that over pieces."""
    return columns / np.maximum(columns.sum(axis=0, keepdims=True), 1.0)


class Recording(Mapping[str, list[Tensor]]):
    """The attention weights of one forward pass: for each of `attention_stacks` a tensor B H Q K a layer, first first.

    They are weights before dropout, and the very tensors that the model went on with, so they have gradients.

    A decoder that reads its target in several steps counts as one pass; keys that a step did not have yet weigh zero.
    Row b of every step must be the same sentence, unlike in a search; use `attend_pair` for the result of one.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self._stacks = model.attention_stacks()
        self._shown: dict[tuple[nn.Module, str], list[Tensor]] = defaultdict(list)

    def add(self, shown: Shown) -> None:
        if shown.symbol in ("α_j", "v_j"):
            self._shown[shown.module, shown.symbol].append(shown.value)

    def __getitem__(self, stack: str) -> list[Tensor]:
        """The layers of a stack, none before the first pass. Raises `ValueError` after more than one pass."""
        if not all(map(self._is_one_pass, self._stacks)):
            raise ValueError("the recording holds more than one pass, or a search; open one for each forward pass")
        return [_joined(steps) for steps in self._steps(stack, "α_j")]

    def of_tokens(self, stack: str, source: int, target: int) -> list[Tensor]:
        """The layers of a stack over that many tokens of the source and of the target.

        Raises `InputError` for a model that attends to others there, as one stack for both sides does, or shows none.
        """
        sizes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}[stack]
        layers = self[stack]
        if [layer.shape[2:] for layer in layers] != [sizes] * len(self._stacks[stack]):
            problem = f"the {STACKS[stack]} of this model is not between the tokens that the view shows"
            raise InputError(f"model.kind: {problem}; look at it through the lens, or by erasure")
        return layers

    def values_of(self, stack: str) -> list[Float[Tensor, "B H K d"]]:
        """The values that the weights of each layer weigh, from the last step, which has seen the most."""
        return [steps[-1] for steps in self._steps(stack, "v_j")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stacks)

    def __len__(self) -> int:
        return len(self._stacks)

    def _steps(self, stack: str, symbol: str) -> list[list[Tensor]]:
        return [steps for module in self._stacks[stack] if (steps := self._shown[module, symbol])]

    def _is_one_pass(self, stack: str) -> bool:
        """True if each token of a self-attention was a query once, and the keys of a cross-attention stayed."""
        for steps in self._steps(stack, "α_j"):
            batches, _, queries, keys = zip(*(step.shape for step in steps), strict=True)
            is_whole = len(set(keys)) == 1 if stack == "cross" else sum(queries) == keys[-1]
            if not is_whole or len(set(batches)) > 1:
                return False
        return True


@checked
@contextmanager
def record_attention(model: Seq2Seq) -> Iterator[Recording]:
    """While this is open, the weights of every attention layer are gathered; see `Recording`. Recordings nest."""
    recording = Recording(model)
    with watching(recording.add):
        yield recording


def _joined(steps: list[Tensor]) -> Tensor:
    """The queries of all steps, over the keys of the last; of a single step its own tensor, for gradients."""
    if len(steps) == 1:
        return steps[0]
    keys = steps[-1].shape[3]
    return torch.cat([F.pad(step, (0, keys - step.shape[3])) for step in steps], dim=2)


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
