"""Alternatives at each subword of a translation: the likeliest other subwords."""

from dataclasses import asdict, dataclass
from typing import Any

from transformer_mt.tokenizer.prepared import PreparedSentence
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translation


@dataclass(frozen=True, slots=True)
class Alternative:
    """A subword and the model's probability for it, given the source and what was written before."""

    piece: str
    probability: float


@dataclass(frozen=True, slots=True)
class ChosenAmong:
    """The subword that a translation has at a position, and the likeliest others there."""

    chosen: Alternative
    others: tuple[Alternative, ...]

    def to_json(self) -> dict[str, Any]:
        """Keys: `piece` and `probability`; `others`, pairs of both, the likeliest first."""
        return asdict(self.chosen) | {"others": [[other.piece, other.probability] for other in self.others]}


def find_alternatives(
    model: Model, source: PreparedSentence, translation: Translation, *, count: int
) -> list[ChosenAmong]:
    """At each subword of a translation of the source, the end symbol too, the `count` likeliest other ones.

    The probabilities are the model's own under teacher forcing, neither tempered nor cut, whatever search found the
    translation. A sentence without text has none.
    """
    tokenizer = model.tokenizer
    if not source.ids:
        return []
    written = [*tokenizer.ids(translation.tokens), EOS]
    positions = model.engine.likeliest([*source.ids, EOS], written, count=count)
    return [
        ChosenAmong(
            Alternative(piece, found.chosen), tuple(map(Alternative, tokenizer.pieces(found.ids), found.probabilities))
        )
        for piece, found in zip(tokenizer.pieces(written), positions, strict=True)
    ]
