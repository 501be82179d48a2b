"""`--figure` of the lens, of an explained row, of word links, of heads and of the beam; `plot` has the shared parts."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from transformer_mt.head_names import STACKS
from transformer_mt.text.terminal import escape_controls
from transformer_mt.translation.beam_tree import DROPPED, ENDED, BeamTrace
from transformer_mt.views.contrast import Contrast, in_words
from transformer_mt.views.explain import Explanation
from transformer_mt.views.lens import Lens
from transformer_mt.views.matrix import LabelledMatrix
from transformer_mt.views.plot import drawing, file_content, matrix_figure

if TYPE_CHECKING:  # sacrebleu is slow to import
    from matplotlib.axes import Axes

    from transformer_mt.links.align import Alignment
    from transformer_mt.views.heads import HeadTable


def lens_figure(lens: Lens, *, path: Path) -> bytes:
    """Draw each layer's likeliest token at each position, shaded by probability; frames mark the deciding layers."""
    layers = tuple(f"layer {layer}" for layer in range(1, len(lens.guesses) + 1))
    matrix = LabelledMatrix("", "", "", lens.guess_probabilities[:, :, 0].T.numpy(), lens.tokens, layers)
    guesses = [[guess for guess, *_ in position] for position in zip(*lens.guesses, strict=True)]
    framed = [(row, layer - 1) for row, layer in enumerate(lens.decided) if layer]
    meaning = "Probability of the likeliest token; from the framed layer on, it is the token at the left."
    return matrix_figure([[matrix]], meaning=meaning, path=path, framed=framed, texts=guesses)


def explanation_figure(explanation: Explanation, *, path: Path) -> bytes:
    """Draw the weights of the explained row and each column's share of the head's output."""
    numbers = torch.stack((explanation["weights"], explanation["column_shares"])).numpy()
    rows = ("weight", "share")
    matrix = LabelledMatrix("", str(explanation.head), explanation.token, numbers, rows, explanation.columns)
    return matrix_figure([[matrix]], meaning="Weights, and shares of the head's output.", path=path)


def contrast_figure(found: Contrast, *, path: Path) -> bytes:
    """Draw how much each word speaks for the first token, by both methods."""
    sides = (found.from_source, found.from_prefix)
    words = tuple(word for side in sides for word in side.words)
    methods = tuple(found.from_source.columns())
    numbers = np.hstack([list(side.columns().values()) for side in sides])
    matrix = LabelledMatrix("", "", "", numbers, methods, words)
    return matrix_figure([[matrix]], meaning=in_words(found), path=path)


def alignment_figure(alignment: "Alignment", *, path: Path) -> bytes:
    """Draw the shares of source words in target words, with a frame around each link."""
    words = (alignment.target_words, alignment.source_words)
    matrix = LabelledMatrix("cross", "word links", ", ".join(alignment.heads), alignment.shares, *words)
    frames = [(target, source) for source, target in alignment.links]
    meaning = "A number is the source word's share in the target word; frames mark links."
    return matrix_figure([[matrix]], meaning=meaning, path=path, framed=frames)


def heads_figure(table: "HeadTable", *, path: Path) -> bytes:
    """Draw the rise of the loss without each head: a matrix per stack, a row per layer; heads that are off are grey."""
    return matrix_figure(
        [list(_losses(table))],
        meaning="A number is the rise of the loss without the head, in nats per target token.",
        path=path,
    )


def _losses(table: "HeadTable") -> Iterator[LabelledMatrix]:
    for stack, title in STACKS.items():
        heads = [each for each in table.heads if each.head.stack == stack]
        if not heads:
            continue
        layers = max(each.head.layer for each in heads)
        count = max(each.head.head for each in heads)
        numbers = np.full((layers, count), math.nan)
        for each in heads:
            numbers[each.head.layer - 1, each.head.head - 1] = each.loss.value
        rows = tuple(f"layer {number}" for number in range(1, layers + 1))
        columns = tuple(f"head {number}" for number in range(1, count + 1))
        yield LabelledMatrix(stack, title, "loss without the head", numbers, rows, columns)


def beam_figure(trace: BeamTrace, *, path: Path) -> bytes:
    """Draw the beam's tree from left to right, with ln p so far; the best path is blue, dropped ends are grey."""
    places = _places(trace)
    best = [trace.best]
    while (parent := trace.nodes[best[-1]].parent) is not None:
        best.append(parent)
    depth, height = (max(place[axis] for place in places.values()) for axis in (0, 1))
    tokens = [node.token for node in trace.nodes]
    with drawing(1.2 * (depth + 1), 0.6 * (height + 1) + 0.4, trace.prefix, tokens) as figure:
        axes = figure.subplots()
        axes.set(xlim=(-0.5, depth + 0.6), ylim=(height + 0.6, -0.6))
        axes.set_axis_off()
        _write_node(axes, places[None], [" ".join(("<s>", *trace.prefix))], "black")
        for number, node in enumerate(trace.nodes):
            colour = "C0" if number in best else "0.5" if node.end == DROPPED else "black"
            ends = zip(places[node.parent], places[number], strict=True)
            axes.plot(*ends, color=colour, linewidth=2 if number in best else 1, zorder=1)
            score = [f"score {node.score:.2f}"] if node.end == ENDED else []
            _write_node(axes, places[number], [node.token, f"{node.log_probability:.2f}", *score], colour)
        return file_content(figure, path)


def _write_node(axes: "Axes", place: tuple[int, int], lines: Sequence[str], colour: str) -> None:
    text = "\n".join(map(escape_controls, lines))
    box = {"color": "white", "pad": 1}
    axes.text(*place, text, ha="center", va="center", fontsize="small", color=colour, bbox=box)


def _places(trace: BeamTrace) -> dict[int | None, tuple[int, int]]:
    """The column and row of every node, and of the root (None): the likeliest child is in its parent's row."""
    children = trace.children()
    places: dict[int | None, tuple[int, int]] = {None: (0, 0)}
    waiting = list(reversed(children[None]))
    lowest = 0
    while waiting:
        number = waiting.pop()
        parent = trace.nodes[number].parent
        column, row = places[parent]
        if number != children[parent][0]:
            lowest = row = lowest + 1
        places[number] = (column + 1, row)
        waiting += reversed(children.get(number, []))
    return places
