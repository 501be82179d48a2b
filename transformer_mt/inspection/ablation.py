"""How much each head matters to the loss: by switching it off, and by the gradient of its gate."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_mt.attention.multihead import MaskedHeads
from transformer_mt.batching.batches import Batch, fixed_batches
from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.models.head_mask import active_heads, attention_layers, gated, head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.registry import HeadName, lookup
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.tokenizer.tokenizer import Tokenizer

_BATCH_TOKENS = 4_096

# A number for each sentence.
PerSentence = Float[np.ndarray, " N"]


def batches(encoded: EncodedPairs, model: Seq2Seq) -> Iterator[tuple[Tensor, Batch]]:
    """The pairs in batches on the model's device, with their rows among the encoded ones."""
    budget = max(_BATCH_TOKENS, model.max_length)  # at least one longest sentence
    device = next(model.parameters()).device
    for rows in fixed_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens=budget):
        yield rows, encoded.batch(rows).to(device)


class HeadImportance:
    """The loss of each of the encoded pairs, in nats, as each head is there or not; a model that reads them.

    `tokens` counts the target tokens of each pair, `</s>` included, over which losses are sums.
    """

    def __init__(self, model: Seq2Seq, encoded: EncodedPairs) -> None:
        self.model, self.encoded = model, encoded
        self.tokens: PerSentence = encoded.target_lengths.double().numpy()

    def losses(self) -> PerSentence:
        """−log p of each reference, as the model is now."""
        losses = np.zeros(len(self.encoded))
        with evaluating(self.model):
            for rows, batch in batches(self.encoded, self.model):
                losses[rows.numpy()] = _sentence_losses(self.model, batch).double().cpu().numpy()
        return losses

    def losses_without_each(self) -> dict[HeadName, PerSentence]:
        """The same with each head switched off, one at a time."""
        found = {}
        for name in head_names(self.model):
            with without_heads(self.model, [name]):
                found[name] = self.losses()
        return found

    def gradients(self) -> dict[HeadName, PerSentence]:
        """|∂L/∂ξ| of each pair's loss at ξ = 1, the gate of a head (Michel et al. 2019, §4.1)."""
        layers = attention_layers(self.model)
        found = {name: np.zeros(len(self.encoded)) for name in head_names(self.model)}
        for rows, batch in batches(self.encoded, self.model):
            slopes = _gate_gradients(self.model, batch, list(layers.values()))
            for (place, module), slope in zip(layers.items(), slopes, strict=True):
                for number in active_heads(module):
                    found[place._replace(head=number)][rows.numpy()] = slope[:, number - 1].double().cpu().numpy()
        return found


def head_importance(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs, *, method: str) -> dict[HeadName, float]:
    """How much each head matters to the loss of the pairs, by a method of `IMPORTANCE`."""
    measure = lookup(IMPORTANCE, method, key="--importance")
    return measure(HeadImportance(model, encode_pairs(pairs, tokenizer, max_length=model.max_length)))


def exact_importance(work: HeadImportance) -> dict[HeadName, float]:
    """By how much the loss rises without each head, in nats a target token."""
    before, tokens = work.losses().sum(), work.tokens.sum()
    return {name: float(losses.sum() - before) / tokens for name, losses in work.losses_without_each().items()}


def mean_gradients(work: HeadImportance) -> dict[HeadName, float]:
    """The mean of |∂L/∂ξ| over sentences, in nats a target token."""
    tokens = work.tokens.sum()
    return {name: float(slopes.sum()) / tokens for name, slopes in work.gradients().items()}


def normalised_gradients(work: HeadImportance) -> dict[HeadName, float]:
    """The same, divided in each layer by its Euclidean norm over the layer's heads (Michel et al. 2019, §4.1)."""
    return layer_normalised(mean_gradients(work))


def layer_normalised(importance: Mapping[HeadName, float]) -> dict[HeadName, float]:
    """Each layer's numbers divided by their Euclidean norm; zeros stay."""
    squares: dict[HeadName, float] = {}
    for name, value in importance.items():
        layer = name._replace(head=0)
        squares[layer] = squares.get(layer, 0.0) + value**2
    return {name: value / (squares[name._replace(head=0)] ** 0.5 or 1.0) for name, value in importance.items()}


IMPORTANCE: dict[str, Callable[[HeadImportance], dict[HeadName, float]]] = {
    "gradient": normalised_gradients,
    "unnormalised": mean_gradients,
    "exact": exact_importance,
}


def _sentence_losses(model: Seq2Seq, batch: Batch) -> Float[Tensor, " B"]:
    logits = model(batch.source, batch.decoder_input)
    losses = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, reduction="none")
    return losses.view_as(batch.labels).sum(dim=1)


def _gate_gradients(model: Seq2Seq, batch: Batch, modules: list[MaskedHeads]) -> list[Float[Tensor, "B H"]]:
    """|∂L_b/∂ξ| for the loss of each sentence b and the gates of each module's heads."""
    source = batch.source
    gates = {
        module: torch.ones(len(source), module.heads, device=source.device, requires_grad=True) for module in modules
    }
    if not gates:
        return []
    with evaluating(model, gradients=True), gated(gates):
        loss = _sentence_losses(model, batch).sum()
        return [slope.abs() for slope in torch.autograd.grad(loss, list(gates.values()))]
