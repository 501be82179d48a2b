"""How the cost of training and translation grows with length, width, vocabulary and batch.

Each varies alone around the reference. On a log–log scale, the slope of the cost shows where the time goes: if the cost
is a sum of powers of the size, the slope is the mean of the exponents, weighted by their shares of the cost. For
example, a slope of 1.3 between work that grows with the width (1) and matrix products of that width (2) means that the
products take 30 % of the time.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from benchmarks.contest import Spread, in_turn, markdown
from benchmarks.reference import Sizes, describe, reference_trainer
from transformer_mt.extensions.plot.plot import Panel, Series, curves_figure
from transformer_mt.ground.device import choose_device
from transformer_mt.models.build_model import build_model
from transformer_mt.models.seq2seq import evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.tokenizer.symbols import EOS, SPECIAL
from transformer_mt.translation.search import beam_search

LENGTH, SENTENCES, BEAM = 16, 64, 4


@dataclass(frozen=True)
class Axis:
    """A size to vary, and for each exponent the work whose cost grows with that power."""

    name: str
    values: tuple[int, ...]
    reference: int
    meaning: Mapping[int, str]


TRAINING = (
    Axis(
        "length",
        (8, 16, 32, 64, 128, 256, 512),
        LENGTH,
        {0: "what is done for each token", 1: "attention over all pairs of tokens"},
    ),
    Axis(
        "width",
        (64, 128, 256, 512),
        256,
        {0: "calls", 1: "what is done for each feature, and the output matrix", 2: "matrix products of the layers"},
    ),
    Axis("vocabulary", (750, 1500, 3000, 6000, 12000, 24000), 6000, {0: "the layers", 1: "output matrix and loss"}),
    Axis("batch", (128, 256, 512, 1024, 2048, 4096, 8192), 4096, {0: "calls, optimizer", 1: "work on tokens"}),
)
TRANSLATION = (
    Axis("length", (8, 16, 32, 64, 128), LENGTH, {1: "a step for each token", 2: "attention to all tokens before"}),
    Axis("width", (64, 128, 256, 512), 256, {0: "calls", 1: "what is done for each feature", 2: "matrix products"}),
    Axis("vocabulary", (750, 1500, 3000, 6000, 12000, 24000), 6000, {0: "the layers, calls", 1: "output and top k"}),
    Axis("batch", (1, 4, 16, 64, 256), SENTENCES, {0: "calls", 1: "work on hypotheses"}),
)

# For each axis and value, the seconds of every round.
Costs = Mapping[str, Mapping[int, Sequence[float]]]


def scaling_table(
    folder: Path,
    *,
    svg: Path | None = None,
    reference: Sizes = Sizes(length=LENGTH),  # noqa: B008 - frozen
    training: Sequence[Axis] = TRAINING,
    translation: Sequence[Axis] = TRANSLATION,
    rounds: int = 3,
) -> str:
    """Measure all axes and return Markdown, with an optional picture; writes files to the folder."""
    steps = {axis.name: training_costs(reference, axis, folder, rounds=rounds) for axis in training}
    searches = {axis.name: translation_costs(reference, axis, rounds=rounds) for axis in translation}
    if svg:
        panels = [panel("training step", training, steps), panel("translation", translation, searches)]
        svg.write_bytes(curves_figure(panels, path=svg))
    words = (
        f"reference: {reference.words}, all sentences of {reference.length} tokens; longer sentences are fewer in a "
        f"batch, and a wider model has a feed-forward network of 4 × the width; translation: {SENTENCES} sentences, "
        f"beam {BEAM}, as long as their sources; medians of {rounds} rounds"
    )
    tables = [
        axis_table("training: ms a step", training, steps),
        axis_table("translation: ms a batch", translation, searches),
    ]
    return "\n\n".join((f"{describe()}; {words}", *tables))


def axis_table(title: str, axes: Sequence[Axis], costs: Costs) -> str:
    """A row for each axis: the costs, and the slopes at both ends with their meaning."""
    rows = []
    for axis in axes:
        found = medians(costs[axis.name])
        shown = ", ".join(f"{value:,}: {1000 * seconds:,.0f}" for value, seconds in found.items())
        rows.append([axis.name, shown, *(said(slope, axis) for slope in end_slopes(found))])
    return markdown([title, "", "slope at the low end", "slope at the high end"], rows)


def said(slope: float, axis: Axis) -> str:
    """A slope with its meaning: the shares of the two neighbouring powers."""
    powers = sorted(axis.meaning)
    upper = next((power for power in powers[1:] if power >= slope), powers[-1])
    lower = powers[powers.index(upper) - 1]
    share = 1.0 if lower == upper else min(1.0, max(0.0, (slope - lower) / (upper - lower)))
    parts = ((share, upper), (1 - share, lower))
    return f"{slope:.2f}: " + ", ".join(f"{part:.0%} {axis.meaning[power]}" for part, power in parts if part >= 0.005)


def medians(costs: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """The median cost of every value."""
    return {value: Spread.of(found).median for value, found in costs.items()}


def end_slopes(costs: Mapping[int, float]) -> tuple[float, float]:
    """d ln cost / d ln value between the first two values and between the last two."""
    points = [(math.log(value), math.log(cost)) for value, cost in costs.items()]
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = *points[:2], *points[-2:]
    return (y1 - y0) / (x1 - x0), (y3 - y2) / (x3 - x2)


def panel(what: str, axes: Sequence[Axis], costs: Costs) -> Panel:
    """A curve for each axis, in doublings of both size and cost, so that slopes are visible."""
    series = []
    for group, axis in enumerate(axes):
        found = medians(costs[axis.name])
        reference = found[axis.reference]
        points = tuple((math.log2(value / axis.reference), math.log2(found[value] / reference)) for value in found)
        series.append(Series(f"{axis.name} ({axis.reference:,})", points, group=group))
    title = f"Cost of a {what} in doublings, against that of the reference"
    return Panel(title, series, "doublings of the size, from the reference on")


def training_costs(reference: Sizes, axis: Axis, folder: Path, *, rounds: int) -> dict[int, list[float]]:
    """Seconds of a training step for every value of an axis, all values in turn."""
    trainers = []
    for value in axis.values:
        sizes = varied(reference, axis.name, value)
        # Enough pairs for one batch, so that every step has the same batch.
        sizes = replace(sizes, pairs=max(2, sizes.batch_tokens // sizes.length))
        trainers.append(reference_trainer(sizes, Path(tempfile.mkdtemp(dir=folder))))
    steps = [partial(seconds, trainer.step) for trainer in trainers]
    return dict(zip(axis.values, in_turn(steps, rounds=rounds, pause=0.0), strict=True))


def translation_costs(reference: Sizes, axis: Axis, *, rounds: int) -> dict[int, list[float]]:
    """Seconds to translate a batch for every value of an axis, all values in turn."""
    searches = []
    for value in axis.values:
        sizes = reference if axis.name == "batch" else varied(reference, axis.name, value)
        searches.append(partial(seconds, batch_search(sizes, sentences=value if axis.name == "batch" else SENTENCES)))
    return dict(zip(axis.values, in_turn(searches, rounds=rounds, pause=0.0), strict=True))


def batch_search(sizes: Sizes, *, sentences: int) -> Callable[[], object]:
    """A search over random sentences with an untrained model that stops only at the length limit."""
    device = choose_device("auto")
    torch.manual_seed(1)
    model = build_model(sizes.config().model, vocabulary_size=sizes.vocabulary).to(device)
    assert isinstance(model, Transformer)
    with torch.no_grad():
        model.output.bias[EOS] = -1e4
    source = torch.randint(len(SPECIAL), sizes.vocabulary, (sentences, sizes.length), device=device)

    def search() -> object:
        with evaluating(model):
            return beam_search(model, source, beam=BEAM, alpha=1.0, limits=[sizes.length] * len(source), n_best=1)

    return search


def varied(reference: Sizes, name: str, value: int) -> Sizes:
    """The reference with one size changed; the feed-forward network scales with the width."""
    if name == "width":
        return replace(reference, width=value, feedforward=4 * value)
    return replace(reference, **{{"batch": "batch_tokens"}.get(name, name): value})


def seconds(work: Callable[[], object]) -> float:
    """The time of a call, including the GPU's queue."""
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
