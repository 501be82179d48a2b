"""The pictures of the course: every number against an independent computation."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.page import LoadedPage
from torch.nn import functional as F

from transformer_mt.attention.graphs import GRAPHS
from transformer_mt.attention.positions import rotated, sinusoids
from transformer_mt.attention.worked_example import one_head, simple_attention
from transformer_mt.training.objective import cross_entropy, entropy_of_targets
from transformer_mt.training.schedules import noam

pytestmark = pytest.mark.slow

Compute = Callable[..., Any]
WORDS = [[0.34, 0.22, 0.54], [0.53, 0.34, 0.98], [0.29, 0.54, 0.93]]
RUN: dict[str, Any] = {"source_language": "de", "target_language": "en", "stacks": {"cross": [[1, 2]]}}
RUN |= {"methods": {"weights": {"whole": False, "meaning": "a weight"}}}


@pytest.fixture
def compute(opened: LoadedPage) -> Compute:
    """Call a function of the arithmetic with these arguments."""
    return lambda name, *arguments: opened.module("arithmetic", f"m.{name}(...a)", *arguments)


def exact_softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("< ", "").replace(",", ""))


def test_attention_is_the_worked_example(compute: Compute) -> None:
    found = compute("attended", WORDS, WORDS, WORDS)
    expected = simple_attention(torch.tensor(WORDS, dtype=torch.float64))
    for name in ("scores", "weights", "contexts"):
        np.testing.assert_allclose(found[name], getattr(expected, name), atol=1e-12)
    matrices = torch.randn(3, 3, 2, dtype=torch.float64)
    roles = [compute("multiplied", WORDS, matrix.tolist()) for matrix in matrices]
    found = compute("attended", *roles, 1 / math.sqrt(2))
    expected = one_head(torch.tensor(WORDS, dtype=torch.float64), *matrices)
    for name in ("scores", "weights", "contexts"):
        np.testing.assert_allclose(found[name], getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("temperature", [0.1, 1, 4])
def test_softmax_has_a_temperature(compute: Compute, temperature: float) -> None:
    scores = [3.0, -40.0, 2.5, 700.0, 699.0]
    expected = exact_softmax(np.array(scores) / temperature)
    np.testing.assert_allclose(compute("softmax", scores, temperature), expected, atol=1e-12)


def test_random_numbers_are_repeatable_and_normal(compute: Compute) -> None:
    drawn = np.array(compute("normals", 20_000, 7))
    assert compute("normals", 5, 7) == drawn[:5].tolist() != compute("normals", 5, 8)
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 1) < 0.03
    assert abs((np.abs(drawn) < 1).mean() - 0.6827) < 0.02
    uniform = np.array(compute("uniforms", 20_000, 3))
    assert 0 <= uniform.min() < 0.001 < 0.999 < uniform.max() < 1
    assert abs((uniform < 0.3).mean() - 0.3) < 0.02


@pytest.mark.parametrize("d", [1, 3, 64])
def test_scores_of_random_vectors_spread_with_their_width(compute: Compute, d: int) -> None:
    numbers = np.array(compute("normals", 2 * d * 500, 7)).reshape(500, 2, d)
    scores = np.array(compute("randomScores", d, 500, 7))
    np.testing.assert_allclose(scores, (numbers[:, 0] * numbers[:, 1]).sum(axis=1), atol=1e-9)
    assert scores.std() == pytest.approx(math.sqrt(d), rel=0.2)


def test_histogram_counts_every_value(compute: Compute) -> None:
    values = np.random.default_rng(1).normal(0, 20, 300)
    values[:4] = -40, 40, -90, 90
    expected, _ = np.histogram(np.clip(values, -40, 40), bins=20, range=(-40, 40))
    assert compute("histogram", values.tolist(), 40, 20) == expected.tolist()


@pytest.mark.parametrize("causal", [True, False])
def test_masked_weights_are_renormalised(compute: Compute, causal: bool) -> None:
    scores = torch.randn(6, 6, dtype=torch.float64)
    allowed = torch.ones(6, 6, dtype=torch.bool).tril() if causal else torch.ones(6, 6, dtype=torch.bool)
    expected = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    found = compute("maskedWeights", scores.tolist(), causal)
    assert [[weight is not None for weight in row] for row in found] == allowed.tolist()
    np.testing.assert_allclose(np.array(found, float)[allowed], expected[allowed], atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9])
def test_dropout_scales_what_it_keeps(compute: Compute, p: float) -> None:
    weights = [1 / 4000] * 4000
    found = np.array(compute("dropped", weights, p, 2))
    kept = found > 0
    np.testing.assert_allclose(found[kept], weights[0] / (1 - p))
    assert kept.mean() == pytest.approx(1 - p, abs=0.03)


@pytest.mark.parametrize("d", [2, 8, 64])
def test_products_of_positions_depend_on_their_distance(compute: Compute, d: int) -> None:
    encodings = sinusoids(40, d, torch.device("cpu"), torch.float64)
    query, key = torch.randn(2, d, dtype=torch.float64)
    turned = [rotated(one.expand(1, 1, 40, d), start=0)[0, 0] for one in (query, key)]
    for distance in (0, 1, 5, 30):
        for place in (0, 7):
            expected = encodings[place] @ encodings[place + distance]
            assert compute("sinusoidalProduct", distance, d) == pytest.approx(expected.item(), abs=1e-9)
            expected = turned[0][place] @ turned[1][place + distance]
            found = compute("rotaryProduct", distance, query.tolist(), key.tolist())
            assert found == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize("step", [1, 399, 400, 401, 9000])
def test_rate_is_noams(compute: Compute, step: int) -> None:
    sizes = {"width": 96, "factor": 1.5, "warmup": 400}
    assert compute("noamRate", step, sizes) == pytest.approx(noam(step, learning_rate=0.0, **sizes))  # type: ignore[arg-type]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_smoothed_loss_is_the_objective(compute: Compute, smoothing: float) -> None:
    vocabulary = 53
    for p in (0.02, 0.5, 0.97):
        probabilities = torch.full((1, 1, vocabulary), (1 - p) / (vocabulary - 1), dtype=torch.float64)
        probabilities[0, 0, 5] = p
        expected = cross_entropy(probabilities.log(), torch.tensor([[5]]), label_smoothing=smoothing).item()
        assert compute("smoothedLoss", p, smoothing, vocabulary) == pytest.approx(expected)
    if smoothing:
        least = compute("smoothedLoss", 1 - smoothing + smoothing / vocabulary, smoothing, vocabulary)
        assert least == pytest.approx(entropy_of_targets(smoothing, vocabulary))


@pytest.mark.parametrize(
    ("name", "numbers", "sizes"),
    [
        ("complete", (), {}), ("causal", (), {}), ("band", (2,), {"k": 2}), ("strided", (3,), {"l": 3}),
        ("fixed", (4, 1), {"l": 4, "c": 1}), ("fixed", (2, 2), {"l": 2, "c": 3}),
    ],
)  # fmt: skip
def test_graphs_are_the_models(opened: LoadedPage, name: str, numbers: tuple[int, ...], sizes: dict[str, int]) -> None:
    every = (
        "Array.from({ length: 12 }, (_, i) => Array.from({ length: 12 }, (_, j) => m.isNeighbour(a[0], i, j, a[1])))"
    )
    expected = GRAPHS[name](*numbers).mask(12, 12, device=torch.device("cpu"))
    assert opened.module("arithmetic", every, name, {"k": 1, "l": 1, "c": 0} | sizes) == expected.tolist()


def test_kernel_is_a_row_of_attention(compute: Compute) -> None:
    grid, kernel = torch.randn(7, 7, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    expected = F.conv2d(grid[None, None], kernel[None, None], padding=1)[0, 0]
    for cell in ((0, 0), (3, 3), (6, 2)):
        weights = torch.tensor(compute("kernelWeights", kernel.tolist(), 7, *cell), dtype=torch.float64)
        assert (weights * grid).sum().item() == pytest.approx(expected[cell].item())
        assert compute("convolvedAt", grid.tolist(), kernel.tolist(), *cell) == pytest.approx(expected[cell].item())


# What a student sees


ALONE = """((drawn) => {
  const box = document.getElementById("alone") ?? document.createElement("div");
  box.id = "alone";
  box.replaceChildren(...[drawn].flat(9).filter((one) => one));
  document.querySelector("main").before(box);
  document.querySelector("main").hidden = true;
})(m.drawPicture(...a))"""


class Picture:
    """A picture of the course in place of the page, with controls to change."""

    def __init__(self, opened: LoadedPage, name: str, curves: object = None, **answers: object) -> None:
        self.opened = opened
        opened.module("pictures", ALONE, name, curves or {}, {"translation": {}, **answers})

    def texts(self, selector: str) -> list[str]:
        return self.opened.find(f"#alone > {selector}, #alone > * {selector}").all_text_contents()

    def numbers(self, selector: str) -> list[float]:
        return [*map(number, self.texts(selector))]

    def set(self, selector: str, value: object) -> None:
        """Set a control, and tell the page."""
        self.opened.page.evaluate(
            """([selector, value]) => {
              const one = document.querySelector(selector);
              one[one.type === "checkbox" ? "checked" : "value"] = value;
              one.dispatchEvent(new Event(one.matches("select, [type=checkbox]") ? "change" : "input"));
            }""",
            [selector, value],
        )


def test_words_by_hand_are_live(opened: LoadedPage) -> None:
    picture, words = Picture(opened, "shiny-sun"), torch.tensor(WORDS, dtype=torch.float64)

    def check() -> None:
        scores, weights, contexts = simple_attention(words)
        shown = picture.numbers(".drawn > div:nth-child(2) td:nth-of-type(-n + 2)")
        expected = torch.stack((scores[1], weights[1]), dim=1).flatten()
        assert shown == pytest.approx(expected.tolist(), abs=6e-4)
        (mixture,) = [text for text in picture.texts("p") if text.startswith("Mixture")]
        assert [*map(number, re.findall(r"[−\d.]+", mixture))] == pytest.approx(contexts[1].tolist(), abs=6e-4)

    check()
    words[0, 0] = 10
    opened.fill("[aria-label='Vectors Hello, number 1']", "10")
    check()
    assert picture.numbers(".drawn > div:nth-child(2) td:nth-of-type(2)")[0] == pytest.approx(0.98, abs=0.005)
    opened.fill("[aria-label='Vectors Hello, number 1']", "")
    check()
    opened.click("[data-place='shiny-sun reset']")
    words[0, 0] = 0.34
    check()


def test_queries_keys_and_values_are_live(opened: LoadedPage) -> None:
    picture = Picture(opened, "query-key-value")

    def matrix(name: str) -> torch.Tensor:
        inputs = opened.find(f"[aria-label^='{name} ']").all()
        return torch.tensor([float(one.input_value()) for one in inputs], dtype=torch.float64).view(3, 2)

    opened.fill("[aria-label='W_k from x2, number 2']", "3")
    matrices = [matrix(name) for name in ("W_q", "W_k", "W_v")]
    assert matrices[1][1, 1] == 3
    expected = one_head(torch.tensor(WORDS, dtype=torch.float64), *matrices)
    shown = picture.numbers(".drawn > div:nth-child(2) td:nth-of-type(-n + 2)")
    rows = torch.stack((expected.scores[1], expected.weights[1]), dim=1).flatten()
    assert shown == pytest.approx(rows.tolist(), abs=6e-4)
    (mixture,) = [text for text in picture.texts("p") if text.startswith("Mixture")]
    assert [*map(number, re.findall(r"[−\d.]+", mixture))] == pytest.approx(expected.contexts[1].tolist(), abs=6e-4)


def test_temperature_divides_the_scores(opened: LoadedPage, compute: Compute) -> None:
    for power, t, scaled in ((6, 1, False), (8, 1, False), (8, 4, True), (0, 0.1, False)):
        picture = Picture(opened, "temperature")
        picture.set("#temperature-power", power)
        picture.set("#temperature-t", t)
        picture.set("#temperature-scaled", scaled)
        scores = np.array(compute("randomScores", 2**power, 2000, 7)) / (math.sqrt(2**power) if scaled else 1)
        weights = exact_softmax(scores[:8] / t)
        assert picture.numbers("tbody th") == pytest.approx(scores[:8].tolist(), abs=0.006)
        assert picture.numbers("tbody td:nth-of-type(1)") == pytest.approx(weights.tolist(), abs=0.006)
        spread, root, largest = re.findall(r"[\d.]*\d", " ".join(picture.texts(".drawn p")).replace("of 8", ""))
        assert float(spread) == pytest.approx(math.sqrt((scores**2).mean()), abs=0.006)
        assert float(root) == pytest.approx(math.sqrt(2**power), abs=0.006)
        assert float(largest) == pytest.approx(weights.max(), abs=0.006)
        heights = np.array([float(bar.get_attribute("height")) for bar in opened.find("#alone svg.panel .bar").all()])
        counts, _ = np.histogram(np.clip(scores, -40, 40), bins=40, range=(-40, 40))
        np.testing.assert_allclose(heights, 100 * counts / counts.max(), atol=1e-6)


def test_mask_hides_later_words(opened: LoadedPage) -> None:
    picture = Picture(opened, "causal-mask")
    shown = np.array(picture.texts("tbody td")).reshape(6, 6)
    assert ((shown == "·") == ~np.tri(6, dtype=bool)).all()
    rows = np.where(shown == "·", "0", shown).astype(float)
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=0.03)
    picture.set("#causal-mask-causal", False)
    full = np.array(picture.numbers("tbody td")).reshape(6, 6)
    np.testing.assert_allclose(full.sum(axis=1), 1, atol=0.03)
    assert rows[2, :3] == pytest.approx(full[2, :3] / full[2, :3].sum(), abs=0.03)


def test_dropout_can_be_drawn_again(opened: LoadedPage) -> None:
    picture, drawn = Picture(opened, "dropout"), set()
    for _ in range(4):
        before, after = (np.array(picture.numbers(f"tbody td:nth-of-type({at})")) for at in (1, 2))
        np.testing.assert_allclose(after, np.where(after > 0, before / 0.5, 0), atol=0.011)
        assert f"now sums to {after.sum():.1f}"[:-1] in picture.texts(".drawn p")[0].replace(" .", " 0.")
        drawn.add(tuple(after))
        opened.click("[data-place='dropout-seed']")
    assert len(drawn) > 1
    picture.set("#dropout-p", 0)
    assert picture.texts("tbody td:nth-of-type(1)") == picture.texts("tbody td:nth-of-type(2)")


def test_positions_are_named_with_their_ends(opened: LoadedPage, compute: Compute) -> None:
    picture = Picture(opened, "positions")
    picture.set("#positions-power", 4)
    last = compute("sinusoidalProduct", 64, 16) / 8
    assert picture.texts("li")[0] == f"sinusoidal: 1 at distance 0, {last:.4g} at distance 64"
    query = compute("normals", 16, 11)
    last = compute("rotaryProduct", 64, query, query) / np.square(query).sum()
    assert picture.texts("li")[1].endswith(f"1 at distance 0, {last:.4g} at distance 64".replace("-", "-"))


@pytest.mark.parametrize(("name", "k", "c"), [("complete", 2, 1), ("causal", 2, 1), ("band", 3, 1), ("strided", 4, 1),
                                              ("fixed", 3, 1), ("fixed", 2, 3)])  # fmt: skip
def test_edges_of_a_graph_are_counted(opened: LoadedPage, name: str, k: int, c: int) -> None:
    picture = Picture(opened, "graphs")
    for control, value in (("graph", name), ("k", k), ("c", c)):
        picture.set(f"#graphs-{control}", value)
    numbers = {"complete": (), "causal": (), "fixed": (k, min(c, k))}.get(name, (k,))
    mask = GRAPHS[name](*numbers).mask(12, 12, device=torch.device("cpu"))
    degrees = mask.sum(dim=1)
    said = f"{mask.sum()} arrows of 144. A position sees {degrees.min()} to {degrees.max()}."
    assert picture.texts(".drawn p") == [said]
    (path,) = [one.get_attribute("d") for one in opened.find("#alone .square path").all()]
    assert {*re.findall(r"M(\d+) (\d+)", path)} == {(str(j), str(i)) for i, j in mask.nonzero().tolist()}


def test_convolution_moves_with_the_chosen_cell(opened: LoadedPage) -> None:
    picture = Picture(opened, "convolution")
    pixels = np.array(picture.numbers("tbody button")).reshape(7, 7)
    for kernel, cell in (("mean", (3, 3)), ("blur", (0, 6)), ("edge", (4, 1))):
        picture.set("#convolution-kernel", kernel)
        opened.click(f"[data-place='cell {cell[0]} {cell[1]}']")
        numbers = np.array([*map(number, picture.texts("pre")[0].split())]).reshape(1, 1, 3, 3)
        exact = {"mean": numbers * 0 + 1 / 9, "blur": np.outer([1, 2, 1], [1, 2, 1])[None, None] / 16}.get(
            kernel, numbers
        )
        np.testing.assert_allclose(numbers, exact, atol=0.006)
        out = F.conv2d(torch.tensor(pixels)[None, None], torch.tensor(exact), padding=1)[0, 0][cell].item()
        (shown,) = re.findall(r"becomes ([−\d.]+)\.$", picture.texts(".drawn p")[0])
        assert number(shown) == pytest.approx(out, abs=0.006)
        shaded = {one.get_attribute("data-place") for one in opened.find("#alone td:not(.shade-0) > button").all()}
        near = {f"cell {i} {j}" for i, j in np.ndindex(7, 7) if max(abs(i - cell[0]), abs(j - cell[1])) <= 1}
        corners = {f"cell {i} {j}" for i, j in np.ndindex(7, 7) if abs(i - cell[0]) == 1 == abs(j - cell[1])}
        assert shaded == (near - corners if kernel == "edge" else near)
    opened.press("ArrowRight", "Enter")
    assert opened.find("#alone [aria-pressed=true]").get_attribute("data-place") == "cell 4 2"


def test_smoothing_has_a_floor_and_noam_a_peak(opened: LoadedPage) -> None:
    picture = Picture(opened, "smoothing-and-noam")
    for smoothing, warmup, factor in ((0.1, 4000, 1.0), (0.4, 500, 2.5), (0, 8000, 1.0)):
        for control, value in (("smoothing", smoothing), ("warmup", warmup), ("factor", factor)):
            picture.set(f"#smoothing-and-noam-{control}", value)
        loss, rate = picture.texts(".drawn > p")
        floor = f"{entropy_of_targets(smoothing, 1000):.2f}".replace("0.", ".") if smoothing else ".00"
        assert f"the least loss is {floor}, at p = {1 - smoothing + smoothing / 1000:.4g}" in loss or "1.000" in loss
        peak = noam(warmup, width=512, factor=factor, warmup=warmup, learning_rate=0.0)
        (shown,) = re.findall(r"peak is ([\d.e-]+) at", rate)
        assert float(shown) == pytest.approx(peak, rel=5e-3)


CURVES = {
    "length": {"gru_none": [[1, 5, 30.5], [6, 10, 20.0], [11, None, 4.25]], "gru_dot": [[1, 5, 31.0], [6, 10, 30.0]]},
    "loss": {"pre": [[100, 5.5], [500, 2.0]], "post": [[100, 6.0], [500, 5.75]]},
    "rnn_attention": {
        "dot": {"rows": ["a", "b"], "columns": ["x"], "weights": [[1.0], [0.25]]},
        "mlp": {"rows": ["c"], "columns": ["y"], "weights": [[0.5]]},
    },
}


def test_stored_curves_are_drawn(opened: LoadedPage) -> None:
    picture = Picture(opened, "length-curves", CURVES)
    assert picture.texts("li") == [
        "gru_none 30.5 at words 3, 4.25 at words 11", "gru_dot 31 at words 3, 30 at words 8",
    ]  # fmt: skip
    assert Picture(opened, "norm-curves", CURVES).texts("li")[1] == "post 6 at step 100, 5.75 at step 500"
    picture = Picture(opened, "rnn-attention", CURVES)
    assert picture.texts("tbody td") == ["1.00", ".25"]
    picture.set("#rnn-attention-score", "mlp")
    assert (picture.texts("tbody td"), picture.texts("thead th")) == ([".50"], ["y"])


LOOKED = {
    "source": "a b", "target": "x y", "method": "weights",
    "stacks": {"cross": {"rows": ["x", "y"], "columns": ["a", "b"],
                         "weights": [[[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.4, 0.6]]]]}},
}  # fmt: skip
ERASED = LOOKED | {"stacks": {"cross": LOOKED["stacks"]["cross"] | {"weights": [[[[0.5, -2.0], [3.0, 0.25]]]]}}}  # type: ignore[index]


def test_weights_are_compared_with_erasure(opened: LoadedPage) -> None:
    picture = Picture(opened, "misleading", looked=LOOKED, erased=ERASED, run=RUN, head="cross.1.mean")
    assert picture.texts("thead th")[1] == "weight of cross.1.mean"
    assert picture.texts("td:nth-of-type(1)") == [".70", ".30"]
    assert picture.texts("td:nth-of-type(3)") == ["0.500", "−2.000"]
    picture.set("#misleading-word", "2 y")
    assert picture.texts("td:nth-of-type(1)") == [".30", ".70"]
    assert picture.texts("td:nth-of-type(3)") == ["3.0000", "0.2500"] or picture.numbers("td:nth-of-type(3)") == [
        3,
        0.25,
    ]
    widths = [one.get_attribute("width") for one in opened.find("#alone td:last-child .bar").all()]
    assert [float(width) for width in widths] == pytest.approx([100, 100 / 12])
    assert Picture(opened, "misleading", looked=LOOKED, erased=ERASED, run=RUN, head="encoder.1.1").texts(
        "thead th")[1] == "weight of cross.1.1"  # fmt: skip


def test_sum_of_heads_has_lengths_and_shares(opened: LoadedPage) -> None:
    steps = [{"name": "head_outputs", "values": [[3, 4], [0, 1]]}, {"name": "head_shares", "values": [1.25, -0.25]}]
    explanation = {"stack": "cross", "layer": 2, "token": "x", "heads": [1, 2], "stages": [{"steps": steps}]}
    picture = Picture(opened, "sum-of-heads", explanation=explanation, run=RUN)
    assert picture.texts("tbody th") == ["cross.2.1", "cross.2.2"]
    assert picture.numbers("td:nth-of-type(1)") == [5, 1]
    assert picture.texts("td:nth-of-type(3)") == ["125 %", "−25 %"]
    widths = [float(one.get_attribute("width") or 0) for one in opened.find("#alone td .bar").all()]
    assert widths == [100, 20]


def test_pictures_without_an_answer_or_a_name_are_empty(opened: LoadedPage) -> None:
    assert "type one" in Picture(opened, "misleading", lacksSentence=True).texts("p")[0]
    assert opened.find("#alone > *").count() == 1
    for name in ("misleading", "beam", "no such picture", "constructor"):
        Picture(opened, name)
        assert opened.find("#alone").evaluate("(one) => one.childNodes.length") == 0, json.dumps(name)
