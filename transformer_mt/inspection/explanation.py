"""`explain`: one row of one attention head, step by step with its numbers, from the state to the residual."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.attention.steps import Explained, HeadSteps, Row, Stage, Step
from transformer_mt.errors import InputError
from transformer_mt.inspection.gates import gated, head_names, head_numbers
from transformer_mt.inspection.recording import record_attention
from transformer_mt.inspection.tokens import PairTokens, Tokens, tokenize_pair
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.names import HeadName, nearest
from transformer_mt.tokenizer import Tokenizer

# What a number keeps in JSON: a float32 comes back as it was.
SIGNIFICANT_DIGITS = 9

# How many letters a word has that probably says something by itself.
CONTENT = 4

# What is taken for the place of a word.
_NUMBER = re.compile(r"[0-9]{1,6}")

# How many sentences the model reads at once, each without another head.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Choice:
    """Why a head was chosen: ln p of what `of` names, with all heads and without each of those in question."""

    of: str
    log_probability: float
    without: dict[HeadName, float]

    @property
    def head(self) -> HeadName:
        """The head without which it falls most."""
        return min(self.without, key=self.without.__getitem__)


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


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of a word in a sentence pair, and the stacks of attention that have a row for it; counted from 0."""

    stacks: tuple[str, ...]
    tokens: Tokens
    row: int

    @property
    def word(self) -> str:
        """The word."""
        return self.tokens.words[self.tokens.word_of_piece[self.row]]

    @property
    def piece(self) -> str:
        """The piece."""
        return self.tokens.pieces[self.row]


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
        stages, contributions = _walk(model, tokens, name, place.row)
    columns = tokens.sides(name.stack)[1].pieces
    module = model.attention_stacks()[name.stack][name.layer - 1]
    return Explanation(
        source=source,
        target=target,
        name=name,
        choice=choice,
        word=place.word,
        piece=place.piece,
        read=_read(tokens, name.stack).pieces[place.row],
        row=place.row,
        columns=columns,
        heads=head_numbers(module),
        stages=stages,
        contributions=contributions,
    )


# Which row


def find_place(tokens: PairTokens, model: Seq2Seq, *, word: str | None, piece: int, stack: str | None) -> Place:
    """The piece that the options mean. Raises `InputError` that names them where there is none."""
    there = model.attention_stacks()
    if stack is not None and stack not in there:
        raise InputError(f"--stack: there is no {stack!r}; {nearest(stack, there)}")
    sides = [side for side in _sides(tokens, there) if stack is None or stack in side.stacks]
    chosen = sides[0] if word is None else _side_with(word, sides)
    side = chosen.tokens
    number = _content_word(side) if word is None else _word_number(word, chosen)
    rows = [row for row, owner in enumerate(side.word_of_piece) if owner == number]
    if not 1 <= piece <= len(rows):
        count = "1 piece" if len(rows) == 1 else f"{len(rows)} pieces"
        raise InputError(
            f"--piece: {side.words[number]!r} has {count}, not {piece}; give a number from 1 to {len(rows)}"
        )
    return Place((stack,) if stack else chosen.stacks, side, rows[piece - 1])


@dataclass(frozen=True, slots=True)
class _Side:
    name: str
    tokens: Tokens
    stacks: tuple[str, ...]


def _sides(tokens: PairTokens, there: Iterable[str]) -> list[_Side]:
    """The translation and the source, as far as the model has attention with rows for them."""
    stacks = set(there)
    written = _Side("the translation", tokens.written, tuple(name for name in ("cross", "decoder") if name in stacks))
    read = _Side("the source", tokens.source, tuple(name for name in ("encoder",) if name in stacks))
    return [side for side in (written, read) if side.stacks]


def _side_with(word: str, sides: Sequence[_Side]) -> _Side:
    """The first side that has the word; for a number that is no word, the first."""
    for side in sides:
        if _places(word, side.tokens):
            return side
    if _NUMBER.fullmatch(word):
        return sides[0]
    where = " or ".join(side.name for side in sides)
    words = dict.fromkeys(one for side in sides for one in side.tokens.words)
    raise InputError(f"--word: there is no {word!r} in {where}; {nearest(word, words)}")


def _places(word: str, side: Tokens) -> list[int]:
    """Where the word stands; where no word is written so, those that differ in capitals alone."""
    exact = [place for place, one in enumerate(side.words) if one == word]
    return exact or [place for place, one in enumerate(side.words) if one.casefold() == word.casefold()]


def _word_number(word: str, side: _Side) -> int:
    """The place, from 0, of a word or of a number from 1."""
    places, count = _places(word, side.tokens), len(side.tokens.words)
    if len(places) > 1:
        *others, last = (str(place + 1) for place in places)
        numbers = f"{', '.join(others)} and {last}"
        raise InputError(f"--word: {word!r} stands in {side.name} as words {numbers}; give one of these numbers")
    if places:
        return places[0]
    if not 1 <= int(word) <= count:
        raise InputError(f"--word: {side.name} has no word {word}; give a number from 1 to {count}")
    return int(word) - 1


def _content_word(side: Tokens) -> int:
    """The first long word; without any, the first that begins with a letter, or the first of all."""
    lettered = [number for number, word in enumerate(side.words) if word[:1].isalpha()]
    long = (number for number in lettered if len(side.words[number]) >= CONTENT)
    return next(long, lettered[0] if lettered else 0)


# Which head


def find_heads(model: Seq2Seq, stacks: Sequence[str], *, layer: int | None, head: int | None) -> list[HeadName]:
    """The heads of these stacks in that layer and with that number. Raises `InputError` that says which there are."""
    found = [name for name in head_names(model) if name.stack in stacks]
    if not found:
        raise InputError(f"--stack: {' and '.join(stacks)} attention has no heads left in this model; choose another")
    for option, wanted, position in (("--layer", layer, 1), ("--head", head, 2)):
        if wanted is not None:
            there = sorted({int(name[position]) for name in found})
            found = [name for name in found if name[position] == wanted]
            if not found:
                raise InputError(f"{option}: there is no {wanted}; choose one of {', '.join(map(str, there))}")
    return found


def choose_head(model: Seq2Seq, tokens: PairTokens, place: Place, candidates: Sequence[HeadName]) -> Choice:
    """ln p of the place's piece, or in an encoder of the translation, with each of the heads switched off in turn."""
    device = next(model.parameters()).device
    written = place.tokens is tokens.written
    rows = [place.row] if written else list(range(len(tokens.written.ids)))
    wanted = torch.tensor([tokens.written.ids[row] for row in rows], device=device)
    found: list[float] = []
    settings: list[HeadName | None] = [None, *candidates]
    for start in range(0, len(settings), _AT_ONCE):
        off = settings[start : start + _AT_ONCE]
        source, target = (tensor.expand(len(off), -1) for tensor in tokens.inputs(device))
        with evaluating(model), gated(_gates(model, off)):
            log_probabilities = model(source, target)[:, rows].float().log_softmax(dim=-1)  # N R V
        found += log_probabilities[:, range(len(rows)), wanted].sum(dim=1).tolist()
    what = place.piece if written else "the translation"
    return Choice(what, found[0], dict(zip(candidates, found[1:], strict=True)))


def _gates(model: Seq2Seq, off: Sequence[HeadName | None]) -> dict[nn.Module, Tensor]:
    """For the sentences of a batch, each the head that is off in it; None for none."""
    gates: dict[nn.Module, Tensor] = {}
    stacks, device = model.attention_stacks(), next(model.parameters()).device
    for sentence, name in enumerate(off):
        if name is not None:
            module = stacks[name.stack][name.layer - 1]
            numbers = head_numbers(module)
            gate = gates.setdefault(module, torch.ones(len(off), len(numbers), device=device))
            gate[sentence, numbers.index(name.head)] = 0.0
    return gates


# The steps


def _walk(model: Seq2Seq, tokens: PairTokens, name: HeadName, row: int) -> tuple[tuple[Stage, ...], Tensor]:
    """All stages of a row, and the contributions of its columns."""
    module = model.attention_stacks()[name.stack][name.layer - 1]
    around = model.surroundings()[name.stack][name.layer - 1]
    assert isinstance(module, Explained)
    with (
        record_attention(model) as recording,
        _arguments(around.entrance(module)) as states,
        _arguments(module) as read,
    ):
        model(*tokens.inputs(next(model.parameters()).device))
    x = torch.cat([call[0].reshape(-1, call[0].shape[-1]) for call in states])[row]  # N D -> D
    attended, source = recording.attended(name.stack)[name.layer - 1], read[-1][1]
    index = head_numbers(module).index(name.head)
    keys = source.keys[0, index if source.keys.shape[1] > 1 else 0]
    before = around.explain_before(x)
    steps = module.explain(Row(before.steps[-1].values, keys, source.values[0, index], row, index))
    adding, contributions = _head_stage(module, steps, index)
    together = _heads_stage(module, attended.heads[0, :, row])
    stages = (
        _first_stage(model, tokens, name, row, around.explain_state(x)),
        *(before, *steps.stages, adding, together),
        around.explain_after(x, together.steps[-1].values),
    )
    return tuple(map(_on_cpu, stages)), contributions.cpu()


def _first_stage(model: Seq2Seq, tokens: PairTokens, name: HeadName, row: int, state: Step) -> Stage:
    """The state, in the first layer with what it is made of."""
    if name.layer > 1 or not (embedding := _embedding(model, tokens, name.stack, row)):
        return Stage("What comes in", (state,))
    total = " + ".join(step.symbol for step in embedding)
    return Stage("What comes in", (*embedding, replace(state, formula=total)))


def _embedding(model: Seq2Seq, tokens: PairTokens, stack: str, row: int) -> list[Step]:
    return model.explain_embedding(stack, _read(tokens, stack).ids[row], number=row)


def _read(tokens: PairTokens, stack: str) -> Tokens:
    """What the model reads at the rows of a stack."""
    return tokens.source if stack == "encoder" else tokens.read


def _head_stage(module: Explained, steps: HeadSteps, index: int) -> tuple[Stage, Float[Tensor, " K"]]:
    """What the head adds to the module's output, and how much of it comes from each column."""
    formula = module.output_formula
    parts = module.projected(steps.weights[:, None] * steps.values, index)  # K D
    added = module.projected(steps.head, index)
    found = shares(parts, added)
    symbol = next(step.symbol for stage in steps.stages[::-1] for step in stage.steps[::-1] if step.over == "keys")
    words = "how much of it comes from every column: o_j in the direction of o; they sum to 1"
    return Stage(
        "What the head adds",
        (
            Step("head_output", "what the head adds", "o", f"head{formula}", added),
            Step("column_outputs", "what every column adds to it", "o_j", f"α_j {symbol}{formula}", parts, "keys"),
            Step("column_shares", words, "share_j", "o_j·o / ‖o‖²", found, over="keys"),
        ),
    ), found


def _heads_stage(module: Explained, heads: Float[Tensor, "H d"]) -> Stage:
    """What all heads of the module add together; the last step is `attention_output`."""
    parts = torch.stack([module.projected(head, index) for index, head in enumerate(heads)])  # H D
    bias = module.output_bias
    total = parts.sum(dim=0) if bias is None else parts.sum(dim=0) + bias
    every = [
        Step("head_outputs", "what every head r adds", "o_r", f"head_r{module.output_formula}", parts, over="heads"),
        Step(
            "head_shares", "how much of y comes from it", "share_r", "o_r·y / ‖y‖²", shares(parts, total), over="heads"
        ),
    ]
    learned = (
        [] if bias is None else [Step("output_bias", "what is added whatever the heads say, learned", "b_o", "", bias)]
    )
    words = "what the attention adds for this row"
    formula = "Σ_r o_r" if bias is None else "Σ_r o_r + b_o"
    return Stage("All heads together", (*every, *learned, Step("attention_output", words, "y", formula, total)))


def shares(parts: Float[Tensor, "N D"], total: Float[Tensor, " D"]) -> Float[Tensor, " N"]:
    """The part of the total's squared length that each part gives: parts·total / ‖total‖²; zero of a zero total."""
    length = total.square().sum()
    return (parts @ total) / length.masked_fill(length == 0.0, 1.0)


@contextmanager
def _arguments(module: nn.Module) -> Iterator[list[Any]]:
    """The arguments of every call of the module while this is open."""
    calls: list[Any] = []
    handle = module.register_forward_pre_hook(lambda _, arguments: calls.append(arguments))
    try:
        yield calls
    finally:
        handle.remove()


def _on_cpu(stage: Stage) -> Stage:
    steps = (
        replace(step, values=step.values.detach().cpu(), where=None if step.where is None else step.where.cpu())
        for step in stage.steps
    )
    return stage._replace(steps=tuple(steps))


def _step_json(step: Step) -> dict[str, Any]:
    labels = {name: getattr(step, name) for name in ("name", "words", "symbol", "formula", "over")}
    return labels | {"values": _plain(step.values.tolist())}


def _plain(values: Any) -> Any:
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return float(f"{values:.{SIGNIFICANT_DIGITS}g}") if isinstance(values, float) else values
