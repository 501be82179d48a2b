"""What a decoder would say after each of its layers, and from which layer on it says what it writes in the end."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.inspection.maps import SIGNIFICANT_DIGITS
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.words import Tokens, tokenize_pair

# How many of the likeliest pieces are kept of each layer.
GUESSES = 5


@dataclass(frozen=True, slots=True)
class Guess:
    """A piece and its probability."""

    piece: str
    probability: float


@dataclass(frozen=True, slots=True)
class Lens:
    """What each decoder layer would say at each position of the target (the logit lens, nostalgebraist 2020).

    `guesses[layer][position]` are the likeliest pieces, the likeliest first; `probabilities` those of the pieces that
    stand in the target; `ids` and `top_probabilities` hold the guesses as numbers. `decided` says for each position the
    first layer, counted from 1, from which on the likeliest piece is the target's, None where it is not so in the last.
    """

    source: str
    target: str
    written: Tokens
    guesses: tuple[tuple[tuple[Guess, ...], ...], ...]
    ids: Int[Tensor, "L T K"]
    top_probabilities: Float[Tensor, "L T K"]
    probabilities: Float[Tensor, "L T"]
    decided: tuple[int | None, ...]

    @property
    def words_decided(self) -> tuple[int | None, ...]:
        """For each word of the target the layer from which on all of its pieces are decided."""
        found: list[int | None] = []
        for number in range(len(self.written.words)):
            pairs = zip(self.decided, self.written.word_of_piece, strict=True)
            layers = [layer for layer, word in pairs if word == number]
            found.append(max((layer for layer in layers if layer is not None), default=None) if all(layers) else None)
        return tuple(found)

    def arrays(self) -> dict[str, np.ndarray]:
        """For `numpy.savez`: `probabilities`, `guesses` and their `guess_probabilities`, `decided` (0: never), …"""
        return {
            "source": np.array(self.source),
            "target": np.array(self.target),
            "pieces": np.array(self.written.pieces),
            "words": np.array(self.written.words),
            "word_of_piece": np.array(self.written.word_of_piece),
            "probabilities": self.probabilities.numpy(),
            "guesses": np.array([[[guess.piece for guess in best] for best in layer] for layer in self.guesses]),
            "guess_probabilities": self.top_probabilities.numpy(),
            "decided": np.array([layer or 0 for layer in self.decided]),
        }

    def to_json(self) -> dict[str, Any]:
        """Keys: `source`, `target`, and `layers`, how many; `positions`, with `piece`, `decided` and `layers`, of which
        each has the piece's `probability` and `guesses`; `words`, with `word` and `decided`.
        """
        positions = [
            {"piece": piece, "decided": decided, "layers": [self._said(layer, place) for layer in range(len(self.ids))]}
            for place, (piece, decided) in enumerate(zip(self.written.pieces, self.decided, strict=True))
        ]
        words = zip(self.written.words, self.words_decided, strict=True)
        return {
            "source": self.source,
            "target": self.target,
            "layers": len(self.ids),
            "positions": positions,
            "words": [{"word": word, "decided": decided} for word, decided in words],
        }

    def _said(self, layer: int, place: int) -> dict[str, Any]:
        return {
            "probability": _rounded(float(self.probabilities[layer, place])),
            "guesses": [[guess.piece, _rounded(guess.probability)] for guess in self.guesses[layer][place]],
        }


def look_through(model: Seq2Seq, tokenizer: Tokenizer, source: str, target: str) -> Lens:
    """What the model would say after each decoder layer while it is given the target (teacher forcing).

    The final norm and the output matrix are applied to what comes out of the layer, as `Seq2Seq.layer_logits` says.
    The last layer's probabilities are the model's own. Raises `InputError` for a text longer than `max_length`.
    """
    tokens = tokenize_pair(tokenizer, source, target, limit=model.max_length)
    with evaluating(model):
        inputs, read = tokens.inputs(next(model.parameters()).device)
        logits = torch.cat(model.layer_logits(read, model.start(inputs)))  # L times 1 T V -> L T V
        probabilities = require_finite(logits).float().softmax(dim=-1).cpu()
    best, ids = probabilities.topk(min(GUESSES, probabilities.shape[2]))
    of_written = probabilities[:, torch.arange(len(tokens.written.ids)), list(tokens.written.ids)]
    return Lens(
        source,
        target,
        tokens.written,
        guesses=_guesses(tokenizer, ids, best),
        ids=ids,
        top_probabilities=best,
        probabilities=of_written,
        decided=decided_at(ids[:, :, 0], torch.tensor(tokens.written.ids)),
    )


def decided_at(likeliest: Int[Tensor, "L T"], written: Int[Tensor, " T"]) -> tuple[int | None, ...]:
    """For each position the first layer, from 1, from which on the likeliest piece is the one written; None: none."""
    layers = len(likeliest)
    right = (likeliest == written).flip(0).int().cumprod(dim=0).sum(dim=0)  # how many of the last layers are right
    return tuple(layers - count + 1 if count else None for count in right.tolist())


def _guesses(
    tokenizer: Tokenizer, ids: Int[Tensor, "L T K"], probabilities: Float[Tensor, "L T K"]
) -> tuple[tuple[tuple[Guess, ...], ...], ...]:
    return tuple(
        tuple(
            tuple(map(Guess, tokenizer.pieces(pieces), numbers))
            for pieces, numbers in zip(layer_ids, layer_numbers, strict=True)
        )
        for layer_ids, layer_numbers in zip(ids.tolist(), probabilities.tolist(), strict=True)
    )


def _rounded(number: float) -> float:
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}")
