"""An explanation as text: whatever follows from printed numbers is recomputed from them, within their rounding."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from rich.cells import cell_len
from support.tiny import varied_model

from transformer_mt.drawing.explanation_text import in_words, render_explanation
from transformer_mt.inspection.explanation import Explanation, explain
from transformer_mt.tokenizer.tokenizer import Tokenizer

SOURCE, TARGET = "Der alte Mann liest.", "The old man is reading."
WIDE = 500  # nothing is folded


class Printed(NamedTuple):
    """A number and how far it can be from the one that was rounded."""

    value: float
    error: float


def printed(text: str) -> Printed:
    """As many decimals as stand there are right."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return Printed(float(text), 0.5 * 10.0**-decimals)


Numbers = dict[str, list[Printed | None]]


class Page(NamedTuple):
    """What can be read from a printed explanation: formulas by symbol, single numbers, and columns of tables."""

    formulas: dict[str, str]
    numbers: dict[str, Printed]
    columns: Numbers


def read_page(lines: list[str]) -> Page:
    page, header = Page({}, {}, {}), []
    for line in lines[lines.index("") :]:
        cells = re.split(r"\s{2,}", line.strip())
        if re.match(r"   \S.*: ", line):
            symbol, *parts = line.rsplit(": ", 1)[1].split(" = ")
            page.formulas[symbol] = parts[0] if parts else ""
            if parts and re.fullmatch(r"-?[\d.]+(e-?\d+)?", parts[-1]):
                page.numbers[symbol] = printed(parts[-1])
            header = []
        elif cells[0] in ("j", "r"):
            header = cells[2:] if cells[0] == "j" else cells[1:]
        elif header and "[" not in line and cells[0].isdecimal():
            for symbol, cell in zip(header, cells[-len(header) :], strict=True):
                page.columns.setdefault(symbol, []).append(None if cell in ("·", "yes") else printed(cell))
    return page


# What follows from numbers that stand on the page: of each column from what is named, in this order.
FOLLOWS: dict[str, tuple[tuple[str, ...], Callable[..., float]]] = {
    "q·k_j": (("q·k_j",), lambda product: product),
    "q·k_j · 1/√d": (("q·k_j", "1/√d"), lambda product, s: product * s),
    "q·k_j · 1/√D": (("q·k_j", "1/√D"), lambda product, s: product * s),
    "q·k_j / (‖q‖ ‖k_j‖)": (("q·k_j", "‖q‖", "‖k_j‖"), lambda product, q, k: product / (q * k)),
    "τ cos_j": (("τ", "cos_j"), lambda factor, cosine: factor * cosine),
    "−δ_j · 1/(2√d)": (("δ_j", "1/(2√d)"), lambda distance, s: -distance * s),
    "−m |j − i|": (("m", "|j − i|"), lambda slope, distance: -slope * distance),
    "e_j + b_j": (("e_j", "b_j"), lambda score, term: score + term),
    "exp(e_j − e_max)": (("e_j", "e_max"), lambda score, highest: math.exp(score - highest)),
    "exp(e′_j − e_max)": (("e′_j", "e_max"), lambda score, highest: math.exp(score - highest)),
    "p_j / Z": (("p_j", "Z"), lambda power, total: power / total),
    "s_j / Z": (("s_j", "Z"), lambda similarity, total: similarity / total),
}
SUMS = {"Σ_j p_j": "p_j", "Σ_j s_j": "s_j"}
HIGHEST = {"max_j e_j": "e_j", "max_j e′_j": "e′_j"}


def assert_follows(found: Printed, rule: Callable[..., float], given: list[Printed], what: str) -> None:
    """The number is that of the rule, as far as the rounding of both lets one say."""
    values = [one.value for one in given]
    expected, slack = rule(*values), found.error
    for place, one in enumerate(given):
        moved = [*values[:place], one.value + one.error, *values[place + 1 :]]
        slack += abs(rule(*moved) - expected)
    assert found.value == pytest.approx(expected, abs=1.1 * slack + 1e-9), what


def check(page: Page) -> set[str]:
    """Recompute what follows; the symbols of what was."""
    done, columns = set(), page.columns
    formulas = dict(page.formulas)
    if "b_j" in formulas and (scale := re.fullmatch(r"q·a_j · ([\d.e-]+)", formulas["b_j"])):
        for found, product in zip(columns["b_j"], columns["q·a_j"], strict=True):
            assert found
            assert product
            assert_follows(found, lambda product, s: product * s, [product, printed(scale[1])], "b_j")
        done.add("b_j")
    numbers = page.numbers
    for symbol, formula in formulas.items():
        if formula in FOLLOWS:
            needed, rule = FOLLOWS[formula]
            for place, found in enumerate(columns[symbol]):
                given = [columns[name][place] if name in columns else numbers[name] for name in needed]
                if found is not None and all(given):
                    assert_follows(found, rule, [one for one in given if one], symbol)
                    done.add(symbol)
        elif formula in SUMS:
            parts = [one for one in columns[SUMS[formula]] if one]
            assert_follows(numbers[symbol], lambda *parts: sum(parts), parts, symbol)
            done.add(symbol)
        elif formula in HIGHEST:
            each = zip(columns[HIGHEST[formula]], columns["p_j"], strict=True)
            parts = [one for one, power in each if one and power]  # those that may be attended to
            assert_follows(numbers[symbol], lambda *parts: max(parts), parts, symbol)
            done.add(symbol)
    return done


VARIANTS = {
    "model.attention.score=scaled_dot": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.score=dot": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.score=bilinear": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.score=additive": {"p_j", "Z", "α_j"},
    "model.attention.score=cosine": {"cos_j", "e_j", "p_j", "Z", "α_j"},
    "model.attention.score=euclidean": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.position=relative(2)": {"e_j", "b_j", "e′_j", "p_j", "Z", "α_j"},
    "model.attention.position=rotary": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.position=alibi": {"e_j", "b_j", "e′_j", "p_j", "Z", "α_j"},
    "model.attention.sharing=collaborative(4)": {"e_j", "p_j", "Z", "α_j"},
    "model.attention.kind=linear": {"Z", "α_j"},
    "model.kind=recurrent": {"p_j", "Z", "α_j"},
}


def explained(tokenizer: Tokenizer, *overrides: str, stack: str | None = None) -> Explanation:
    model = varied_model(*overrides, vocabulary=tokenizer.size)
    stack = stack or ("cross" if "model.kind=recurrent" in overrides else "decoder")
    return explain(model, tokenizer, SOURCE, TARGET, word="3", stack=stack, layer=1, head=1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_whatever_follows_from_printed_numbers_is_so(variant: str, tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, variant)
    page = read_page(render_explanation(found, width=WIDE))
    assert check(page) >= VARIANTS[variant]
    for symbol in ("α_j", "share_j"):
        parts = [one for one in page.columns[symbol] if one]
        assert sum(one.value for one in parts) == pytest.approx(1.0, abs=sum(one.error for one in parts))
    if "recurrent" not in variant:
        assert len(page.columns["share_r"]) == 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_has_its_words_its_formula_and_its_numbers(variant: str, tokenizer: Tokenizer) -> None:
    found = explained(tokenizer, variant)
    text = "\n".join(render_explanation(found, width=WIDE))
    for number, stage in enumerate(found.stages, start=1):
        assert f"\n\n{number}. {stage.title}\n" in text
    for step in found.steps():
        formula = " = ".join(filter(None, [step.symbol, step.formula]))
        assert f"   {step.words[:1].upper()}{step.words[1:]}: {formula}" in text
        if step.over == "row" and step.values.ndim:
            assert f"‖{step.symbol}‖ = {step.values.norm().item():.4g}   [" in text
        elif step.values.ndim == 2:
            labels = found.columns if step.over == "keys" else found.heads
            for label, vector in zip(labels, step.values, strict=True):
                lengths = re.findall(rf"(?m)^ +(?:\d+  )?{re.escape(str(label))} +(-?[\d.]+)   \[", text)
                assert any(float(one) == pytest.approx(vector.norm().item(), abs=1e-3) for one in lengths)


def test_what_may_not_be_attended_to_is_a_dot_in_the_weights(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer)
    weights = read_page(render_explanation(found, width=WIDE)).columns["α_j"]
    assert [one is None for one in weights] == [column > found.row for column in range(len(found.columns))]


@pytest.mark.parametrize("width", [40, 61, 80])
@pytest.mark.parametrize("variant", ["model.attention.score=cosine", "model.attention.position=relative(2)"])
def test_lines_are_no_wider_than_the_terminal(width: int, variant: str, tokenizer: Tokenizer) -> None:
    lines = render_explanation(explained(tokenizer, variant), width=width)
    assert max(map(cell_len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_vectors_are_abbreviated_by_their_first_entries_and_the_last(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer)
    steps = {step.symbol: step.values for step in found.steps()}
    long = torch.arange(29.0)
    stage = found.stages[0]._replace(steps=(replace(found.stages[0].steps[-1], values=long),))
    lines = render_explanation(replace(found, stages=(stage, *found.stages[1:])), width=80)
    line = next(line for line in lines if line.startswith("      ‖x‖ ="))
    assert line == "      ‖x‖ = 87.83   [ 0.000  1.000  2.000  3.000 … 28.000]"
    assert steps["x"].shape == (6,)


def test_small_numbers_keep_four_digits_that_count(tokenizer: Tokenizer) -> None:
    found = explained(tokenizer)
    small = replace(found.stages[0].steps[-1], values=torch.tensor([0.00123456, -0.0000004]))
    stage = found.stages[0]._replace(steps=(small,))
    lines = render_explanation(replace(found, stages=(stage, *found.stages[1:])), width=80)
    assert "      ‖x‖ = 0.001235   [0.001235 0.000000]" in lines


def test_the_largest_contributions_are_told_in_words(tokenizer: Tokenizer) -> None:
    found = replace(
        explained(tokenizer, stack="cross"),
        columns=("a", "b", "c", "a", "d", "e"),
        contributions=torch.tensor([0.7, 0.21, 0.15, 0.04, -0.02, -0.08]),
    )
    first, second, third = in_words(found)
    assert first == (
        f"a (j = 0) gives 70 % of what head 1 of layer 1 adds to {found.piece}; b gives 21 %; c gives 15 %; "
        "e takes away 8 %."
    )
    share = 100 * found["head_shares"][0].item()
    assert second == f"Head 1 gives {share:.0f} % of what the heads of layer 1 add together."
    lengths = [f"{found[name].norm().item():.4g}" for name in ("attention_output", "state")]
    assert third == f"What they add has the length {lengths[0]}, the state that comes in {lengths[1]}."
    nothing = replace(found, contributions=torch.zeros(6))
    assert in_words(nothing) == [f"No column gives anything to {found.piece}: head 1 of layer 1 adds nothing there."]


def test_it_says_which_row_it_is_and_why_this_head(tokenizer: Tokenizer) -> None:
    model = varied_model(vocabulary=tokenizer.size)
    found = explain(model, tokenizer, SOURCE, TARGET, word="man")
    assert found.choice is not None
    text = " ".join(render_explanation(found, width=WIDE))
    stack, layer, head = found.name
    name = {"cross": "Cross-attention", "decoder": "Decoder self-attention"}[stack]
    assert text.startswith(
        f"{name}, layer {layer}, head {head}, row i = {found.row}, which reads {found.read} and writes {found.piece} "
        f"ln p of {found.piece} is {found.choice.log_probability:.4g} with all heads and "
        f"{found.choice.without[found.name]:.4g} without this one: of 12 heads it matters most. The row i and "
    )
    read = explained(tokenizer, stack="encoder")
    title, notes, *_ = render_explanation(read, width=WIDE)
    assert title == f"Encoder self-attention, layer 1, head 1, row i = {read.row}, which reads {read.piece}"
    assert notes.startswith("The row i")


@pytest.fixture
def hostile(tokenizer: Tokenizer) -> Explanation:
    found = explained(tokenizer, stack="cross")
    columns = ("a\x1b[31m", "b\u202ec", "\x9b", "[bold]", "d\ne", *found.columns[5:])
    return replace(found, piece="x\x1b]0;", read="\u202ey", columns=columns, contributions=torch.ones(len(columns)))


def test_pieces_from_strangers_are_shown_and_command_nothing(hostile: Explanation) -> None:
    text = "\n".join(render_explanation(hostile, width=80))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    for shown in ("a␛[31m", "b⟨U+202E⟩c", "⟨U+009B⟩", "[bold]", "d␊e", "x␛]0;", "reads ⟨U+202E⟩y"):
        assert shown in text
