"""Attribution methods by name: raw attention weights, and other numbers for a matrix to show.

To add one, subclass `Method` and register it in `METHODS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS
from transformer_mt.ground.progress import advance
from transformer_mt.links.tokens import PairTokens, shared
from transformer_mt.models.batches import BATCH_TOKENS
from transformer_mt.models.recurrent import RecurrentSeq2Seq
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.views.maps import AttentionMaps, MapsByStack, StackMaps, weights_of_pair

# For each part of a sentence, such as a word, the tokens to erase together (True).
ErasedParts = Bool[Tensor, "N L"]
# Computes the numbers to explain from logits, *N T V: one for each of the last R rows, *N R.
Explained = Callable[[Tensor], Tensor]


class Method(ABC):
    """A measure of how much each column matters to each row of a stack's matrices.

    `meaning` completes "A number is …". A `whole` method has one matrix per stack for the whole model, stored as head 1
    of layer 1; others have one per head.
    """

    name: ClassVar[str]
    whole: ClassVar[bool]
    meaning: ClassVar[str]

    def applies_to(self, model: Seq2Seq) -> bool:
        """True if the method can be computed for the model; by default, methods per head need attention."""
        return self.whole or bool(model.attention_stacks())

    def maps(self, model: Seq2Seq, tokens: PairTokens, *, stacks: Collection[str] = STACKS) -> AttentionMaps:
        """The matrices over tokens, for the given stacks that the method covers."""
        found = self.compute(model, tokens, stacks)
        return AttentionMaps(tokens.source.text, tokens.written.text, self.name, found, tokens)

    @abstractmethod
    def compute(self, model: Seq2Seq, tokens: PairTokens, stacks: Collection[str]) -> MapsByStack:
        """Compute the maps over tokens, L H Q K, for the given stacks that the method covers.

        Raises `InputError` if the method does not apply to the model.
        """


class AttentionWeights(Method):
    """α_ij, the attention weights themselves."""

    name = "weights"
    whole = False
    meaning = "the weight a row's token gives to a column's; a row sums to 1"

    @override
    def compute(self, model: Seq2Seq, tokens: PairTokens, stacks: Collection[str]) -> MapsByStack:
        return {name: maps for name, maps in weights_of_pair(model, tokens).items() if name in stacks}


class OfModel(Method):
    """A method with one matrix for the whole model, for the stacks `decoder` and `cross`."""

    whole = True
    # The first column with numbers in the decoder's matrix.
    first: ClassVar[int] = 0

    @abstractmethod
    def matrices(self, model: Seq2Seq, tokens: PairTokens, stack: str) -> tuple[Tensor, Tensor]:
        """Compute a stack's matrix over tokens, and its matrix over words."""

    @override
    def compute(self, model: Seq2Seq, tokens: PairTokens, stacks: Collection[str]) -> MapsByStack:
        by_stack = {}
        for stack in ("decoder", "cross"):
            if stack in stacks:
                rows, columns = (side.pieces for side in tokens.sides(stack))
                of_pieces, of_words = self.matrices(model, tokens, stack)
                mask = torch.ones(1, *of_pieces.shape, dtype=torch.bool)
                if stack == "decoder":  # rows do not see later tokens
                    mask = mask.tril()
                    mask[:, :, : self.first] = False
                by_stack[stack] = StackMaps(of_pieces[None, None], mask, rows, columns, over_words=of_words[None, None])
        return by_stack


class Gradient(OfModel):
    """x_j · ∂ ln p(y_i) / ∂x_j: gradient × input; see `gradient_times_input`.

    Over words, rows and columns are summed: ln p of a word is the sum over its tokens.
    """

    name = "gradient"
    meaning = "the gradient of the row's ln p for the column's embedding, times the embedding; below zero it is against"

    @override
    def applies_to(self, model: Seq2Seq) -> bool:
        return isinstance(model, Transformer | RecurrentSeq2Seq)

    @override
    def matrices(self, model: Seq2Seq, tokens: PairTokens, stack: str) -> tuple[Tensor, Tensor]:
        rows, columns = (side.membership() for side in tokens.sides(stack))
        of_pieces = gradient_times_input(model, tokens, stack=stack).cpu()
        return of_pieces, torch.from_numpy(rows @ of_pieces.numpy() @ shared(columns).T)


class Erasure(OfModel):
    """The fall of the row's ln p without the column (Li et al. 2016); see `erase`.

    Over words, all tokens of a column's word are erased at once, and the rows of a word are summed.
    """

    name = "erasure"
    first = 1  # `<s>` cannot be erased
    meaning = "how far the row's ln p falls when the column is taken out of the sentence; below zero it rises"

    @override
    def matrices(self, model: Seq2Seq, tokens: PairTokens, stack: str) -> tuple[Tensor, Tensor]:
        rows, columns = tokens.sides(stack)
        pieces = torch.eye(len(columns.pieces))
        words = torch.from_numpy(columns.membership())
        # A word of a single token is erased only once.
        parts, places = torch.unique(torch.cat((pieces, words)).bool(), dim=0, return_inverse=True)
        falls = erase(model, tokens, parts, stack=stack).cpu()[:, places]
        of_words = torch.from_numpy(rows.membership()) @ falls[:, len(pieces) :]
        return falls[:, : len(pieces)], of_words


METHODS: dict[str, type[Method]] = {method.name: method for method in (AttentionWeights, Gradient, Erasure)}
REFERENCE = Erasure.name  # the method to compare others with


def log_p_of(written: Sequence[int]) -> Explained:
    """ln p of each written token."""
    return lambda logits: logits.log_softmax(dim=-1)[..., range(len(written)), list(written)]


def gradient_times_input(
    model: Seq2Seq, tokens: PairTokens, *, stack: str, of: Explained | None = None
) -> Float[Tensor, "R N"]:
    """x_j · ∂ ln p(y_i) / ∂x_j for the columns of `cross` or `decoder` (Denil et al. 2014; Shrikumar et al. 2016).

    `of` replaces ln p of the written tokens. Positive numbers are evidence for the row's token, negative ones against
    it. x_j is the token's embedding without its position, since removing a token does not remove the position. Raises
    `InputError` for other models than a Transformer or a recurrent one.
    """
    if not isinstance(model, Transformer | RecurrentSeq2Seq):
        raise InputError("method", "gradient needs a Transformer or a recurrent model", "choose another")
    source, read = tokens.inputs(model)
    # cuDNN computes gradients of a GRU only in training mode.
    with evaluating(model, gradients=True), torch.backends.cudnn.flags(enabled=False):
        side, ids = (model.source_embedding, source) if stack == "cross" else (model.target_embedding, read)
        x = side.table.weight.detach()[ids].requires_grad_()
        # The hook makes the table return x for this side only; the other may share the table.
        with side.table.register_forward_hook(lambda _, given, __: x if given[0] is ids else None):
            logits, _ = model.decode(read, model.start(source))
        slopes = []
        for row in (of or log_p_of(tokens.written.ids))(logits[0]):
            advance(0)
            slopes.append(torch.autograd.grad(row, x, retain_graph=True)[0][0])
        return (torch.stack(slopes) * x.detach()).sum(dim=-1)


def erase(
    model: Seq2Seq, tokens: PairTokens, parts: ErasedParts, *, stack: str, of: Explained | None = None
) -> Float[Tensor, "R N"]:
    """ln p(y_i) − ln p(y_i | without part j), for parts of the source (`cross`) or of the target before i (`decoder`).

    Li et al. 2016. `of` replaces ln p of the written tokens. The part is removed and the sentence becomes shorter (Jain
    and Wallace 2019, §4.1): the model was never trained on a zero vector or `<unk>` in its place. Later tokens move up,
    and this change of position counts too. `<s>` always stays, and its fall is zero. Raises `MachineError` if the
    model's numbers are not finite.
    """
    at_once = max(1, BATCH_TOKENS // max(len(tokens.source.ids), len(tokens.read.ids)))
    of = of or log_p_of(tokens.written.ids)
    with evaluating(model):
        whole = of(_logits_without(model, tokens, torch.zeros_like(parts[:1]), stack=stack))
        without = [of(_logits_without(model, tokens, some, stack=stack)) for some in torch.split(parts, at_once)]
        falls = whole - torch.cat(without)
    if stack == "decoder":  # tokens read later cannot matter: exactly zero, without rounding errors
        has_read = parts.index_fill(1, torch.tensor(0), False).cummax(dim=1).values[:, -falls.shape[1] :]
        falls = falls.masked_fill(~has_read.to(falls.device), 0.0)
    return falls.T


def _logits_without(model: Seq2Seq, tokens: PairTokens, parts: ErasedParts, *, stack: str) -> Float[Tensor, "N T V"]:
    """The logits for each written token, without each part of the source or of the target."""
    device = next(model.parameters()).device
    ids = {"cross": torch.tensor(tokens.source.ids), "decoder": torch.tensor(tokens.read.ids)}
    kept = {side: torch.ones(len(parts), len(whole), dtype=torch.bool) for side, whole in ids.items()}
    kept[stack] = ~parts
    kept["decoder"][:, 0] = True  # `<s>`
    source, read = (
        pad_sequence([ids[side][row] for row in rows], batch_first=True, padding_value=PAD).to(device)
        for side, rows in kept.items()
    )
    if not source.shape[1]:  # an empty source becomes padding
        source = source.new_full((len(source), 1), PAD)
    last = (kept["decoder"].cumsum(dim=1) - 1).to(device)  # the last token read before each written one
    return require_finite(model(source, read)).take_along_dim(last[:, :, None], dim=1)
