"""Drawings of artificial answers, to the digit: numbers, texts, positions."""

from typing import Any

import pytest
from support.page import LoadedPage

from transformer_mt.extensions.plot.plot import ticks

pytestmark = pytest.mark.slow

RUN = {"source_language": "de", "target_language": "en", "stacks": {"encoder": [[1, 2]], "cross": [[1, 2]]}}
RUN |= {
    "methods": {"weights": {"whole": False, "meaning": "a weight"}, "erasure": {"whole": True, "meaning": "a loss"}}
}
NOTHING = "{ go() {}, undo() {}, open() {}, pick() {}, flip() {}, take() {}, allOn() {} }"


@pytest.mark.parametrize(
    ("function", "numbers", "shown"),
    [
        ("decimal", [0.42, -0.31, 1, -1.5, 0.001, -0.001, 0, 10.05], ".42 −.31 1.00 −1.50 .00 .00 .00 10.05"),
        ("logarithm", [-0.61, 0.5, -0.001, -12.345, 0], "−0.61 0.50 0.00 −12.35 0.00"),
        ("probability", [0.3, 1, 0.006], ".30 1.00 .01"),
        ("probability", [0.0049], "< .01"),
    ],
)  # fmt: skip
def test_numbers_have_two_decimals(opened: LoadedPage, function: str, numbers: list[float], shown: str) -> None:
    assert opened.module("dom", f"a[0].map(m.{function}).join(' ')", numbers) == shown


def test_numbers_of_a_column_have_equal_decimals(opened: LoadedPage) -> None:
    for numbers, shown in {
        (1234.5, 2): "1234.500 2.000",
        (0.5, -0.25): "0.5000 −0.2500",
        (0.012345, 0): "0.01235 0.00000",
        (0, 0): "0.000 0.000",
        (3e-9, 0): "0.000000003 0.000000000",
        (1, -1e-9): "1.000 0.000",
    }.items():
        assert opened.module("dom", "m.column(a)", *numbers) == shown.split()


def test_legend_has_the_starts_of_shades(opened: LoadedPage) -> None:
    assert opened.module("shades", "m.legend()") == "shades from .05, .25, .50 and .75"
    scale = {"largest": 0.04, "unit": 0.01}
    assert opened.module("shades", "m.legend(a[0])", scale) == "shades from .20, 1.00, 2.00 and 3.00"


ALTERNATIVES = [
    {"token": "▁The", "probability": 0.8, "others": [["▁A", 0.15], ["▁An", 0.0034]]},
    {"token": "▁dog", "probability": 0.003, "others": [["▁cat", 0.5]]},
    {"token": "</s>", "probability": 1.0, "others": []},
]
ANSWER = {"alternatives": ALTERNATIVES, "tokens": ["▁The", "▁dog"], "translation": "The dog"}


def test_alternatives_have_enough_digits_and_bars(opened: LoadedPage) -> None:
    call = f"m.drawChoices(a[0], a[1], 0, {{ prefix: ['▁The'], ...{NOTHING} }})"
    drawn = opened.drawing("choices", call, ANSWER, RUN)
    assert drawn.texts(".choice .number") == [".80", ".15", ".0034"]
    assert drawn.texts(".piece .below-word") == [".80", "< .01", "1.00"]
    assert drawn.attribute(".bar", "width") == ["80", "15", "0.5"]
    assert drawn.attribute(".piece", "class") == ["piece chosen", "piece", "piece"]
    assert drawn.attribute(".piece", "aria-expanded") == ["true", "false", "false"]
    assert drawn.attribute(".choice", "aria-current") == ["true", None, None]
    assert drawn.texts(".actions") == ["Undo continued from ▁The"]
    assert drawn.attribute(".actions button", "aria-disabled") == ["false"]
    call = call.replace("['▁The']", "[]").replace("a[1], 0,", "a[1], null,")
    drawn = opened.drawing("choices", call, ANSWER, RUN)
    said = "Undo Press a token to see alternatives; choose one to continue from there."
    assert drawn.texts(".actions") == [said]
    assert drawn.texts(".choice") == []
    assert opened.drawing("choices", call, {"tokens": [], "translation": ""}, RUN).texts("li, .piece") == []


def test_pressed_tokens_continue_from_there(opened: LoadedPage) -> None:
    noted = "{ prefix: [], open: (...of) => gone.push(of), go: (...of) => gone.push(of) }"
    call = f"(globalThis.gone = [], m.drawChoices(a[0], a[1], 1, {noted}))"
    assert opened.drawing("choices", call, ANSWER, RUN).pressed(".piece, .choice") == [
        [0], [None], [2], [["▁The", "▁dog"], 1], [["▁The", "▁cat"], 1],
    ]  # fmt: skip


CONTRAST = {
    "from_source": {"words": ["Der", "Hund"], "gradient": [1.0, -4.0], "erasure": [0.5, 2.0]},
    "from_prefix": {"words": ["The"], "gradient": [2.0], "erasure": [-1.0]},
    "in_words": "After The, dog.",
}


def test_contrast_has_a_signed_bar_per_word_and_method(opened: LoadedPage) -> None:
    asked = f"{{ prefix: [], against: '▁cat', contrast: a[2], ...{NOTHING} }}"
    call = f"m.drawChoices(a[0], a[1], 1, {asked})"
    drawn = opened.drawing("choices", call, ANSWER, RUN, CONTRAST)
    assert drawn.texts(".contrast h3") == ["gradient", "erasure"]
    assert drawn.texts(".contrast li bdi") == ["Der", "Hund", "The"] * 2
    assert drawn.texts(".contrast .number") == ["1.00", "−4.00", "2.00", "0.50", "2.00", "−1.00"]
    assert drawn.attributes(".contrast .bar", "class", "width") == [
        ["bar ", "25"], ["bar against", "100"], ["bar ", "50"], ["bar ", "25"], ["bar ", "100"], ["bar against", "50"],
    ]  # fmt: skip
    assert drawn.attribute(".contrast li bdi", "lang") == ["de", "de", "en"] * 2
    assert drawn.texts(".contrast > p")[0] == "After The, dog."
    without = CONTRAST | {side: CONTRAST[side] | {"gradient": None} for side in ("from_source", "from_prefix")}
    assert opened.drawing("choices", call, ANSWER, RUN, without).texts(".contrast h3") == ["erasure"]


def test_every_alternative_can_be_asked_about(opened: LoadedPage) -> None:
    noted = "{ prefix: [], against: '▁An', problem: 'a: wrong', change: ({ against }) => gone.push(against) }"
    call = f"(globalThis.gone = [], m.drawChoices(a[0], a[1], 0, {noted}))"
    drawn = opened.drawing("choices", call, ANSWER, RUN)
    assert drawn.attributes(".why", "data-place", "aria-expanded", "aria-label") == [
        ["why 1", "false", "why not? ▁A"], ["why 2", "true", "why not? ▁An"],
    ]  # fmt: skip
    assert drawn.texts(".contrast") == ["a: wrong"]
    assert drawn.pressed(".why") == ["▁A", None]


NODES = [
    {"parent": None, "token": "▁A", "log_probability": -2.0, "end": "dropped", "score": None},
    {"parent": None, "token": "▁The", "log_probability": -0.5, "end": None, "score": None},
    {"parent": 1, "token": "▁cat", "log_probability": -3.25, "end": "beaten", "score": None},
    {"parent": 1, "token": "</s>", "log_probability": -1.0, "end": "ended", "score": -0.75},
]


def test_tree_has_the_likeliest_first_in_each_step(opened: LoadedPage) -> None:
    searched = {"translation": "Oh The", "trace": {"nodes": NODES, "best": 3, "prefix": ["▁Oh"]}}
    drawn = opened.drawing("choices", f"m.drawBeam(a[0], a[1], {NOTHING})", searched, RUN)
    names = ("data-place", "class", "aria-level", "aria-posinset", "aria-setsize", "aria-selected", "title", "tabindex")
    assert drawn.attributes(".node", *names) == [
        ["node 1", "node best", "1", "1", "2", "true", "ln p −0.50", "-1"],
        ["node 3", "node ended best", "2", "1", "2", "true", "ln p −1.00, ended with score −0.75", "0"],
        ["node 2", "node beaten", "2", "2", "2", "false", "ln p −3.25, beaten", "-1"],
        ["node 0", "node dropped", "1", "2", "2", "false", "ln p −2.00, dropped", "-1"],
    ]
    grid = "[...all.querySelectorAll('.node')].map(({ style }) => `${style.gridColumnStart} ${style.gridRowStart}`)"
    assert drawn.found(grid) == ["1 1", "2 1", "2 2", "1 2"]
    assert drawn.texts(".start") == ["▁Oh"]
    assert drawn.attribute(".branch", "class") == ["branch best", "branch best", "branch", "branch"]
    noted = "(globalThis.gone = [], m.drawBeam(a[0], a[1], { go: (prefix) => gone.push(prefix.join(' ')) }))"
    assert opened.drawing("choices", noted, searched, RUN).pressed(".node") == [
        "▁Oh ▁The", "▁Oh ▁The </s>", "▁Oh ▁The ▁cat", "▁Oh ▁A",
    ]  # fmt: skip
    none = opened.drawing("choices", "m.drawBeam({ trace: null }, a[0], {})", RUN)
    assert "no beam to show" in none.found("all.textContent")


LOSSES = {"log_probability": -1.0, "without": {"cross.1.1": -1.5, "cross.1.2": -0.75, "encoder.1.1": -1.001}}
CROSS = {"weights": [[[[0.04, 0.96]], [[0.3, 0.7]]]], "rows": ["x"], "columns": ["a", "b"]}
ENCODER = {"weights": [[[[1, 0], [0.5, 0.5]], None]], "rows": ["a", "b"], "columns": ["a", "b"]}
ATTENTION = {"source": "a b", "target": "x", "method": "weights", "stacks": {"encoder": ENCODER, "cross": CROSS}}


def test_heads_have_names_switches_and_losses(opened: LoadedPage) -> None:
    call = f"m.drawHeads(a[0], a[1], 'cross.1.2', ['encoder.1.2'], a[2], {NOTHING})"
    drawn = opened.drawing("heads", call, ATTENTION, RUN, LOSSES)
    picks = (".pick", "data-place", "aria-pressed", "tabindex")
    assert drawn.attributes(*picks) == [
        ["pick encoder.1.1", "false", "-1"], ["pick encoder.1.2", "false", "-1"],
        ["pick encoder.1.mean", "false", "-1"], ["pick cross.1.1", "false", "-1"],
        ["pick cross.1.2", "true", "0"], ["pick cross.1.mean", "false", "-1"],
    ]  # fmt: skip
    assert drawn.texts(".switch") == ["enc 1.1 on", "enc 1.2 off", "cross 1.1 on", "cross 1.2 on"]
    assert drawn.attribute(".switch", "aria-pressed") == ["true", "false", "true", "true"]
    assert drawn.texts(".loss") == [".00", "enc mean", "−.50", "+.25", "cross mean"]
    assert drawn.attribute(".layer", "aria-label") == ["Encoder self-attention, layer 1", "Cross-attention, layer 1"]
    assert drawn.texts(".stack .quiet") == ["layer 1", "layer 1"]
    assert drawn.texts(".empty") == ["off"]
    one = {"cross": CROSS | {"weights": [[[[0.1, 2.5]]]]}}
    drawn = opened.drawing("heads", call, ATTENTION | {"method": "erasure", "stacks": one}, RUN, None)
    assert drawn.texts(".stack .quiet") == ["whole model"]
    assert drawn.attributes(*picks) == [["pick cross", "false", "0"]]
    assert drawn.texts(".switch") == []


def test_heads_that_are_off_are_not_drawn(opened: LoadedPage) -> None:
    off = ["cross.1.1", "cross.1.2"]  # the server still sends the matrices of a stack without any head
    drawn = opened.drawing("heads", f"m.drawHeads(a[0], a[1], null, a[2], null, {NOTHING})", ATTENTION, RUN, off)
    assert drawn.texts(".cross .empty") == ["off", "off", "off"]
    assert drawn.attributes(".cross .pick svg", "class") == []
    for chosen in (*off, "cross.1.mean"):
        shown = opened.drawing("heads", "m.drawHead(a[0], a[1], a[3], a[2], null)", ATTENTION, RUN, off, chosen)
        assert shown.found("all.textContent") == f"{chosen} is off."


def test_mean_of_a_layer_is_over_the_heads_that_are_on(opened: LoadedPage) -> None:
    def mean(off: list[str]) -> tuple[list[str], str]:
        drawn = opened.drawing("heads", "m.drawHead(a[0], a[1], 'cross.1.mean', a[2], null)", ATTENTION, RUN, off)
        return drawn.texts(".matrix td[data-place]"), drawn.texts("caption")[0].rpartition(". ")[2]

    assert mean([]) == ([".17", ".83"], "This is the mean of 2 heads.")
    assert mean(["cross.1.1"]) == ([".30", ".70"], "This is the mean of 1 head.")
    masked = ATTENTION | {"stacks": {"cross": CROSS | {"weights": [[[[None, 1]], [[None, 1]]]]}}}
    drawn = opened.drawing("heads", "m.drawHead(a[0], a[1], 'cross.1.mean', [], null)", masked, RUN)
    assert drawn.texts(".matrix td[data-place]") == ["·", "1.00"]


@pytest.mark.parametrize(
    ("method", "stack", "title"),
    [
        ("weights", "cross", "Cross-attention"),
        ("erasure", "cross", "Erasure: translation against sentence"),
        ("gradient", "decoder", "Gradient: translation against itself"),
    ],
)
def test_matrices_are_titled_by_their_method(opened: LoadedPage, method: str, stack: str, title: str) -> None:
    whole = method in ("erasure", "gradient")
    run = RUN | {"stacks": {stack: [[1]]}, "methods": {method: {"whole": whole, "meaning": "a number"}}}
    answer = ATTENTION | {"method": method, "stacks": {stack: CROSS | {"weights": [[[[0.1, 2.5]]]]}}}
    drawn = opened.drawing("heads", f"m.drawHeads(a[0], a[1], null, [], null, {NOTHING})", answer, run)
    assert drawn.texts(".stack h3") == [title]
    name = stack if whole else f"{stack}.1.1"
    drawn = opened.drawing("heads", "m.drawHead(a[0], a[1], a[2], [], null)", answer, run, name)
    assert drawn.texts("h3") == [title if whole else name]
    assert drawn.texts("caption")[0].startswith(title if whole else f"{title}, {name}")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (-0.1, -0.5, "Of 2 heads this one matters most. Without cross.1.1, p of x falls from .90 to .61."),
        (-0.07, -0.1, "Of 2 heads none matters much alone. Without cross.1.1, p of x falls from .93 to .90."),
        (-0.1, -0.1, "Of 2 heads none matters much alone. Without cross.1.1, p of x stays at .90."),
        (-0.5, -0.1, "Of 2 heads none matters much alone. Without cross.1.1, p of x rises from .61 to .90."),
    ],
)
def test_effect_of_a_head_is_a_probability(opened: LoadedPage, before: float, after: float, said: str) -> None:
    choice = {"of": "x", "log_probability": before, "without": {"cross.1.1": after, "cross.1.2": 0.0}}
    answer = {"stack": "cross", "layer": 1, "head": 1, "row": 0, "read": "y", "token": "x", "choice": choice}
    answer |= {"in_words": [], "stages": []}
    assert opened.drawing("dom", "draw('all-steps', a[0], a[1], [])", answer, RUN).texts("p")[0] == said


def test_importance_of_a_head_is_described(opened: LoadedPage) -> None:
    def said(element: str, losses: object, name: str, *off: str) -> object:
        call = "m.drawHead(a[0], a[1], a[3], a[4], a[2])"
        return opened.drawing("heads", call, ATTENTION, RUN, losses, name, off).found(f"{element}.textContent")

    for name, change in {
        "cross.1.1": "falls from .37 to .22; ln p from −1.00 to −1.50.",
        "cross.1.2": "rises from .37 to .47; ln p from −1.00 to −0.75.",
        "encoder.1.1": "stays at .37; ln p from −1.00 to −1.00.",
    }.items():
        text = f"Without {name}, p of this translation {change}"
        assert said("all.querySelector('p')", LOSSES, name) == text
        last = "[...all.querySelectorAll(':scope > p')].at(-1)"
        assert said(last, LOSSES, name, "cross.1.1") == f"{text} All other heads are on here."
    assert said("all", None, "encoder.1.2", "encoder.1.2") == "encoder.1.2 is off."
    assert said("all", None, "decoder.1.2") == "Choose a head above to see its numbers."


@pytest.mark.parametrize(("name", "languages"), [("cross.1.1", ["de", "en"]), ("encoder.1.1", ["de", "de"])])
def test_head_is_drawn_in_its_languages(opened: LoadedPage, name: str, languages: list[str]) -> None:
    drawn = opened.drawing("heads", "m.drawHead(a[0], a[1], a[2], [], null)", ATTENTION, RUN, name)
    assert drawn.attribute(".words", "lang") == languages
    if name == "cross.1.1":
        said = "Cross-attention, cross.1.1. A number is a weight; shades from .05, .25, .50 and .75."
        assert drawn.texts("caption") == [said]
        assert drawn.attribute(".matrix td[data-place]", "class") == ["shade-0", "shade-4"]
        assert drawn.attribute(".matrix td[data-place]", "data-place") == ["cell 0 0", "cell 0 1"]
        assert drawn.attribute("path.link", "class") == ["link shade-4"]


@pytest.mark.parametrize("matrix", [[[0.5, 0.5], [0.0, None]], [[-2.0, 0.1], [1.0, 0.0]]])
def test_small_matrix_has_a_path_per_shade(opened: LoadedPage, matrix: list[list[float | None]]) -> None:
    drawn = opened.drawing("matrix", "m.smallMatrix(a[0], { largest: 2, unit: 1 })", matrix)
    expected: dict[str, str] = {}
    for down, row in enumerate(matrix):
        for across, number in enumerate(row):
            level = sum(abs(number or 0.0) >= share * 2 for share in (0.05, 0.25, 0.5, 0.75))
            shade = "masked" if number is None else f"{'negative' if number < 0 else 'shade'}-{level}"
            if number is None or level:
                expected[shade] = expected.get(shade, "") + f"M{across} {down}h1v1h-1z"
    assert dict(drawn.attributes("path", "class", "d")) == expected
    assert drawn.attribute("svg", "viewBox") == ["0 0 2 2"]


CURVES: dict[str, Any] = {
    "training_loss": [[10, 8.0], [20, 3.0], [40, 2.5]],
    "training_floor": [[10, 2.25], [40, 2.25]],
    "validation_loss": [[20, 4.0], [40, 2.0]],
    "learning_rate": [[10, 0.001], [40, 0.004]],
    "bleu": [],
}


def test_curves_fill_their_frame_with_labelled_axes(opened: LoadedPage) -> None:
    drawn = opened.drawing("dom", "draw('curves', { runs: [a[0]] })", CURVES)
    (frame, other) = drawn.attribute("svg.panel", "viewBox")
    assert frame == other
    width, height = map(float, frame.split()[2:])
    first = "figure:first-of-type"
    points = {
        name.split()[1]: [tuple(map(float, at.split())) for at in path.removeprefix("M").removesuffix("h0").split("L")]
        for path, name in drawn.attributes(f"{first} .panel .curve", "d", "class")
    }
    across, up = zip(*(point for of in points.values() for point in of), strict=True)
    left, right, top, bottom = min(across), max(across), min(up), max(up)
    assert 40 <= left < width / 4 < width * 0.9 < right <= width
    assert 0 < top < height / 10 < height * 0.8 < bottom <= height - 20

    def x(step: float) -> float:
        return left + (step - 10) / 30 * (right - left)

    def y(value: float) -> float:
        return bottom - (value - 2) / 6 * (bottom - top)

    assert points.keys() == {"training_loss", "validation_loss", "training_floor"}
    for name, curve in points.items():
        for point, (step, value) in zip(curve, CURVES[name], strict=True):
            assert point == pytest.approx((x(step), y(value)), abs=0.11)
    named = [float(at) for at in drawn.attribute(f"{first} .upward", "y")]
    assert named == pytest.approx([y(value) for value in ticks(2, 8, most=5)], abs=0.11)
    named = [float(at) for at in drawn.attribute(f"{first} .across", "x")]
    assert named == pytest.approx([x(step) for step in ticks(10, 40, most=4)], abs=0.11)
    assert [line.strip() for line in drawn.texts("li")] == [
        "on validation 4 at step 20, 2 at step 40", "in training (dashed) 8 at step 10, 2.5 at step 40",
        "floor of the smoothed training loss 2.25", "0.001 at step 10, 0.004 at step 40",
    ]  # fmt: skip
    assert drawn.texts("tbody td") == ["3", "4", "–", "–", "2.5", "2", "0.004", "–"]


def test_single_measurement_is_no_trend(opened: LoadedPage) -> None:
    curves = {name: [] for name in CURVES} | {"validation_loss": [[20, 4.0]], "learning_rate": [[1, 0.5], [9, 0.5]]}
    drawn = opened.drawing("dom", "draw('curves', { runs: [a[0]] })", curves)
    assert drawn.texts("li") == ["on validation 4 at step 20, measured once", " 0.5"]


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([4, 4], 2, 6), ([0, 0], 0, 1), ([-2, -2], -3, -1), ([100, 101], 100, 101), ([3e-6, 0.7], 3e-6, 0.7)],
)
def test_axis_has_round_numbers(opened: LoadedPage, values: list[float], low: float, high: float) -> None:
    curves: dict[str, Any] = {name: [] for name in CURVES} | {"training_loss": [*enumerate(values)]}
    shown = opened.drawing("dom", "draw('curves', { runs: [a[0]] })", curves).texts(".upward")
    assert [float(text) for text in shown] == pytest.approx(ticks(low, high, most=5), rel=1e-3)


def test_checkpoint_without_a_loss_shows_none(opened: LoadedPage) -> None:
    frame = ATTENTION | {"step": 1500, "loss": None, "translation": "A dog."}
    call = f"draw('history', a[0], {{ read: 'Ein Hund.', translation: a[2] }}, a[1], null, {NOTHING})"
    drawn = opened.drawing("dom", call, frame, RUN, "A dog.")
    assert drawn.found("all.querySelector('h3').textContent") == "After step 1,500"
    assert drawn.texts(".then") == ["It translated, as now: A dog."]
    drawn = opened.drawing("dom", call, frame, RUN, "A cat.")
    assert drawn.texts(".then") == ["It translated: A dog."]
    assert drawn.texts(".then mark") == ["dog."]


LINES = [
    {"words": [{"text": "Kannst"}, {"text": "du"}], "language": "de", "dir": "ltr", "name": "Sentence"},
    {"words": [{"text": "Can", "marks": ["doubtful"], "note": "doubtful", "number": ".30?"}, {"text": "you"}],
     "language": "en", "dir": "ltr", "name": "Translation"},
]  # fmt: skip
LINKS = [{"from": 0, "to": 0, "weight": 0.9}, {"from": 1, "to": 0, "weight": 0.1}, {"from": 1, "to": 1, "weight": 0.3}]


def test_linked_words_describe_their_links_and_notes(opened: LoadedPage) -> None:
    call = "m.linkedWords({ lines: a[0], links: a[1], name: 'Which', chosen: [1] })"
    drawn = opened.drawing("words", call, LINES, LINKS)
    assert drawn.texts(".words span[hidden]") == [
        "Can .90", "Can .10, you .30", "doubtful; Kannst .90, du .10", "du .30",
    ]  # fmt: skip
    assert drawn.attributes(".word", "class", "title", "aria-current", "tabindex") == [
        ["word", None, None, "0"], ["word", None, None, "-1"],
        ["word doubtful", "doubtful", None, "-1"], ["word", None, "true", "0"],
    ]  # fmt: skip
    ids = "(selector, name) => [...all.querySelectorAll(selector)].map((one) => one.getAttribute(name)).join()"
    pairs = f"((of) => [of('.word', 'aria-describedby'), of('.words span[hidden]', 'id')])({ids})"
    described, notes = drawn.found(pairs)
    assert described == notes
    assert len({*described.split(",")}) == 4
    assert drawn.attribute(".link", "class") == ["link shade-4", "link shade-1", "link shade-2"]
    assert drawn.texts(".link-number") == [".90", ".10", ".30"]
    assert drawn.texts(".below-word") == [".30?"]
    scaled = opened.drawing("words", call.replace("name:", "scale: { largest: 2, unit: 0.1 }, name:"), LINES, LINKS)
    assert scaled.texts(".link-number") == ["9.00", "1.00", "3.00"]
    assert scaled.texts(".words span[hidden]")[0] == "Can 9.00"
    for links, listed in ((LINKS, ["Can: Kannst .90, du .10", "you: du .30"]), (LINKS[:1], ["Can: Kannst .90"])):
        assert opened.drawing("words", "m.linksAsText(a[0], a[1])", LINES, links).texts("li") == listed


TRANSLATED: dict[str, Any] = {
    "source": "kannst du", "read": "Kannst du", "lines": ["kannst du"],
    "translation": "Can you", "tokens": ["▁Can", "▁you"], "token_words": [[0], [1]],
    "log_probability": -1.25, "score": -0.5, "step": 700, "doubtful": False, "never_seen": ["DU"],
    "alternatives": [{"token": "▁Can", "probability": 0.5}, {"token": "▁you", "probability": 0.49},
                     {"token": "</s>", "probability": 0.1}],
    "alignment": {"source_words": ["Kannst", "du"], "target_words": ["Can", "you"], "links": [[0, 0], [1, 1]],
                  "shares": [[0.9, 0.1], [0.2, 0.8]]},
}  # fmt: skip


# 老师好 in four tokens: one shared by two words, and two for the last word.
SHARED = TRANSLATED | {
    "source": "hallo", "read": "hallo", "lines": ["hallo"], "translation": "老师好", "never_seen": [],
    "tokens": ["▁", "老师", "<0xE5>", "<0xA5><0xBD>"], "token_words": [[0], [0, 1], [2], [2]],
    "alternatives": [{"token": str(place), "probability": likely} for place, likely in enumerate((1.0, 0.4, 0.6, 0.5))],
    "alignment": {"source_words": ["hallo"], "target_words": ["老", "师", "好"], "links": [], "shares": []},
}  # fmt: skip


DRAW = f"m.drawTranslation(a[0], a[1], a[2], {NOTHING})"
NOTED = "(globalThis.gone = [], m.drawTranslation(a[0], a[1], null, { open: (piece) => gone.push(piece) }))"


def test_words_may_share_a_token_or_have_several(opened: LoadedPage) -> None:
    for place, marked in {0: "x..", 1: "xx.", 2: "..x", 3: "..x", 4: "..."}.items():
        drawn = opened.drawing("translation", DRAW, SHARED, RUN, place)
        assert drawn.texts(".below-word") == [".40?", ".40?", ".30?"]
        assert drawn.attribute(".below .word", "aria-current") == ["true" if mark == "x" else None for mark in marked]
    assert opened.drawing("translation", NOTED, SHARED, RUN).pressed(".below .word") == [0, 1, 2]
    layers = [{"probability": 1.0, "guesses": [["x", 1.0]]}]
    pieces = zip(SHARED["tokens"], SHARED["token_words"], strict=True)
    positions = [{"token": piece, "words": of, "decided": 1, "layers": layers} for piece, of in pieces]
    words = [{"word": word, "decided": 1} for word in SHARED["alignment"]["target_words"]]
    lens = {"layers": 1, "positions": positions, "words": words, "target": "老师好"}
    assert opened.drawing("dom", "draw('layers', a[0], a[1], [])", lens, RUN).texts("td.quiet") == [
        "老",
        "师",
        "好",
        "",
    ]


def test_translation_has_remarks_and_marks(opened: LoadedPage) -> None:
    drawn = opened.drawing("translation", DRAW, TRANSLATED, RUN, 1)
    assert drawn.texts(".remarks li") == [
        "Never seen in training, so copied or guessed: DU", "Read with capitals: Kannst du",
        "ln p −1.25, score −0.50, step 700",
    ]  # fmt: skip
    assert drawn.attributes(".word", "class", "title", "aria-current") == [
        ["word", None, None], ["word unseen", "never seen in training", None],
        ["word", None, None], ["word doubtful", "doubtful: probability .49", "true"],
    ]  # fmt: skip
    assert drawn.texts(".below-word") == [".49?"]
    assert drawn.texts(".link-number") == [".90", ".80"]
    plain = TRANSLATED | {"alignment": None, "never_seen": None, "read": "kannst du", "doubtful": True}
    drawn = opened.drawing("translation", DRAW, plain, RUN, None)
    assert drawn.texts(".words") == ["kannst du", "Can you"]
    assert drawn.attribute(".words bdi", "lang") == ["de", "en"]
    assert drawn.texts(".remarks li")[0].startswith("The model gives this translation a low probability")
    lost = TRANSLATED | {"never_seen": [], "remarks": {"read_as_unknown": ["½", "北"]}}
    drawn = opened.drawing("translation", DRAW, lost, RUN, None)
    assert drawn.texts(".remarks li")[0] == "Characters without a token, lost: ½, 北"


@pytest.mark.parametrize(("usual", "marked"), [("Can you", []), ("May you", ["Can", "May"])])
def test_translation_without_heads_is_compared(opened: LoadedPage, usual: str, marked: list[str]) -> None:
    without = TRANSLATED | {"usual": usual, "without": ["cross.1.1"], "lines": ["kannst du", "ja"]}
    drawn = opened.drawing("translation", DRAW, without, RUN, None)
    said = drawn.found("all.textContent")
    assert "The first of 2 sentences is shown. Choose one:" in said
    assert ("Without cross.1.1: the same as with all heads. Turn all on" in said) == (not marked)
    assert drawn.texts(".compared mark") == marked
