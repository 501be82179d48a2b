"""The steps by which an attention head computes a row, each with its formula and its numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_mt.attention.steps import Explained, HeadSteps, Row, Stage, Step
from transformer_mt.inspection.gates import head_numbers
from transformer_mt.inspection.recording import record_attention
from transformer_mt.models.seq2seq import Seq2Seq, require_finite
from transformer_mt.registry import HeadName
from transformer_mt.views.words import PairTokens, Tokens


def walk(model: Seq2Seq, tokens: PairTokens, name: HeadName, row: int) -> tuple[tuple[Stage, ...], Tensor]:
    """All stages of a row, and the contributions of its columns."""
    module = model.attention_stacks()[name.stack][name.layer - 1]
    around = model.surroundings()[name.stack][name.layer - 1]
    assert isinstance(module, Explained)
    with (
        record_attention(model) as recording,
        _arguments(around.entrance(module)) as states,
        _arguments(module) as read,
    ):
        require_finite(model(*tokens.inputs(next(model.parameters()).device)))
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


def what_is_read(tokens: PairTokens, stack: str) -> Tokens:
    """What the model reads at the rows of a stack."""
    return tokens.source if stack == "encoder" else tokens.read


def _first_stage(model: Seq2Seq, tokens: PairTokens, name: HeadName, row: int, state: Step) -> Stage:
    """The state, in the first layer with what it is made of."""
    if name.layer > 1 or not (embedding := _embedding(model, tokens, name.stack, row)):
        return Stage("What comes in", (state,))
    total = " + ".join(step.symbol for step in embedding)
    return Stage("What comes in", (*embedding, replace(state, formula=total)))


def _embedding(model: Seq2Seq, tokens: PairTokens, stack: str, row: int) -> list[Step]:
    return model.explain_embedding(stack, what_is_read(tokens, stack).ids[row], number=row)


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
