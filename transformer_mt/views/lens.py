"""`tmt lens`: the guesses of the decoder after each of its layers, and the layer that decides each word."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from rich.text import Text
from torch import Tensor

from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.tokenizer.prepared import Owners
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.rendering import format_weight, label, rendered, table
from transformer_mt.views.serialise import HIDDEN

# The number of pieces that are kept of each layer.
GUESSES = 5


@dataclass(frozen=True, slots=True)
class Lens:
    """The guesses of each decoder layer at each position of the target (the logit lens, nostalgebraist 2020).

    `guesses[layer][position]` are the likeliest pieces, the likeliest first, with `guess_probabilities`;
    `probabilities` are those of the target's own `pieces`. `decided` has for each position the first layer, counted
    from 1, from which on the likeliest piece is the target's, None where it is not so in the last.
    """

    source: str
    target: str
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    words_of_piece: tuple[Owners, ...] = field(metadata=HIDDEN)
    guesses: tuple[tuple[tuple[str, ...], ...], ...]
    guess_probabilities: Float[Tensor, "L T K"]
    probabilities: Float[Tensor, "L T"]
    decided: tuple[int | None, ...]

    @property
    def words_decided(self) -> tuple[int | None, ...]:
        """For each word of the target the layer from which on all of its pieces are decided."""
        layers: list[list[int | None]] = [[] for _ in self.words]
        for owners, layer in zip(self.words_of_piece, self.decided, strict=True):
            for word in owners:
                layers[word].append(layer)
        return tuple(None if None in of_word else max(filter(None, of_word)) for of_word in layers)

    def to_json(self) -> dict[str, Any]:
        numbers, own = self.guess_probabilities.tolist(), self.probabilities.tolist()
        layers = [
            [{"probability": p, "guesses": list(zip(*best, strict=True))} for p, *best in zip(*layer, strict=True)]
            for layer in zip(own, self.guesses, numbers, strict=True)
        ]
        positions = [
            {"piece": piece, "words": owners, "decided": decided, "layers": of_piece}
            for piece, owners, decided, *of_piece in zip(
                self.pieces, self.words_of_piece, self.decided, *layers, strict=True
            )
        ]
        words = [{"word": word, "decided": layer} for word, layer in zip(self.words, self.words_decided, strict=True)]
        texts = {"source": self.source, "target": self.target}
        return {**texts, "layers": len(self.guesses), "positions": positions, "words": words}


def look_through(model: Seq2Seq, tokenizer: Tokenizer, tokens: PairTokens) -> Lens:
    """The model's guesses after each decoder layer while it is given the target (teacher forcing).

    They are those of `Seq2Seq.layer_logits`.
    """
    written = tokens.written
    with evaluating(model):
        inputs, read = tokens.inputs(next(model.parameters()).device)
        logits = torch.cat(model.layer_logits(read, model.start(inputs)))  # L times 1 T V -> L T V
        probabilities = require_finite(logits).float().softmax(dim=-1).cpu()
    best, ids = probabilities.topk(min(GUESSES, probabilities.shape[2]))
    return Lens(
        tokens.source.text,
        written.text,
        pieces=written.pieces,
        words=written.words,
        words_of_piece=written.words_of_piece,
        guesses=tuple(tuple(tuple(tokenizer.pieces(row)) for row in layer) for layer in ids.tolist()),
        guess_probabilities=best,
        probabilities=probabilities[:, torch.arange(len(written.ids)), list(written.ids)],
        decided=decided_at(ids[:, :, 0], torch.tensor(written.ids)),
    )


def decided_at(likeliest: Int[Tensor, "L T"], written: Int[Tensor, " T"]) -> tuple[int | None, ...]:
    """For each position the first layer, from 1, from which on the likeliest piece is the written one; None: none."""
    layers = len(likeliest)
    right = (likeliest == written).flip(0).int().cumprod(dim=0).sum(dim=0)  # the number of last layers that are right
    return tuple(layers - count + 1 if count else None for count in right.tolist())


def lens_lines(lens: Lens, *, width: int) -> Iterator[Text]:
    """A row for each piece, a column for each layer's guess, `*` from the layer on that decides; then the words."""
    numbers = range(1, len(lens.guesses) + 1)
    labels, layers = [*map(label, ("writes", *lens.pieces))], []
    for layer, guesses, of_layer in zip(numbers, lens.guesses, lens.guess_probabilities.tolist(), strict=True):
        layers.append([Text(f"layer {layer}")])
        for (piece, *_), (number, *_), decided in zip(guesses, of_layer, lens.decided, strict=True):
            mark = "*" if decided and layer >= decided else " "
            layers[-1].append(Text.assemble(f"{mark}{format_weight(number)} ", label(piece)))
    first, *widths = (max(cell.cell_len for cell in column) for column in (labels, *layers))
    beside = max(1, (width - first) // (max(widths) + 2))
    for start in range(0, len(layers), beside):
        block = zip(labels, *layers[start : start + beside], strict=True)
        yield from (*rendered(table(block), width=width), Text())
    for layer in (*numbers, None):
        words = [word for word, decided in zip(lens.words, lens.words_decided, strict=True) if decided == layer]
        if words:
            where = "not what the model would write" if layer is None else f"decided from layer {layer} on"
            yield from rendered(Text.assemble(f"{where}: ", label(" ".join(words))), width=width)
