"""An explanation as text: for each step a line of words with its formula, then its numbers, vectors abbreviated."""

import math
import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from torch import Tensor

from transformer_mt.attention.steps import Stage, Step
from transformer_mt.drawing.layout import right_aligned
from transformer_mt.inspection.explanation import Explanation
from transformer_mt.registry import STACKS
from transformer_mt.views.text import escape_controls

# What a line is indented by, and no label is wider than.
_INDENT = "   "
_WIDEST_LABEL = 16
# Where a row may not attend to.
_MASKED = "·"
# Contributions below this share are not told in words, and of the others only so many.
_SMALL = 0.05
_TOLD = 3


def render_explanation(explanation: Explanation, *, width: int) -> list[str]:
    """The stages, numbered, and what they come to in words, in lines of at most `width` cells, or 40."""
    width = max(width, 40)
    lines = [*_wrapped(_title(explanation), width=width)]
    notes = (_choice(explanation), _READING, _OFFERED.get(explanation.name.stack, _OFFERED_BY_ITSELF))
    lines += _wrapped(" ".join(filter(None, notes)), width=width)
    for number, stage in enumerate(explanation.stages, start=1):
        title = _wrapped(f"{number}. {stage.title}", width=width)
        lines += ["", *title, *_stage(explanation, stage, width=width)]
    lines += ["", "In words"]
    for sentence in in_words(explanation):
        lines += _wrapped(sentence, width=width, indent=_INDENT)
    return lines


_READING = (
    "The row i and the columns j count from 0, as positions do. A vector is shown by its length ‖·‖ and some of its "
    "entries; --json has them all."
)
# What the columns of a stack offer.
_OFFERED = {"cross": "h_j is the last state that the encoder has for column j."}
_OFFERED_BY_ITSELF = "h_j is to column j what h is to the row."


def in_words(explanation: Explanation) -> list[str]:
    """Where what the head adds comes from, and how much that is, in sentences."""
    _, layer, head = explanation.name
    row, labels = escape_controls(explanation.piece), _labels(explanation)
    told = sorted(zip(explanation.contributions.tolist(), labels, strict=True), reverse=True)
    most = [(share, label) for share, label in told if share >= _SMALL][:_TOLD]
    against = [(share, label) for share, label in told[::-1] if share <= -_SMALL][:_TOLD]
    if not most:
        return [f"No column gives anything to {row}: head {head} of layer {layer} adds nothing there."]
    first = f"{most[0][1]} gives {_percent(most[0][0])} of what head {head} of layer {layer} adds to {row}"
    rest = [f"{label} gives {_percent(share)}" for share, label in most[1:]]
    rest += [f"{label} takes away {_percent(-share)}" for share, label in against]
    sentences = ["; ".join([first, *rest]) + "."]
    if len(explanation.heads) > 1:
        share = explanation["head_shares"][explanation.heads.index(head)].item()
        sentences.append(f"Head {head} gives {_percent(share)} of what the heads of layer {layer} add together.")
    lengths = [f"{explanation[name].norm().item():.4g}" for name in ("attention_output", "state")]
    sentences.append("What they add has the length {}, the state that comes in {}.".format(*lengths))
    return sentences


def _title(explanation: Explanation) -> str:
    stack, layer, head = explanation.name
    read, written = escape_controls(explanation.read), escape_controls(explanation.piece)
    does = f"reads {read}" if stack == "encoder" else f"reads {read} and writes {written}"
    title = STACKS[stack][:1].upper() + STACKS[stack][1:]
    return f"{title}, layer {layer}, head {head}, row i = {explanation.row}, which {does}"


def _choice(explanation: Explanation) -> str:
    choice = explanation.choice
    if choice is None:
        return ""
    return (
        f"ln p of {escape_controls(choice.of)} is {choice.log_probability:.4g} with all heads and "
        f"{choice.without[explanation.name]:.4g} without this one: of {len(choice.without)} heads it matters most."
    )


def _stage(explanation: Explanation, stage: Stage, *, width: int) -> Iterator[str]:
    """Words and formula of every step with its numbers; those of columns, or of heads, share a table where they can."""
    columns: list[Step] = []
    for step in stage.steps:
        if columns and (step.values.ndim == 2 or step.over not in ("row", columns[0].over) or _is_vector(step)):
            yield from (*_table(explanation, columns, width=width), "")
            columns = []
        yield from _wrapped(_sentence(step, width=width - 5), width=width, indent=_INDENT, more="  ")
        if _is_vector(step):
            yield _INDENT * 2 + _vector(step.values, symbol=step.symbol, width=width - 6)
        elif step.over != "row":
            if step.values.ndim == 2:
                yield from _vectors(explanation, step, width=width)
            else:
                columns.append(step)
    if columns:
        yield from _table(explanation, columns, width=width)


def _is_vector(step: Step) -> bool:
    return step.over == "row" and step.values.ndim == 1


def _sentence(step: Step, *, width: int) -> str:
    """For example `The scale, a temperature of the softmax: s = 1/√d = 0.176777`, the formula held together."""
    parts = [step.symbol, step.formula]
    if step.over == "row" and not step.values.ndim:
        parts.append(f"{step.values.item():.6g}")
    formula = " = ".join(filter(None, parts))
    held = formula.replace(" ", "\N{NO-BREAK SPACE}") if cell_len(formula) <= width else formula
    return f"{step.words[:1].upper()}{step.words[1:]}: {held}"


def _vector(vector: Tensor, *, symbol: str, width: int) -> str:
    lead = f"‖{symbol}‖ = {vector.norm().item():.4g}   "
    entries = _entries(vector, decimals=_decimals(vector), cell=_cell(vector), width=width - cell_len(lead))
    return f"{lead}{entries}".rstrip()


def _vectors(explanation: Explanation, step: Step, *, width: int) -> Iterator[str]:
    """One vector a line, with its length."""
    gutter = _gutter(explanation, step)
    lengths = _numbers(step.values.norm(dim=-1))
    size = max(map(cell_len, [f"‖{step.symbol}‖", *lengths]))
    left = width - cell_len(gutter[0]) - size - 5
    decimals, cell = _decimals(step.values), _cell(step.values)
    yield f"{gutter[0]}  {right_aligned(f'‖{step.symbol}‖', size)}   {step.symbol}"
    for label, length, vector in zip(gutter[1:], lengths, step.values, strict=True):
        entries = _entries(vector, decimals=decimals, cell=cell, width=left)
        yield f"{label}  {right_aligned(length, size)}   {entries}".rstrip()


def _entries(vector: Tensor, *, decimals: int, cell: int, width: int) -> str:
    """All entries where they fit; else up to four of the first, and the last, or what little there is room for."""
    values = [f"{value:z{cell}.{decimals}f}" for value in vector.tolist()]
    if len(values) * (cell + 1) + 1 <= width:
        return f"[{' '.join(values)}]"
    first = min(4, (width - 3) // (cell + 1) - 1)
    if first > 0:
        return f"[{' '.join(values[:first])} … {values[-1]}]"
    return f"[{values[0]} …]" if cell + 4 <= width else ""


def _table(explanation: Explanation, steps: Sequence[Step], *, width: int) -> Iterator[str]:
    """One line a key or head, one column a step; columns that do not fit stand in another table below."""
    gutter = _gutter(explanation, steps[0])
    lines, empty = list(gutter), True
    for step in steps:
        cells = [step.symbol, *_numbers(step.values, where=step.where)]
        size = max(map(cell_len, cells))
        if not empty and cell_len(lines[0]) + 2 + size > width:
            yield from (*lines, "")
            lines = list(gutter)
        lines = [f"{line}  {right_aligned(cell, size)}" for line, cell in zip(lines, cells, strict=True)]
        empty = False
    yield from lines


def _gutter(explanation: Explanation, step: Step) -> list[str]:
    """A heading, then what stands in front of every key or head; all of one width."""
    if step.over == "heads":
        cells = ["r", *map(str, explanation.heads)]
        size = max(map(cell_len, cells))
        return [f"{_INDENT * 2}{right_aligned(cell, size)}" for cell in cells]
    labels = ["column", *map(_short, map(escape_controls, explanation.columns))]
    numbers = ["j", *map(str, range(len(explanation.columns)))]
    sizes = max(map(cell_len, numbers)), max(map(cell_len, labels))
    return [
        f"{_INDENT * 2}{right_aligned(number, sizes[0])}  {label}{' ' * (sizes[1] - cell_len(label))}"
        for number, label in zip(numbers, labels, strict=True)
    ]


def _numbers(values: Tensor, where: Tensor | None = None) -> list[str]:
    """The numbers of a column of a table: one count of decimals for all."""
    if not values.dtype.is_floating_point:
        return [
            {True: "yes", False: _MASKED}.get(value, str(value)) if isinstance(value, bool) else str(value)
            for value in values.tolist()
        ]
    decimals = _decimals(values)
    texts = [f"{value:z.{decimals}f}" for value in values.tolist()]
    return (
        texts if where is None else [text if may else _MASKED for text, may in zip(texts, where.tolist(), strict=True)]
    )


def _decimals(values: Tensor) -> int:
    """Three, or as many as the largest number needs to have four digits that count."""
    largest = values.abs().amax().item() if values.numel() else 0.0
    return 3 if largest == 0.0 or not math.isfinite(largest) else min(max(3, 3 - math.floor(math.log10(largest))), 9)


def _cell(values: Tensor) -> int:
    decimals = _decimals(values)
    return max(len(f"{value:z.{decimals}f}") for value in (values.amin().item(), values.amax().item()))


def _labels(explanation: Explanation) -> list[str]:
    """The pieces of the columns, those that stand there twice with their place."""
    pieces = explanation.columns
    return [
        escape_controls(piece) + (f" (j = {place})" if pieces.count(piece) > 1 else "")
        for place, piece in enumerate(pieces)
    ]


def _short(label: str) -> str:
    return label if cell_len(label) <= _WIDEST_LABEL else set_cell_size(label, _WIDEST_LABEL - 1) + "…"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _wrapped(text: str, *, width: int, indent: str = "", more: str = "") -> list[str]:
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
