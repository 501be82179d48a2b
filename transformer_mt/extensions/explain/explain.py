"""`tmt explain`: one row of one attention head, step by step, from the values that hooks report.

Explains the part of the forward pass inside the head's layer, from its input state to its output state. Each stage is a
module; its title is the class name and the first paragraph of its docstring. Only a head's contributions to the output
are computed here, since the layer sums over all heads at once.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from jaxtyping import Float
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from torch import Tensor, nn

from transformer_mt.attention.hooks import Shown, watching
from transformer_mt.attention.multihead import InspectableAttention
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import STACKS, HeadName
from transformer_mt.ground.registry import lookup
from transformer_mt.links.recording import attention_of
from transformer_mt.links.tokens import PairTokens, Tokens, find_row
from transformer_mt.models.head_mask import attention_layers, head_names, heads_at
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.text.brief import Brief
from transformer_mt.text.terminal import JsonObject
from transformer_mt.views.head_importance import HeadLosses, head_losses
from transformer_mt.views.rendering import inline, label, rendered, table
from transformer_mt.views.request import PairRequest
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import Subject

# Enough digits for a float32 to survive JSON.
_DIGITS = 9

# The side of a pair that each stack has a row for.
_ROWS = {"cross": "target", "decoder": "target", "encoder": "source"}

# What a value has one number or vector for.
Over = Literal["row", "keys", "heads"]

# For each symbol, a name for --json, and a description. Other symbols are their own names.
_NAMES = {
    "√D e": ("embedding", "the scaled embedding of the token that the row reads"),
    "pe": ("position_encoding", "the encoding of the row's position i"),
    "x": ("state", "the row's state before this layer"),
    "h": ("read", "the input of the attention"),
    "q₀": ("shared_query", "the query that all heads share"),
    "μ_r": ("mixing", "the head's learned mixing vector"),
    "q": ("query", "the query: what the row looks for"),
    "k_j": ("keys", "the keys, from the columns' states h_j: what each answers to"),
    "φ(q)": ("mapped_query", "the query, made positive"),
    "φ(k_j)": ("mapped_keys", "the keys, made positive"),
    "q′": ("rotated_query", "the query turned by its position i: features 2t and 2t + 1 by i θ_t"),
    "k′_j": ("rotated_keys", "every key turned by its own position j"),
    "u_j": ("hidden", "query and key added, squashed"),
    "v": ("direction", "the learned vector that scores a pair"),
    "τ": ("temperature", "the head's factor, learned"),
    "e_j": ("scores", "the score of every key"),
    "s_j": ("scores", "the similarity of the query with every key, never negative"),
    "c_j": ("distances", "the distance of every column to the right of the row, clipped"),
    "bucket_j": ("buckets", "the bucket of every column's distance"),
    "a_j": ("position_keys", "the learned vector of every distance"),
    "m": ("slope", "the slope of the head"),
    "b_j": ("position_term", "the term of the position"),
    "e′_j": ("scores_with_position", "the score with the term of the position"),
    "j ∈ N": ("mask", "which columns the row may attend to: its neighbours in the graph"),
    "α_j": ("weights", "the weights, which sum to 1"),
    "v_j": ("values", "the values, from the same states: what each column passes on"),
    "a^V_j": ("position_values", "the learned value of every distance"),
    "head": ("head", "the head: the weighted sum of the values"),
    "o": ("head_output", "the head's part of the output"),
    "o_j": ("column_outputs", "the part of o from every column"),
    "share_j": ("column_shares", "each column's share of o: o_j in the direction of o; they sum to 1"),
    "o_r": ("head_outputs", "the parts of all heads r of the layer"),
    "share_r": ("head_shares", "each head's share of y"),
    "y": ("attention_output", "the output of the attention for this row"),
    "z": ("residual", "the state with the output of the attention"),
    "i_c": ("gates", "the context's part of the gates of the decoder's first layer"),
    "x′": ("output", "the state passed on"),
}


@dataclass(frozen=True, repr=False)
class Step(Brief):
    """One value of the computation: its symbol, formula and numbers.

    `values` is a number or vector of the row or, with `over`, one per key or head.
    """

    name: str
    words: str
    symbol: str
    formula: str
    over: Over
    values: Tensor

    @classmethod
    def of(cls, symbol: str, formula: str, values: Tensor, over: Over = "row") -> "Step":
        """Create a step with the name and description of its symbol."""
        return cls(*_NAMES.get(symbol, (symbol, symbol)), symbol, formula, over, values.detach().cpu())

    @property
    def is_vector(self) -> bool:
        """True for vectors, False for numbers."""
        return self.values.ndim > (self.over != "row")


@dataclass(frozen=True, repr=False)
class Stage(Brief):
    """The steps of one module."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """One row of an attention head. `row` counts from 0; its `token` is the one written there or, in an encoder, read.

    `read` is the token that the model reads at this position. `heads` are the numbers of the layer's heads. `rows` maps
    `target` and `source`, if they have rows, to every word with its tokens. `choice` is None if the head was given.
    """

    source: str
    target: str
    word: str
    token: str
    read: str
    row: int
    head: HeadName
    choice: HeadLosses | None
    columns: tuple[str, ...]
    heads: tuple[int, ...]
    rows: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    stages: tuple[Stage, ...]

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all stages."""
        return (step for stage in self.stages for step in stage.steps)

    def __getitem__(self, name: str) -> Tensor:
        return next(step.values for step in self.steps() if step.name == name)

    def to_json(self) -> JsonObject:
        """The fields, with the head as `stack`, `layer` and `head`; `contributions`, the shares; and `in_words`."""
        told = {"contributions": self["column_shares"], "in_words": in_words(self)}
        return to_json(vars(self) | self.head._asdict() | told, digits=_DIGITS)


class ExplainRequest(PairRequest):
    """A request for `tmt explain`."""

    word: str | None = None
    token: int = 1
    stack: str | None = None
    layer: int | None = None
    head: int | None = None


def view_explanation(subject: Subject, asked: ExplainRequest) -> JsonObject:
    """`tmt explain --json`. Raises `InputError` for a word, token, stack, layer or head that does not exist."""
    subject.require_attention()
    options = asked.model_dump(exclude={*PairRequest.model_fields})
    return subject.to_json(explain_row(subject.network, subject.tokens, **options))


def explain_row(
    model: Seq2Seq,
    tokens: PairTokens,
    *,
    word: str | None = None,
    token: int = 1,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Explanation:
    """Explain the row of a word in an attention head, under teacher forcing in evaluation mode.

    Target words have rows in `cross` and `decoder`, where they are written; source words in `encoder`. `word` may also
    be a number, from 1; see `find_row`. `token` is the number of the token
    in the word, from 1. Of the heads that match stack, layer and head, takes the one whose removal lowers ln p of the
    token most (for a source token, ln p of the translation). Raises `InputError`, with the argument's name, for a word,
    token, stack, layer or head that does not exist.
    """
    stacks = model.attention_stacks()
    every = _sides(tokens, stacks)
    if stack is not None:
        stacks = {stack: lookup(stacks, stack, key="stack")}
    title, number, row = find_row(_sides(tokens, stacks), word=word, token=token)
    side = every[title]
    possible = [name for name, of in _ROWS.items() if of == title and name in stacks]
    names = [name for name in head_names(model) if name.stack in possible]
    if not names:
        attention = " and ".join(possible)
        raise InputError("stack", f"{attention} attention has no heads left in this model", "choose another")
    names = list(heads_at(names, layer=layer, head=head))
    name = names[0]
    choice = None
    if len(names) > 1:
        choice = head_losses(model, tokens, row=row if title == "target" else None, candidates=names)
        name = min(names, key=choice.without.__getitem__)
    module = attention_layers(model)[name.of_layer]
    shown: list[Shown] = []
    with watching(shown.append):
        attention_of(model, *tokens.inputs(model))  # checks that it fits the tokens
    with evaluating(model):
        stages = tuple(_stages(shown, module, row, name))
    return Explanation(
        source=tokens.source.text,
        target=tokens.written.text,
        word=side.words[number],
        token=side.pieces[row],
        read=(tokens.source if name.stack == "encoder" else tokens.read).pieces[row],
        row=row,
        head=name,
        choice=choice,
        columns=tokens.sides(name.stack)[1].pieces,
        heads=tuple(range(1, module.heads + 1)),
        rows={of: each.by_words() for of, each in every.items()},
        stages=stages,
    )


def _stages(shown: Sequence[Shown], module: InspectableAttention, row: int, name: HeadName) -> Iterator[Stage]:
    layer, row = _layer_of(shown, module, row, embedded=name.stack != "cross")
    head = name.head - 1
    steps: list[tuple[nn.Module, Step]] = []
    for before, each in zip([None, *layer], layer, strict=False):
        owner, step = each.module, _step(each, row, head)
        if before and each.value is before.value:
            if each.symbol == before.symbol:  # the sum after a position was added
                continue
            if before.symbol == "norm(x)":  # the norm's module reports it with the formula
                owner, norm = steps.pop()
                step = replace(step, formula=", ".join(filter(None, [step.formula, f"norm(x) = {norm.formula}"])))
        if each.symbol == "y":
            steps += [(module, part) for part in _contributions(module, layer, row, head)]
        steps.append((owner, step))
    for owner, group in groupby(steps, key=lambda pair: pair[0]):
        kind = type(owner)
        paragraph = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        title = ": ".join(filter(None, [kind.__name__, paragraph]))
        yield Stage(title, tuple(step for _, step in group))


def _layer_of(
    shown: Sequence[Shown], module: InspectableAttention, row: int, *, embedded: bool
) -> tuple[Sequence[Shown], int]:
    """The values of the module's layer, from its input state, or the embedding, to its output; and the row in them."""
    symbols = [each.symbol for each in shown]
    # A recurrent decoder calls its attention once per token.
    calls = [place for place, each in enumerate(shown) if each.module is module and each.symbol == "h"]
    while row >= (queries := shown[calls[0]].value.shape[1]):
        row -= queries
        del calls[0]
    first = max((place for place in range(calls[0]) if symbols[place] == "x"), default=calls[0])
    while embedded and first and symbols[first - 1] in ("√D e", "pe"):
        first -= 1
    last = symbols.index("x′" if "x′" in symbols[first:] else "y", calls[0])
    return shown[first : last + 1], row


def _step(shown: Shown, row: int, head: int) -> Step:
    """Select the numbers of the row and the head from a value by the names of its axes."""
    axes = shown.axes.split()
    wanted = {"B": 0, "H": head, "Q": row}
    sizes = zip(axes, shown.value.shape, strict=True)
    place = [min(wanted[axis], size - 1) if axis in wanted else slice(None) for axis, size in sizes]
    formula = getattr(shown.module, "formulas", {}).get(shown.symbol, "")
    return Step.of(shown.symbol, formula, shown.value[tuple(place)], "keys" if "K" in axes else "row")


def _contributions(module: InspectableAttention, shown: Sequence[Shown], row: int, head: int) -> Iterator[Step]:
    values = {each.symbol: each.value for each in shown}
    weights = values["α_j"][0, head, row]
    weighed = values["v_j"][0, head]
    heads = values["head"][:1, :, row : row + 1]
    formulas = dict(module.formulas)
    if "a^V_j" in values:
        weighed = weighed + values["a^V_j"][row]
        formulas["o_j"] = formulas["o_j"].replace("v_j", "(v_j + a^V_j)")
    columns = heads.new_zeros(1, module.heads, *weighed.shape)
    columns[0, head] = weights[:, None] * weighed
    of_columns, of_heads = module.parts(columns)[0, head], module.parts(heads)[0, :, 0]  # K D, H D
    yield Step.of("o", formulas["o"], of_heads[head])
    yield Step.of("o_j", formulas["o_j"], of_columns, "keys")
    yield Step.of("share_j", "o_j·o / ‖o‖²", projected_shares(of_columns, of_heads[head]), "keys")
    yield Step.of("o_r", formulas["o_r"], of_heads, "heads")
    yield Step.of("share_r", "o_r·y / ‖y‖²", projected_shares(of_heads, values["y"][0, row]), "heads")


def projected_shares(parts: Float[Tensor, "N D"], total: Float[Tensor, " D"]) -> Float[Tensor, " N"]:
    """The share of each part in the total's squared length: parts·total / ‖total‖²; zero for a zero total."""
    length = total.square().sum()
    return (parts @ total) / length.masked_fill(length == 0.0, 1.0)


def _sides(tokens: PairTokens, stacks: Collection[str]) -> dict[str, Tokens]:
    """The sides of a pair with rows in any of the stacks."""
    return {title: tokens.sides(stack)[0] for stack, title in _ROWS.items() if stack in stacks}


# As text

# The summary names contributions from this share on, and at most this many.
_SMALL = 0.05
_TOLD = 3
_NOTES = (
    "The row i and the columns j count from 0, as positions do. Each stage is named after the class that computes it. "
    "A vector is shown by its length ‖·‖ and some of its entries; --json has them all. "
    "h_j is column j's h; in cross-attention, it is the encoder's last state of column j."
)


def lines_of(explanation: Explanation, *, width: int) -> list[Text]:
    """The numbered stages and a summary in words, in lines of at most `width` cells (at least 40)."""
    stack, layer, head = explanation.head
    writes = "" if stack == "encoder" else f" and writes {inline(explanation.token)}"
    title = f"{STACKS[stack].capitalize()}, layer {layer}, head {head}, row i = {explanation.row}"
    parts: list[RenderableType] = [
        f"{title}, which reads {inline(explanation.read)}{writes}",
        _reason(explanation) + _NOTES,
    ]
    for number, stage in enumerate(explanation.stages, start=1):
        parts += ["", f"{number}. {stage.title}"]
        # Steps with a number per key, or per head, share a table.
        for _, group in groupby(stage.steps, key=lambda step: (step.over, step.is_vector and id(step))):
            parts.append(_indented(_steps(explanation, list(group))))
    parts += ["", "In words", _indented(in_words(explanation, inline))]
    return rendered(Group(*parts), width=max(width, 40))


def _reason(explanation: Explanation) -> str:
    """Why this head, if it was not given."""
    if choice := explanation.choice:
        of = f"ln p of {inline(choice.of)} is {choice.log_probability:.4g}"
        without = f"{choice.without[explanation.head]:.4g} without this one"
        return f"{of} with all heads and {without}: of {len(choice.without)} heads it matters most. "
    return ""


def _indented(parts: Iterable[RenderableType]) -> Padding:
    return Padding(Group(*parts), (0, 0, 0, 3))


def in_words(explanation: Explanation, shown: Callable[[str], str] = str) -> list[str]:
    """Describe which columns the head's output comes from, and the head's share of the layer's output."""
    _, layer, head = explanation.head
    pieces = list(map(shown, explanation.columns))
    row = shown(explanation.token)
    names = [f"{each} (j = {j})" if pieces.count(each) > 1 else each for j, each in enumerate(pieces)]
    shares = sorted(zip(explanation["column_shares"].tolist(), names, strict=True), reverse=True)
    gives = [f"{name} gives {_percent(share)}" for share, name in shares if share >= _SMALL][:_TOLD]
    takes = [f"{name} takes away {_percent(-share)}" for share, name in shares[::-1] if share <= -_SMALL][:_TOLD]
    if not gives:
        return [f"No column gives anything to {row}: head {head} of layer {layer} adds nothing there."]
    gives[0] += f" of what head {head} of layer {layer} adds to {row}"
    sentences = ["; ".join(gives + takes) + "."]
    if len(explanation.heads) > 1:
        share = _percent(explanation["head_shares"][head - 1].item())
        sentences.append(f"Head {head} gives {share} of what the heads of layer {layer} add together.")
    return sentences


def _steps(explanation: Explanation, steps: Sequence[Step]) -> Iterator[RenderableType]:
    """A line per step, then the numbers: a vector on one line, or a table with a column per step."""
    for step in steps:
        formula = " = ".join(filter(None, [step.symbol, step.formula]))
        value = f" = {step.values.item():.6g}" if step.values.ndim == 0 else ""
        yield f"{step.words[:1].upper()}{step.words[1:]}: {formula}{value}"
    first = steps[0]
    if first.over != "row":
        yield from (_indented([_number_table(explanation, steps)]), "")
    elif first.is_vector:
        yield _indented([f"‖{first.symbol}‖ = {first.values.norm().item():.4g}   {_vectors(first.values)[0]}"])


def _number_table(explanation: Explanation, steps: Sequence[Step]) -> Table:
    """A row per key, or per head; a column per step, and for vectors also one of their lengths."""
    if steps[0].over == "keys":
        labels = [["j", *map(str, range(len(explanation.columns)))], ["column", *map(label, explanation.columns)]]
    else:
        labels = [["r", *map(str, explanation.heads)]]
    columns = []
    for step in steps:
        if step.is_vector:
            columns.append([f"‖{step.symbol}‖", *_numbers(step.values.norm(dim=-1))])
        columns.append([step.symbol, *(_vectors if step.is_vector else _numbers)(step.values)])
    headings, *rows = zip(*labels, *columns, strict=True)
    return table(rows, headings=headings, right=[0, *range(len(labels), len(labels) + len(steps))])


def _vectors(values: Tensor) -> list[str]:
    """The entries of one or several vectors with equal decimals; of long vectors, the first four and the last."""
    cells = _numbers(values.flatten())
    cells = [cell.rjust(max(map(len, cells))) for cell in cells]
    size = values.shape[-1]
    rows = [cells[start : start + size] for start in range(0, len(cells), size)]
    return [f"[{' '.join(row if size <= 6 else [*row[:4], '…', row[-1]])}]" for row in rows]


def _numbers(values: Tensor) -> list[str]:
    """The numbers of a column with equal decimals: three, or enough for four digits of the largest."""
    if not values.dtype.is_floating_point:
        return [str(value).replace("True", "yes").replace("False", "·") for value in values.tolist()]
    largest = values.abs().amax().item()
    decimals = min(max(3, 3 - math.floor(math.log10(largest))), 9) if largest else 3
    return [f"{value:z.{decimals}f}" for value in values.tolist()]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
