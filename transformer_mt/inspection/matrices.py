"""The matrices that a view shows, chosen from the maps of a sentence: one that explains, or those asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer_mt.errors import InputError
from transformer_mt.inspection.maps import AttentionMaps, StackMaps
from transformer_mt.inspection.methods import METHODS
from transformer_mt.registry import STACKS, HeadName, lookup

# A row of a map; None where a query may not attend.
Weights = Sequence[float | None]
Labels = Sequence[str]

ALL, MEAN = "all", "mean"
# What stands along the sides of a stack's matrices.
SIDES = {"encoder": "source against source", "decoder": "target against target", "cross": "target against source"}


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix to show: numbers, None where a query may not attend, and the labels along both sides.

    `place` and `name` say what it is, as `cross-attention, layer 2 of 3` and `head 1 of 4`; matrices of one place have
    the same labels. `key` is short: `cross.2.1` for a head, `cross.2` for a mean over a layer, `cross` for one of the
    whole model.
    """

    key: str
    place: str
    name: str
    numbers: list[list[float | None]]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def title(self) -> str:
        """Place and name."""
        return f"{self.place}, {self.name}"

    @property
    def masked(self) -> bool:
        """Whether there are cells where nothing may be attended to."""
        return any(number is None for row in self.numbers for number in row)


def explaining_matrix(maps: AttentionMaps, *, method: str = "weights", heads: Sequence[HeadName] = ()) -> Matrix:
    """The one matrix that explains a translation best: the mean over these heads of the cross-attention.

    Heads that the model does not have are left out. Without any they are all of the last layer but one, a guess. Of a
    method that has one matrix for the whole model it is that one.
    """
    stack = lookup(maps.stacks, "cross", key="--stack")
    if METHODS[method].whole:
        return layer_matrices(maps, method=method)[0]
    layers, count = stack.weights.shape[:2]
    heads = [name for name in heads if name.layer <= layers and name.head <= count and _is_there(stack, name)]
    if not heads:
        return layer_matrices(maps, layer=str(max(1, layers - 1)), method=method)[0]
    weights = torch.stack([stack.weights[name.layer - 1, name.head - 1] for name in heads]).mean(dim=0)
    mask = torch.stack([stack.mask[name.layer - 1] for name in heads]).any(dim=0)
    mean = StackMaps(weights[None, None], mask[None], stack.rows, stack.columns)
    return _matrix(mean, 0, 0, key="cross", place=STACKS["cross"], name=_title(stack, heads), method=method)


def _title(stack: StackMaps, heads: Sequence[HeadName]) -> str:
    """Which heads a mean is over."""
    if len(heads) == 1:
        return f"head {heads[0]}"
    layers, count = stack.weights.shape[:2]
    there = [HeadName("cross", i, j) for i in range(1, layers + 1) for j in range(1, count + 1)]
    of_all = [name for name in there if _is_there(stack, name)]
    if set(heads) == set(of_all):
        return f"mean of all {len(of_all)} heads"
    return f"mean of {', '.join(map(str, heads))}"


def layer_matrices(
    maps: AttentionMaps,
    *,
    stack: str = "cross",
    layer: str | None = None,
    head: str | None = None,
    method: str = "weights",
) -> list[Matrix]:
    """The matrices of a stack that were asked for: `layer` is a number from 1 or `all`, `head` may also be `mean`.

    Without them they are all layers and the mean over their heads. Raises `InputError` that names the option for a
    stack, a layer or a head that is not there, and for a layer or head of a method that has one matrix for all.
    """
    chosen = lookup(maps.stacks, stack, key="--stack")
    if METHODS[method].whole:
        _refuse_parts(method, layer=layer, head=head)
        return [_matrix(chosen, 0, 0, key=stack, place=method, name=SIDES[stack])]
    layers, heads = chosen.weights.shape[:2]
    found = []
    for i in _numbers(layer or ALL, range(1, layers + 1), option="--layer", words=(ALL,)):
        place = layer_title(stack, layer=i, layers=layers)
        there = [j for j in range(1, heads + 1) if _is_there(chosen, HeadName(stack, i, j))]
        for j in _heads(head or MEAN, there) if there else ():
            name = head_title(j, heads=len(there) if j is None else heads)
            key = f"{stack}.{i}" if j is None else str(HeadName(stack, i, j))
            index = None if j is None else j - 1
            found.append(_matrix(chosen, i - 1, index, key=key, place=place, name=name, method=method))
    if not found:
        raise InputError("--layer: no head is left there; give another")
    return found


def _refuse_parts(method: str, *, layer: str | None, head: str | None) -> None:
    for option, value in {"--layer": layer, "--head": head}.items():
        if value is not None:
            raise InputError(f"{option}: {method} has one matrix for the whole model; leave one of the two out")


def _is_there(maps: StackMaps, name: HeadName) -> bool:
    """Whether the model has the head; of one that was pruned no cell has a number."""
    return any(number is not None for row in maps.matrix(name.layer - 1, name.head - 1) for number in row)


def _matrix(
    maps: StackMaps, layer: int, head: int | None, *, key: str, place: str, name: str, method: str = "weights"
) -> Matrix:
    prefix = "" if method == "weights" else f"{method}, "
    numbers = maps.matrix(layer, head)
    return Matrix(key, f"{prefix}{place}", name, numbers, maps.rows, maps.columns)


def _heads(text: str, there: Sequence[int]) -> Sequence[int | None]:
    return [None] if text == MEAN else _numbers(text, there, option="--head", words=(MEAN, ALL))


def _numbers(text: str, there: Sequence[int], *, option: str, words: tuple[str, ...]) -> Sequence[int]:
    """The numbers that an option asks for, of those that are there. Raises `InputError` that says what there is."""
    if text == ALL:
        return there
    if text.isdecimal() and int(text) in there:
        return [int(text)]
    without_gap = there and list(there) == list(range(1, len(there) + 1))
    numbers = f"a number from 1 to {len(there)}" if without_gap else ", ".join(map(str, there))
    raise InputError(f"{option}: there is no {text!r}; give {' or '.join(filter(None, [numbers, *words]))}")


def map_title(stack: str, *, layer: int, layers: int, head: int | None, heads: int) -> str:
    """For example `cross-attention, layer 3 of 3, head 2 of 4`; counted from 1, None for the mean over heads."""
    return f"{layer_title(stack, layer=layer, layers=layers)}, {head_title(head, heads=heads)}"


def layer_title(stack: str, *, layer: int, layers: int) -> str:
    """The first part of `map_title`."""
    return f"{STACKS[stack]}, layer {layer} of {layers}"


def head_title(head: int | None, *, heads: int) -> str:
    """The second part of `map_title`."""
    return f"mean of {heads} heads" if head is None else f"head {head} of {heads}"
