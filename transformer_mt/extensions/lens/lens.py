"""`tmt lens`: the decoder's guesses after each layer, and the layer that decides each word."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from rich.text import Text
from torch import Tensor

from transformer_mt.links.tokens import PairTokens
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.text.brief import Brief
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.prepared import Owners
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.rendering import format_weight, label, rendered, table
from transformer_mt.views.request import PairRequest
from transformer_mt.views.serialise import HIDDEN
from transformer_mt.views.subject import Subject

# The number of guesses to keep per layer.
GUESSES = 5
# A layer for each token or word, from 1; None if no layer decides it.
Deciding = tuple[int | None, ...]


@dataclass(frozen=True, repr=False)
class Lens(Brief):
    """The guesses of each decoder layer at each position of the target (the logit lens, nostalgebraist 2020).

    `guesses[layer][position]` are the likeliest tokens, likeliest first, with `guess_probabilities`; `probabilities`
    belong to the target's own `tokens`. `decided` is, for each position, the first layer (from 1) such that it and all
    later ones rank the target token first; None if the last layer does not.
    """

    source: str
    target: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    words_of_piece: tuple[Owners, ...] = field(metadata=HIDDEN)
    guesses: tuple[tuple[tuple[str, ...], ...], ...]
    guess_probabilities: Float[Tensor, "L T K"]
    probabilities: Float[Tensor, "L T"]
    decided: Deciding

    @property
    def words_decided(self) -> Deciding:
        """For each word of the target, the first layer with all of its tokens decided; None if one is not."""
        found: list[int | None] = []
        for word in range(len(self.words)):
            layers = [self.decided[t] for t, owners in enumerate(self.words_of_piece) if word in owners]
            found.append(None if None in layers else max(filter(None, layers)))
        return tuple(found)

    def to_json(self) -> JsonObject:
        """The texts, the number of `layers`, `positions` (a token each) and `words`."""
        positions = []
        for t, token in enumerate(self.tokens):
            layers = []
            for layer, guesses in enumerate(self.guesses):
                best = list(zip(guesses[t], self.guess_probabilities[layer, t].tolist(), strict=True))
                layers.append({"probability": self.probabilities[layer, t].item(), "guesses": best})
            of_token = {"token": token, "words": self.words_of_piece[t], "decided": self.decided[t], "layers": layers}
            positions.append(of_token)
        words = [{"word": word, "decided": layer} for word, layer in zip(self.words, self.words_decided, strict=True)]
        texts = {"source": self.source, "target": self.target}
        return {**texts, "layers": len(self.guesses), "positions": positions, "words": words}


def view_lens(subject: Subject, _: PairRequest) -> JsonObject:
    """`tmt lens --json`."""
    return subject.to_json(look_through(subject.network, subject.model.tokenizer, subject.tokens))


def look_through(model: Seq2Seq, tokenizer: Tokenizer, tokens: PairTokens) -> Lens:
    """The model's guesses after each decoder layer, from `Seq2Seq.layer_logits` under teacher forcing.

    Raises `MachineError` if the model's numbers are not finite.
    """
    written = tokens.written
    with evaluating(model):
        inputs, read = tokens.inputs(model)
        logits = torch.cat(model.layer_logits(read, model.start(inputs)))  # L times 1 T V -> L T V
        probabilities = require_finite(logits).float().softmax(dim=-1).cpu()
    best, ids = probabilities.topk(min(GUESSES, probabilities.shape[2]))
    return Lens(
        tokens.source.text,
        written.text,
        tokens=written.pieces,
        words=written.words,
        words_of_piece=written.words_of_piece,
        guesses=tuple(tuple(tuple(tokenizer.pieces(row)) for row in layer) for layer in ids.tolist()),
        guess_probabilities=best,
        probabilities=probabilities[:, torch.arange(len(written.ids)), list(written.ids)],
        decided=decided_at(ids[:, :, 0], torch.tensor(written.ids)),
    )


def decided_at(likeliest: Int[Tensor, "L T"], written: Int[Tensor, " T"]) -> Deciding:
    """For each position, the first layer (from 1) such that it and all later ones rank the written token first."""
    layers = len(likeliest)
    right = (likeliest == written).flip(0).int().cumprod(dim=0).sum(dim=0)  # number of final layers that are right
    return tuple(layers - count + 1 if count else None for count in right.tolist())


def lens_lines(lens: Lens, *, width: int) -> Iterator[Text]:
    """Yield a table of guesses, a row per token, a column per layer, `*` from the deciding layer on; then the words."""
    labels = list(map(label, ("writes", *lens.tokens)))
    columns = [_column(lens, layer) for layer in range(1, len(lens.guesses) + 1)]
    first, *widths = (max(cell.cell_len for cell in column) for column in (labels, *columns))
    beside = max(1, (width - first) // (max(widths) + 2))
    for start in range(0, len(columns), beside):
        block = zip(labels, *columns[start : start + beside], strict=True)
        yield from (*rendered(table(block), width=width), Text())
    for layer in (*range(1, len(columns) + 1), None):
        words = [word for word, decided in zip(lens.words, lens.words_decided, strict=True) if decided == layer]
        if words:
            where = f"decided from layer {layer} on" if layer else "not the model's own choice"
            yield from rendered(Text.assemble(f"{where}: ", label(" ".join(words))), width=width)


def _column(lens: Lens, layer: int) -> list[Text]:
    """The heading of a layer, and its first guess at each position."""
    cells = [Text(f"layer {layer}")]
    for t, decided in enumerate(lens.decided):
        mark = "*" if decided and layer >= decided else " "
        number = format_weight(lens.guess_probabilities[layer - 1, t, 0].item())
        cells.append(Text.assemble(f"{mark}{number} ", label(lens.guesses[layer - 1][t][0])))
    return cells
