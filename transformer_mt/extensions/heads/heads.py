"""`tmt heads`: where each attention head looks, the loss without it, and the gradient of the loss."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from jaxtyping import Bool, Float

from transformer_mt.batching.encoded_pairs import encode_pairs
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.evaluation.intervals import Estimate, estimate, estimates
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.links.word_weights import OverWords, word_weights
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.text.brief import Brief
from transformer_mt.text.words import is_word, words
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.agreement import kendall
from transformer_mt.views.head_importance import normalised_gradients, sentence_losses
from transformer_mt.views.rendering import table_lines

# The fields of `HeadFigures` about where a head looks, with their headings in the text.
LOOKS = {
    "entropy": "entropy", "distance": "distance", "previous": "before", "same": "same", "next": "after",
    "aligned": "linked", "punctuation": "punct.", "symbol": "</s>",
}  # fmt: skip

PerHead = Float[np.ndarray, " H"]
# None if unknown.
Figure = Estimate | None


@dataclass(frozen=True)
class HeadFigures:
    """A head: where it looks, and the loss without it; unknown figures are None.

    `entropy` is in bits; `distance` in words, the mean |column − row| over the weight on words. The other figures are
    shares of weight: on the word before the row's, at the same place, after it, linked with it (`aligned`), on
    punctuation marks, and on the `symbol` `</s>` (in the decoder `<s>`). `loss` is the rise of the loss without the
    head, in nats per target token, `gradient` is from `normalised_gradients`.
    """

    head: HeadName
    entropy: Figure
    distance: Figure
    previous: Figure
    same: Figure
    next: Figure
    aligned: Figure
    punctuation: Figure
    symbol: Figure
    loss: Estimate
    gradient: float


@dataclass(frozen=True, repr=False)
class HeadTable(Brief):
    """The heads of a model over sentence pairs, after Clark et al. 2019, §3, and Michel et al. 2019, §3.

    `loss` is that of the whole model on the references, in nats per target token.
    """

    sentences: int
    loss: Estimate
    heads: tuple[HeadFigures, ...]


def measure_heads(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> HeadTable:
    """Measure the heads of a model over pairs, none of them too long."""
    looks = _looks(model, tokenizer, pairs)
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    tokens = encoded.target_lengths.double().numpy()
    losses = sentence_losses(model, encoded)
    gradients = normalised_gradients(model, encoded)
    heads = []
    for name in head_names(model):
        with without_heads(model, [name]):
            rise = estimate(sentence_losses(model, encoded) - losses, tokens)
        heads.append(HeadFigures(name, **looks[name], loss=rise, gradient=gradients[name]))
    return HeadTable(len(pairs), estimate(losses, tokens), tuple(heads))


def _looks(model: Seq2Seq, tokenizer: Tokenizer, pairs: Pairs) -> dict[HeadName, dict[str, Figure]]:
    """Where each head looks, by the names in `LOOKS`."""
    sentences = defaultdict[str, dict[int, list[tuple[PerHead, ...]]]](dict)  # by stack and number of the pair
    for number, weights in word_weights(model, tokenizer, pairs):
        for stack, of_heads in weights.items():
            found = look(of_heads, pairs[number], stack)
            sentences[stack][number] = [np.broadcast_arrays(*found[name]) for name in LOOKS]
    looks = {}
    for stack, names in groupby(head_names(model), key=lambda name: name.stack):
        of_pairs = np.array([sentences[stack][number] for number in range(len(pairs))])  # N, looks, 2, H
        sums, totals = np.moveaxis(of_pairs, 2, 0)
        for name, figures in zip(names, zip(*estimates(sums, totals), strict=True), strict=True):
            looks[name] = dict(zip(LOOKS, figures, strict=True))
    return looks


def look(weights: OverWords, pair: SentencePair, stack: str) -> dict[str, tuple[PerHead, PerHead | float]]:
    """Where the heads of a stack look in a sentence: each figure's sum over the rows, and the number to divide it by.

    The last column of the weights is the special symbol.
    """
    on_words = weights[:, :, :-1]
    apart = np.arange(on_words.shape[2]) - np.arange(on_words.shape[1])[:, None]  # W V: column − row
    linked = np.zeros(apart.shape, bool)
    for source, target in (pair.links or ()) if stack == "cross" else ():
        linked[target, source] = True
    marks = [not is_word(word) for word in words(pair.target if stack == "decoder" else pair.source)]
    rows = float(len(apart))
    return {
        "entropy": (entropy(weights), rows),
        "distance": ((on_words * np.abs(apart)).sum(axis=(1, 2)), on_words.sum(axis=(1, 2))),
        "previous": (share(on_words, apart == -1), rows),
        "same": (share(on_words, apart == 0), rows),
        "next": (share(on_words, apart == 1), rows),
        "aligned": (share(on_words, linked), float(linked.any(axis=1).sum())),
        "punctuation": (share(on_words, np.broadcast_to(marks, apart.shape)), rows),
        "symbol": (weights[:, :, -1].sum(axis=1), rows),
    }


def entropy(weights: OverWords) -> PerHead:
    """−Σ p log₂ p of each row, summed over the rows. What a row lacks to 1 is on tokens outside words."""
    outside = np.maximum(1.0 - weights.sum(axis=2, keepdims=True), 0.0)
    p = np.concatenate((weights, outside), axis=2)
    return -(p * np.log2(np.where(p > 0.0, p, 1.0))).sum(axis=(1, 2))


def share(weights: OverWords, cells: Bool[np.ndarray, "W V"]) -> PerHead:
    """The weight on these cells."""
    return np.einsum("hwv,wv->h", weights, cells.astype(np.float64))


def head_lines(heads: HeadTable, *, width: int) -> Iterator[str]:
    """Yield all tables as lines of text."""
    yield f"{heads.sentences} sentences, loss {heads.loss.text(3)} nats per token"
    yield "entropy in bits, distance in words, weight in %; ± is the 95 % interval"
    groups = {stack: list(of) for stack, of in groupby(heads.heads, key=lambda head: head.head.stack)}
    for stack, group in groups.items():
        yield from ("", f"{STACKS[stack]}: where each head looks", *_look_lines(stack, group, width=width))
    yield from ("", "loss without each head, most important first")
    ranked = sorted(heads.heads, key=lambda head: -head.loss.value)
    rows = [(str(head.head), head.loss.text(4), f"{head.gradient:.2f}") for head in ranked]
    yield from table_lines(rows, headings=("head", "loss rises by", "gradient"), right=(1, 2), width=width)
    agreements = []  # between the rankings by gradient and by loss
    for name, of_stack in ({"all": list(heads.heads)} | groups).items():
        losses, gradients = np.array([(head.loss.value, head.gradient) for head in of_stack]).T
        agreements.append(f"{name} {kendall(losses[None], gradients[None])[0]:.2f}")
    yield f"tau of gradient and loss: {', '.join(agreements)}"


def _look_lines(stack: str, group: Sequence[HeadFigures], *, width: int) -> Iterator[str]:
    """Yield a stack's table without the figures that none of its heads has."""
    looks = [look for look in LOOKS if any(getattr(head, look) for head in group)]
    headings = ["<s>" if look == "symbol" and stack == "decoder" else LOOKS[look] for look in looks]
    rows = []
    for head in group:
        figures = (_figure(look, getattr(head, look)) for look in looks)
        rows.append([f"{head.head.layer}.{head.head.head}", *figures])
    yield from table_lines(rows, headings=["head", *headings], right=range(1, 9), gap=1, width=width)


def _figure(look: str, figure: Figure) -> str:
    if figure is None:
        return "–"
    return figure.text(2) if look in ("entropy", "distance") else figure.text(0, factor=100.0)
