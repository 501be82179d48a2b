"""Alternatives at each subword of a translation: the likeliest other subwords."""

from dataclasses import asdict, dataclass
from typing import Any

import torch

from transformer_mt.device import compute_in
from transformer_mt.models.seq2seq import evaluating
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED
from transformer_mt.translation.translator import Translation, Translator


@dataclass(frozen=True, slots=True)
class Choice:
    """A subword and the model's probability for it, given the source and what was written before."""

    piece: str
    probability: float


@dataclass(frozen=True, slots=True)
class ChosenAmong:
    """The subword that a translation has at a position, and the likeliest others there."""

    chosen: Choice
    others: tuple[Choice, ...]

    def to_json(self) -> dict[str, Any]:
        """Keys: `piece` and `probability`; `others`, pairs of both, the likeliest first."""
        return asdict(self.chosen) | {"others": [[other.piece, other.probability] for other in self.others]}


def find_alternatives(
    translator: Translator, source: str, translation: Translation, *, count: int
) -> list[ChosenAmong]:
    """At each subword of a translation of the source, the end symbol too, the `count` likeliest other ones.

    The probabilities are the model's own under teacher forcing, neither tempered nor cut, whatever search found the
    translation. A sentence without text has none.
    """
    tokenizer, device = translator.tokenizer, translator.device
    read = tokenizer.encode(source)
    if not read:
        return []
    written = [*tokenizer.ids(translation.tokens), EOS]
    with evaluating(translator.model), compute_in(translator.precision, device):
        inputs = torch.tensor([[*read, EOS]], device=device)
        logits = translator.model(inputs, torch.tensor([[BOS, *written[:-1]]], device=device))[0]
        probabilities = logits.float().softmax(dim=-1).cpu()
    column = torch.tensor(written)[:, None]
    chosen = probabilities.gather(1, column)[:, 0].tolist()
    others = probabilities.index_fill(1, torch.tensor(NEVER_GENERATED), -1.0).scatter(1, column, -1.0)
    best, ids = others.topk(min(count, others.shape[1] - len(NEVER_GENERATED) - 1))
    return [
        ChosenAmong(Choice(piece, probability), tuple(map(Choice, tokenizer.pieces(row), numbers)))
        for piece, probability, row, numbers in zip(
            tokenizer.pieces(written), chosen, ids.tolist(), best.tolist(), strict=True
        )
    ]
