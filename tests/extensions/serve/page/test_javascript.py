"""The page's modules by themselves: tests in JavaScript, in one page, and the same numbers as our own."""

import math
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from support.hostile_text import HOSTILE_TEXTS
from support.page import LoadedPage
from torch.nn import functional as F

from transformer_mt.attention.graphs import GRAPHS
from transformer_mt.attention.worked_example import one_head
from transformer_mt.text.direction import direction
from transformer_mt.text.terminal import escape_controls
from transformer_mt.training.objective import cross_entropy
from transformer_mt.training.schedules import noam
from transformer_mt.views.matrix import Blocks, Scale

pytestmark = pytest.mark.slow

RUN = """async (name) => {
  await import(`/javascript/${name}.js`);
  return (await import("/javascript/check.js")).failures();
}"""
CALLS = "([module, calls]) => import(`/page/${module}.js`).then((m) => calls.map(([name, ...of]) => m[name](...of)))"


@pytest.mark.parametrize("name", ["drawings", "formulas", "keyboard", "layout", "numbers", "pictures"])
def test_javascript(name: str, scripted: LoadedPage) -> None:
    assert scripted.page.evaluate(RUN, name) == []


def called(scripted: LoadedPage, module: str, calls: list[Any]) -> list[Any]:
    """What calls of a module's functions return; a call is a name and arguments."""
    found: list[Any] = scripted.page.evaluate(CALLS, [module, calls])
    return found


def numbers(value: Any) -> list[float]:
    """All numbers in lists, tensors and objects, in order; NaN for none."""
    value = plain(value)
    if isinstance(value, float | int | None):
        return [math.nan if value is None else value]
    return [number for part in (value.values() if isinstance(value, dict) else value) for number in numbers(part)]


def plain(value: Any) -> Any:
    """A tensor or an array as lists."""
    return getattr(value, "tolist", lambda: value)()


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def arithmetic() -> Iterator[tuple[Any, ...]]:
    """Expected numbers of the model, and the call that computes them in the page."""
    words, roles = normal(3, 3), normal(3, 3, 2)
    attended = one_head(words, *roles)
    found = [attended.scores, attended.weights, attended.contexts]
    yield found, "attended", *(words @ role for role in roles), 2**-0.5
    sizes = {"width": 96, "factor": 1.5, "warmup": 400}
    for step in (1, 399, 400, 401, 9000):
        yield noam(step, learning_rate=0.0, width=96, factor=1.5, warmup=400), "noamRate", step, sizes
    for smoothing, p in ((0.0, 0.02), (0.1, 0.5), (0.4, 0.97)):
        likely = torch.full((1, 1, 53), (1 - p) / 52, dtype=torch.float64)
        likely[0, 0, 5] = p
        loss = cross_entropy(likely.log(), torch.tensor([[5]]), label_smoothing=smoothing)
        yield loss, "smoothedLoss", p, smoothing, 53
    grid, kernel = normal(7, 7).requires_grad_(), normal(3, 3)
    out = F.conv2d(grid[None, None], kernel[None, None], padding=1)[0, 0]
    for cell in ((0, 0), (3, 3), (6, 2)):
        yield torch.autograd.grad(out[cell], grid, retain_graph=True), "kernelWeights", kernel, 7, *cell
    for name, of, more in (
        ("complete", (), {}), ("causal", (), {}), ("band", (2,), {"k": 2}), ("strided", (3,), {"l": 3}),
        ("fixed", (4, 1), {"l": 4, "c": 1}), ("fixed", (2, 2), {"l": 2, "c": 3}),
    ):  # fmt: skip
        mask = GRAPHS[name](*of).mask(12, 12, device=torch.device("cpu"))
        for i, j in np.ndindex(12, 12):
            yield mask[i, j], "isNeighbour", name, i, j, {"k": 1, "l": 1, "c": 0} | more


def test_arithmetic_is_the_models(scripted: LoadedPage) -> None:
    cases = [*arithmetic()]
    calls = [[plain(one) for one in call] for _, *call in cases]
    for (expected, *call), found in zip(cases, called(scripted, "arithmetic", calls), strict=True):
        np.testing.assert_allclose(numbers(found), numbers(expected), atol=1e-9, err_msg=str(call))


def test_texts_and_scales_are_the_terminals(scripted: LoadedPage) -> None:
    odd = [c for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
    texts = ["".join(odd), *(text for text in HOSTILE_TEXTS if "\ud800" not in text)]  # Playwright cannot send it
    assert called(scripted, "dom", [["visible", text] for text in texts]) == [*map(escape_controls, texts)]
    texts = [
        "Der",
        "كلب",
        "שלום",
        "3 كلاب",
        "«كلב»",
        "١٢ Hunde",
        "▁كلب",
        "ܫܠܡܐ",
        "ߒߞߏ",
        "𞤀𞤁",
        "1 .",
        "",
        "老师",
        "नमस्ते",
    ]
    assert called(scripted, "dom", [["direction", text] for text in texts]) == [*map(direction, texts)]
    for row in ([0.25, 0.75], [-0.3, 0.1], [0.001, -0.004], [250.0, 3.0], [0.0, 0.0]):
        scale = Scale.of([np.array([row])])
        found = called(scripted, "shades", [["scaleOf", [[row]]], *(["level", one, scale.largest] for one in row)])
        assert list(found[0].values()) == pytest.approx([scale.largest, scale.unit])
        assert found[1:] == [Blocks(scale).level(one) for one in row]
