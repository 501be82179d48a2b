"""What a matrix of source and target can say besides raw attention weights: the methods of attribution, by name.

To add one, subclass `Method` and enter it in `METHODS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from transformer_mt.errors import InputError
from transformer_mt.inspection.contributions import roll_out, value_norms
from transformer_mt.inspection.erasure import Part, erase
from transformer_mt.inspection.gradients import gradient_times_input, integrated_gradients
from transformer_mt.inspection.maps import AttentionMaps, StackMaps, attend_pair
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.models.transformer import Transformer
from transformer_mt.registry import STACKS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.recording import Recording, record_attention
from transformer_mt.views.words import PairTokens, sum_pieces, tokenize_pair

ALL = tuple(STACKS)


class Method(ABC):
    """A way to say how much each column matters to each row of a stack's matrices.

    `whole` methods have one matrix of the whole model a stack, as layer 1 and head 1; the others one for every layer
    and head. `meaning` completes "A number is …".
    """

    whole: ClassVar[bool]
    meaning: ClassVar[str]

    def applies_to(self, model: Seq2Seq) -> bool:
        """Whether the method has something to say of this model."""
        return True

    @abstractmethod
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        """The matrices of a pair under teacher forcing, over pieces, of those of the stacks that the method speaks of.

        Raises `InputError` for a text that is too long, and for a model that the method does not apply to.
        """


class Weights(Method):
    """α_ij, the attention weights themselves."""

    whole = False
    meaning = "the weight that the row's token gives to the column's; a row sums to 1"

    @override
    def applies_to(self, model: Seq2Seq) -> bool:
        return bool(model.attention_stacks())

    @override
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        maps = attend_pair(model, tokenizer, source, target)
        return replace(maps, stacks={name: found for name, found in maps.stacks.items() if name in stacks})


class Values(Weights):
    """‖α_ij v_j W_o‖, for which a large weight on a short vector counts little (Kobayashi et al. 2020)."""

    whole = False
    meaning = "the length of the vector that the column's token adds to the row's: weight times projected value"

    @override
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        with record_attention(model) as recording:
            maps = super().maps(model, tokenizer, source, target, stacks=stacks)
        found = {name: _norms(model, recording, name, stack) for name, stack in maps.stacks.items()}
        return replace(maps, stacks=found)


class Rollout(Method):
    """The weights of all layers multiplied out, down to the tokens (Abnar and Zuidema 2020); see `roll_out`."""

    whole = True
    meaning = "the share of the row that comes from the column's token, all layers together; a row sums to 1"

    @override
    def applies_to(self, model: Seq2Seq) -> bool:
        return isinstance(model, Transformer)

    @override
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        if not self.applies_to(model):
            raise InputError(
                "rollout: it multiplies the weights of a Transformer's layers, and this model is recurrent; "
                "choose another method, such as values"
            )
        with record_attention(model) as recording:
            maps = attend_pair(model, tokenizer, source, target)
        rolled = roll_out({name: recording[name] for name in maps.stacks})
        matrices = {name: matrix.float().cpu() for name, matrix in rolled.items() if name in stacks}
        return _whole_maps(maps.tokens, source, target, matrices)


class Gradient(Method):
    """x_j · ∂ ln p(y_i) / ∂x_j: gradient × input; see `gradient_times_input`."""

    whole = True
    meaning = "the slope of the row's ln p along the column's embedding, times that; below zero it speaks against"
    attribution: ClassVar = staticmethod(gradient_times_input)

    @override
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        """Over words rows and columns are summed: ln p of a word is the sum over its pieces, and so are its parts."""
        tokens = tokenize_pair(tokenizer, source, target, limit=model.max_length)
        chosen = [stack for stack in ("decoder", "cross") if stack in stacks]
        matrices = {stack: self.attribution(model, tokens, stack=stack).cpu() for stack in chosen}
        over_words = {stack: sum_pieces(matrix, *tokens.sides(stack)) for stack, matrix in matrices.items()}
        return _whole_maps(tokens, source, target, matrices, over_words=over_words)


class Integrated(Gradient):
    """The same, integrated on the way from zero to the embeddings (Sundararajan et al. 2017); see
    `integrated_gradients`."""

    whole = True
    meaning = "what the column's embedding adds to the row's ln p on the way from zero; a row sums to all that is added"
    attribution: ClassVar = staticmethod(integrated_gradients)


class Erasure(Method):
    """How far ln p of the row falls without the column (Li et al. 2016); see `erase`."""

    whole = True
    meaning = "how far the row's ln p falls when the column is taken out of the sentence; below zero it rises"

    @override
    def maps(
        self, model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str, *, stacks: Collection[str] = ALL
    ) -> AttentionMaps:
        """Over words all pieces of a column's word are taken out at once, and the rows of a word are summed."""
        tokens = tokenize_pair(tokenizer, source, target, limit=model.max_length)
        matrices, over_words = {}, {}
        for stack in [stack for stack in ("decoder", "cross") if stack in stacks]:
            rows, columns = tokens.sides(stack)
            pieces, words = _parts(range(len(columns.pieces))), _parts(columns.word_of_piece)
            parts = list(dict.fromkeys((*pieces, *words)))  # a word of one piece is taken out once
            falls = erase(model, tokens, parts, stack=stack).cpu()
            matrices[stack] = falls[:, list(map(parts.index, pieces))]
            over_words[stack] = rows.membership() @ falls[:, list(map(parts.index, words))]
        maps = _whole_maps(tokens, source, target, matrices, over_words=over_words)
        if "decoder" in stacks:
            maps.stacks["decoder"].mask[:, :, 0] = False  # `<s>`, which cannot be taken out
        return maps


METHODS: dict[str, type[Method]] = {
    "weights": Weights,
    "values": Values,
    "rollout": Rollout,
    "gradient": Gradient,
    "integrated": Integrated,
    "erasure": Erasure,
}


def _norms(model: Seq2Seq, recording: Recording, name: str, maps: StackMaps) -> StackMaps:
    """The maps of a stack with the lengths of what was added in place of the weights; zeros for heads left out."""
    norms = torch.zeros_like(maps.weights)
    layers = zip(model.attention_stacks()[name], recording[name], recording.values_of(name), strict=True)
    for layer, (module, weights, values) in enumerate(layers):
        norms[layer] = value_norms(module, weights, values)[0].float().cpu()
    return replace(maps, weights=norms)


def _parts(group_of_piece: Sequence[int]) -> list[Part]:
    """The pieces of each group, such as a word."""
    groups: dict[int, list[int]] = {}
    for piece, group in enumerate(group_of_piece):
        groups.setdefault(group, []).append(piece)
    return [frozenset(groups[group]) for group in sorted(groups)]


def _whole_maps(
    tokens: PairTokens,
    source: str,
    target: str,
    matrices: Mapping[str, Float[Tensor, "_ _"]],
    *,
    over_words: Mapping[str, Float[Tensor, "_ _"]] = MappingProxyType({}),
) -> AttentionMaps:
    """One matrix a stack, as that of its only layer and head; in the decoder's no row sees what comes after it."""
    stacks = {}
    for name, matrix in matrices.items():
        rows, columns = (side.pieces for side in tokens.sides(name))
        mask = torch.ones(1, len(rows), len(columns), dtype=torch.bool)
        stacks[name] = StackMaps(matrix[None, None], mask.tril() if name == "decoder" else mask, rows, columns)
    return AttentionMaps(
        source, target, tokens, stacks, {name: words[None, None] for name, words in over_words.items()}
    )
