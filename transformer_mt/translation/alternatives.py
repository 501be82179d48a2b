"""The likeliest other tokens at each position of a translation."""

from typing import NamedTuple

from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.prepared import PreparedSentence
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translation


class Alternative(NamedTuple):
    """A token and the model's probability for it, given the source and the tokens before it."""

    token: str
    probability: float


class ChosenAmong(NamedTuple):
    """The token of a translation at a position, and the likeliest others there."""

    chosen: Alternative
    others: tuple[Alternative, ...]

    def to_json(self) -> JsonObject:
        """Keys: `token` and `probability`; `others`, pairs of both, likeliest first."""
        return self.chosen._asdict() | {"others": list(map(list, self.others))}


def find_alternatives(
    model: Model, source: PreparedSentence, translation: Translation, *, count: int
) -> list[ChosenAmong]:
    """Find the `count` likeliest other tokens at each position of a translation, end symbol included.

    The probabilities are the model's own under teacher forcing, without temperature or truncation, for any search.
    Empty for a sentence without text.
    """
    tokenizer = model.tokenizer
    if not tokenizer.holds_text(source.ids):
        return []
    written = [*tokenizer.ids(translation.tokens), EOS]
    positions = model.engine.likeliest([*source.ids, EOS], written, count=count)
    return [
        ChosenAmong(
            Alternative(piece, found.chosen), tuple(map(Alternative, tokenizer.pieces(found.ids), found.probabilities))
        )
        for piece, found in zip(tokenizer.pieces(written), positions, strict=True)
    ]
