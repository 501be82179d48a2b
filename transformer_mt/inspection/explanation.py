"""`explain`: one row of one attention head, step by step with its numbers, from the state to the residual."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from transformer_mt.attention.steps import Stage, Step
from transformer_mt.inspection.explained_row import Choice, choose_head, find_heads, find_place
from transformer_mt.inspection.explained_steps import walk, what_is_read
from transformer_mt.inspection.gates import head_numbers
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.registry import HeadName
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.words import tokenize_pair

# What a number keeps in JSON: a float32 comes back as it was.
SIGNIFICANT_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an attention head computed one row: stages of steps, each with its formula and all its numbers.

    The row is that of a piece of a word: the piece that is written there, in an encoder the one that is read; `read` is
    the piece that the model reads there in any case. `heads` are the numbers of the layer's heads, in the order of
    steps over heads. `contributions` say how much of what the head adds comes from each column: the share of its length
    in that direction, so they sum to 1, and a column that works against the rest is negative. `choice` is None where
    the head was given.
    """

    source: str
    target: str
    name: HeadName
    choice: Choice | None
    word: str
    piece: str
    read: str
    row: int
    columns: tuple[str, ...]
    heads: tuple[int, ...]
    stages: tuple[Stage, ...]
    contributions: Float[Tensor, " K"]

    def steps(self) -> Iterator[Step]:
        """All steps, in order."""
        return (step for stage in self.stages for step in stage.steps)

    def __getitem__(self, name: str) -> Tensor:
        """The numbers of the step of that name."""
        return next(step.values for step in self.steps() if step.name == name)

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers for `numpy.savez`: one array a step, by its name; the labels `columns` and `heads`; the texts."""
        texts = {"source": self.source, "target": self.target, "head_name": str(self.name), "piece": self.piece}
        found = {name: np.array(text) for name, text in texts.items()}
        found |= {"columns": np.array(self.columns), "heads": np.array(self.heads)}
        found |= {step.name: step.values.numpy() for step in self.steps()}
        return found | {"contributions": self.contributions.numpy()}

    def to_json(self) -> dict[str, Any]:
        """Texts and numbers, ready for `json.dumps`.

        Each of `stages` has a title and steps of name, words, symbol, formula, over (row, keys or heads) and values:
        a number, a vector, or one of these for each of `columns` or `heads`. `row` counts from 0. `choice` is null, or
        ln p of what it is `of`, with all heads and `without` each.
        """
        choice = self.choice and {
            "of": self.choice.of,
            "log_probability": _plain(self.choice.log_probability),
            "without": {str(name): _plain(value) for name, value in self.choice.without.items()},
        }
        texts = {name: getattr(self, name) for name in ("source", "target", "word", "piece", "read", "row")}
        labels = {"columns": list(self.columns), "heads": list(self.heads)}
        return {
            **texts,
            **self.name._asdict(),
            "choice": choice,
            **labels,
            "stages": [{"title": stage.title, "steps": list(map(_step_json, stage.steps))} for stage in self.stages],
            "contributions": _plain(self.contributions.tolist()),
        }


def explain(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    source: str,
    target: str,
    *,
    word: str | None = None,
    piece: int = 1,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Explanation:
    """The row of a word in an attention head while the model, in evaluation mode, reads the pair (teacher forcing).

    A word of the translation has its row where it is written, in `cross` and `decoder`, a word of the source in
    `encoder`; a number is the place of a word, from 1. Of several pieces, `piece` says which. Without a word it is the
    first of `CONTENT` letters or more. Of the heads that fit stack, layer and head it is the one without which ln p of
    the piece falls most; of a piece of the source, which has none, ln p of the translation.

    Raises `InputError` that names the option for what there is not, and for a text that is too long.
    """
    tokens = tokenize_pair(tokenizer, source, target, limit=model.max_length)
    place = find_place(tokens, model, word=word, piece=piece, stack=stack)
    candidates = find_heads(model, place.stacks, layer=layer, head=head)
    choice = choose_head(model, tokens, place, candidates) if len(candidates) > 1 else None
    name = choice.head if choice else candidates[0]
    with evaluating(model):
        stages, contributions = walk(model, tokens, name, place.row)
    columns = tokens.sides(name.stack)[1].pieces
    module = model.attention_stacks()[name.stack][name.layer - 1]
    return Explanation(
        source=source,
        target=target,
        name=name,
        choice=choice,
        word=place.word,
        piece=place.piece,
        read=what_is_read(tokens, name.stack).pieces[place.row],
        row=place.row,
        columns=columns,
        heads=head_numbers(module),
        stages=stages,
        contributions=contributions,
    )


def _step_json(step: Step) -> dict[str, Any]:
    labels = {name: getattr(step, name) for name in ("name", "words", "symbol", "formula", "over")}
    return labels | {"values": _plain(step.values.tolist())}


def _plain(values: Any) -> Any:
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return float(f"{values:.{SIGNIFICANT_DIGITS}g}") if isinstance(values, float) else values
