"""Which row of which head is explained, where the options leave that open."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer_mt.errors import InputError
from transformer_mt.inspection.gates import gated, head_names, head_numbers
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.registry import HeadName, suggest
from transformer_mt.views.words import PairTokens, Tokens

# How many letters a word has that probably says something by itself.
CONTENT = 4

# What is taken for the place of a word.
_NUMBER = re.compile(r"[0-9]{1,6}")

# How many sentences the model reads at once, each without another head.
_AT_ONCE = 16


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


def find_place(tokens: PairTokens, model: Seq2Seq, *, word: str | None, piece: int, stack: str | None) -> Place:
    """The piece that the options mean. Raises `InputError` that names them where there is none."""
    there = model.attention_stacks()
    if stack is not None and stack not in there:
        raise InputError(f"--stack: there is no {stack!r}; {suggest(stack, there)}")
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
    raise InputError(f"--word: there is no {word!r} in {where}; {suggest(word, words)}")


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
