"""Drawings of answers made up here, to the digit: numbers, texts, places."""

from typing import Any

import pytest
from support.page import LoadedPage, attributes, texts

from transformer_mt.views.plot import ticks

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
    ],
)  # fmt: skip
def test_numbers_have_two_digits_after_the_point(
    opened: LoadedPage, function: str, numbers: list[float], shown: str
) -> None:
    assert opened.module("dom", f"a[0].map(m.{function})", numbers) == shown.split()
    assert opened.module("dom", "[0.0049, 0].map(m.probability)") == ["< .01", "< .01"]


def test_the_numbers_of_a_column_have_one_count_of_digits(opened: LoadedPage) -> None:
    for numbers, shown in {
        (1234.5, 2): "1234.500 2.000",
        (0.5, -0.25): "0.5000 −0.2500",
        (0.012345, 0): "0.01235 0.00000",
        (0, 0): "0.000 0.000",
        (3e-9, 0): "0.000000003 0.000000000",
        (1, -1e-9): "1.000 0.000",
    }.items():
        assert opened.module("dom", "m.column(a)", *numbers) == shown.split()


def test_the_legend_has_the_numbers_where_shades_begin(opened: LoadedPage) -> None:
    assert opened.module("shades", "m.legend()") == "shades from .05, .25, .50 and .75"
    scale = {"largest": 0.04, "unit": 0.01}
    assert opened.module("shades", "m.legend(a[0])", scale) == "shades from .20, 1.00, 2.00 and 3.00"


ALTERNATIVES = [
    {"piece": "▁The", "probability": 0.8, "others": [["▁A", 0.15], ["▁An", 0.0034]]},
    {"piece": "▁dog", "probability": 0.003, "others": [["▁cat", 0.5]]},
    {"piece": "</s>", "probability": 1.0, "others": []},
]
ANSWER = {"alternatives": ALTERNATIVES, "pieces": ["▁The", "▁dog"], "translation": "The dog"}


def test_the_likeliest_others_have_digits_enough_and_bars(opened: LoadedPage) -> None:
    call = f"m.drawChoices(a[0], a[1], 0, {{ prefix: ['▁The'], ...{NOTHING} }})"
    assert opened.drawn("choices", call, texts(".choice .number"), ANSWER, RUN) == [".80", ".15", ".0034"]
    assert opened.drawn("choices", call, texts(".piece .below-word"), ANSWER, RUN) == [".80", "< .01", "1.00"]
    bars = opened.drawn("choices", call, attributes(".bar", "width", "height"), ANSWER, RUN)
    assert bars == [["80", "10"], ["15", "10"], ["0.5", "10"]]
    names = attributes(".piece", "class", "aria-expanded", "tabindex")
    assert opened.drawn("choices", call, names, ANSWER, RUN) == [
        ["piece chosen", "true", "0"], ["piece", "false", "-1"], ["piece", "false", "-1"],
    ]  # fmt: skip
    assert opened.drawn("choices", call, attributes(".choice", "aria-current"), ANSWER, RUN) == [
        ["true"],
        [None],
        [None],
    ]
    assert opened.drawn("choices", call, texts(".actions"), ANSWER, RUN) == ["Undo continued from ▁The"]
    assert opened.drawn("choices", call, attributes(".actions button", "aria-disabled"), ANSWER, RUN) == [["false"]]
    call = call.replace("['▁The']", "[]").replace("a[1], 0,", "a[1], null,")
    (said,) = opened.drawn("choices", call, texts(".actions"), ANSWER, RUN)
    assert said == "Undo Press a piece to see what else was likely; choose one to go on from there."
    assert opened.drawn("choices", call, texts(".choice"), ANSWER, RUN) == []
    assert opened.drawn("choices", call, texts("li, .piece"), {"pieces": [], "translation": ""}, RUN) == []


def test_what_is_pressed_goes_on_from_there(opened: LoadedPage) -> None:
    noted = (
        "{ prefix: [], undo() {}, open: (...of) => all.push(['open', ...of]), go: (...of) => all.push(['go', ...of]) }"
    )
    press = "drawing.querySelectorAll('.piece, .choice').forEach((one) => one.click())"
    call = f"""((all, drawing) => {{
      drawing.append(...m.drawChoices(a[0], a[1], 1, {noted}).flat(9).filter((one) => one));
      {press}; return all; }})([], document.createElement('div'))"""
    assert opened.module("choices", call, ANSWER, RUN) == [
        ["open", 0], ["open", None], ["open", 2], ["go", ["▁The", "▁dog"], 1], ["go", ["▁The", "▁cat"], 1],
    ]  # fmt: skip


NODES = [
    {"parent": None, "piece": "▁A", "log_probability": -2.0, "end": "dropped", "score": None},
    {"parent": None, "piece": "▁The", "log_probability": -0.5, "end": None, "score": None},
    {"parent": 1, "piece": "▁cat", "log_probability": -3.25, "end": "beaten", "score": None},
    {"parent": 1, "piece": "</s>", "log_probability": -1.0, "end": "ended", "score": -0.75},
]


def test_the_tree_has_the_likeliest_first_each_in_a_row_of_its_step(opened: LoadedPage) -> None:
    searched = {"translation": "Oh The", "trace": {"nodes": NODES, "best": 3, "prefix": ["▁Oh"]}}
    unasked = searched | {"trace": searched["trace"] | {"prefix": []}}  # type: ignore[operator]
    call = f"m.drawBeam(a[0], a[1], {NOTHING})"
    names = ("data-place", "class", "aria-level", "aria-posinset", "aria-setsize", "aria-selected", "title", "tabindex")
    assert opened.drawn("choices", call, attributes(".node", *names), searched, RUN) == [
        ["node 1", "node best", "1", "1", "2", "true", "ln p −0.50", "-1"],
        ["node 3", "node ended best", "2", "1", "2", "true", "ln p −1.00, ended with score −0.75", "0"],
        ["node 2", "node beaten", "2", "2", "2", "false", "ln p −3.25, beaten", "-1"],
        ["node 0", "node dropped", "1", "2", "2", "false", "ln p −2.00, dropped", "-1"],
    ]
    grid = "[...all.querySelectorAll('.node')].map(({ style }) => [style.gridColumnStart, style.gridRowStart])"
    assert opened.drawn("choices", call, grid, searched, RUN) == [["1", "1"], ["2", "1"], ["2", "2"], ["1", "2"]]
    assert opened.drawn("choices", call, texts(".start"), searched, RUN) == ["▁Oh"]
    assert opened.drawn("choices", call, texts(".start"), unasked, RUN) == ["<s>"]
    assert opened.drawn("choices", call, attributes(".branch", "class"), searched, RUN) == [
        ["branch best"], ["branch best"], ["branch"], ["branch"],
    ]  # fmt: skip
    pressed = "((found) => { all.querySelectorAll('.node').forEach((one) => one.click()); return gone; })()"
    noted = "(globalThis.gone = [], m.drawBeam(a[0], a[1], { go: (prefix) => gone.push(prefix.join(' ')) }))"
    assert opened.drawn("choices", noted, pressed, searched, RUN) == [
        "▁Oh ▁The", "▁Oh ▁The </s>", "▁Oh ▁The ▁cat", "▁Oh ▁A",
    ]  # fmt: skip
    assert "no beam to show" in opened.drawn("choices", "m.drawBeam({ trace: null }, a[0], {})", "all.textContent", RUN)


LOSSES = {"log_probability": -1.0, "without": {"cross.1.1": -1.5, "cross.1.2": -0.75, "encoder.1.1": -1.001}}
ATTENTION = {
    "source": "a b",
    "target": "x",
    "method": "weights",
    "stacks": {
        "encoder": {"weights": [[[[1, 0], [0.5, 0.5]], None]], "rows": ["a", "b"], "columns": ["a", "b"]},
        "cross": {"weights": [[[[0.04, 0.96]], [[0.3, 0.7]]]], "rows": ["x"], "columns": ["a", "b"]},
    },
}


def test_heads_are_named_pressed_and_said_to_be_lost(opened: LoadedPage) -> None:
    call = f"m.drawHeads(a[0], a[1], 'cross.1.2', ['encoder.1.2'], a[2], {NOTHING})"
    given = (ATTENTION, RUN, LOSSES)
    picks = attributes(".pick", "data-place", "aria-pressed", "tabindex")
    assert opened.drawn("heads", call, picks, *given) == [
        ["pick encoder.1.1", "false", "-1"], ["pick encoder.1.2", "false", "-1"],
        ["pick cross.1.1", "false", "-1"], ["pick cross.1.2", "true", "0"],
    ]  # fmt: skip
    assert opened.drawn("heads", call, texts(".switch"), *given) == ["1.1 on", "1.2 off", "1.1 on", "1.2 on"]
    pressed = attributes(".switch", "aria-pressed")
    assert opened.drawn("heads", call, pressed, *given) == [["true"], ["false"], ["true"], ["true"]]
    assert opened.drawn("heads", call, texts(".loss"), *given) == [".00", "−.50", "+.25"]
    assert opened.drawn("heads", call, attributes(".layer", "aria-label"), *given) == [
        ["Encoder self-attention, layer 1"], ["Cross-attention, layer 1"],
    ]  # fmt: skip
    assert opened.drawn("heads", call, texts(".stack .quiet"), *given) == ["layer 1", "layer 1"]
    assert opened.drawn("heads", call, texts(".empty"), *given) == ["off"]
    whole = ATTENTION | {
        "method": "erasure",
        "stacks": {"cross": ATTENTION["stacks"]["cross"] | {"weights": [[[[0.1, 2.5]]]]}},
    }  # type: ignore[index]
    assert opened.drawn("heads", call, texts(".stack .quiet"), whole, RUN, None) == ["whole model"]
    assert opened.drawn("heads", call, picks, whole, RUN, None) == [["pick cross", "false", "0"]]
    assert opened.drawn("heads", call, texts(".switch"), whole, RUN, None) == []


def test_what_a_head_means_for_the_translation_is_said(opened: LoadedPage) -> None:
    for name, said in {
        "cross.1.1": "Without cross.1.1, ln p of this translation falls by .50, from −1.00 to −1.50.",
        "cross.1.2": "Without cross.1.2, ln p of this translation rises by .25, from −1.00 to −0.75.",
        "encoder.1.1": "Without encoder.1.1, ln p of this translation stays at −1.00.",
    }.items():
        call = "m.drawHead(a[0], a[1], a[3], a[4], a[2])"
        given = (ATTENTION, RUN, LOSSES, name)
        first = "all.querySelector('p').textContent"
        assert opened.drawn("heads", call, first, *given, []) == said
        assert opened.drawn("heads", call, first, *given, ["cross.1.1"]) == f"{said} All other heads are on here."
    given = (ATTENTION, RUN, None, "cross.1.1", [])
    assert opened.drawn("heads", call, texts("caption"), *given) == [
        "Cross-attention, cross.1.1. A number is a weight; shades from .05, .25, .50 and .75."
    ]
    assert opened.drawn("heads", call, attributes(".matrix td[data-place]", "class", "data-place"), *given) == [
        ["shade-0", "cell 0 0"], ["shade-4", "cell 0 1"],
    ]  # fmt: skip
    assert opened.drawn("heads", call, attributes("path.link", "class"), *given) == [["link shade-4"]]
    for name, languages in {"cross.1.1": ["de", "en"], "encoder.1.1": ["de", "de"]}.items():
        shown = opened.drawn("heads", call, attributes(".words", "lang"), ATTENTION, RUN, None, name, [])
        assert [lang for (lang,) in shown] == languages
    off = opened.drawn("heads", call, "all.textContent", ATTENTION, RUN, None, "encoder.1.2", ["encoder.1.2"])
    assert off == "encoder.1.2 is switched off."
    gone = opened.drawn("heads", call, "all.textContent", ATTENTION, RUN, None, "decoder.1.2", [])
    assert gone == "Choose a head above to see its numbers."


@pytest.mark.parametrize("matrix", [[[0.5, 0.5], [0.0, None]], [[-2.0, 0.1], [1.0, 0.0]]])
def test_a_small_matrix_is_a_path_a_shade(opened: LoadedPage, matrix: list[list[float | None]]) -> None:
    call = "m.smallMatrix(a[0], { largest: 2, unit: 1 })"
    paths = dict(opened.drawn("matrix", call, attributes("path", "class", "d"), matrix))
    expected: dict[str, str] = {}
    for down, row in enumerate(matrix):
        for across, number in enumerate(row):
            level = sum(abs(number or 0.0) >= share * 2 for share in (0.05, 0.25, 0.5, 0.75))
            shade = "masked" if number is None else f"{'negative' if number < 0 else 'shade'}-{level}"
            if number is None or level:
                expected[shade] = expected.get(shade, "") + f"M{across} {down}h1v1h-1z"
    assert paths == expected
    assert opened.drawn("matrix", call, attributes("svg", "viewBox"), matrix) == [["0 0 2 2"]]


CURVES: dict[str, Any] = {
    "training_loss": [[10, 8.0], [20, 3.0], [40, 2.5]],
    "validation_loss": [[20, 4.0], [40, 2.0]],
    "learning_rate": [[10, 0.001], [40, 0.004]],
    "bleu": [],
}


def test_curves_fill_their_frame_and_numbers_stand_where_they_belong(opened: LoadedPage) -> None:
    call = "m.drawCurves({ runs: [a[0]] })"
    count = "all.querySelectorAll('figure').length"
    assert opened.drawn("learning", call, count, CURVES) == 2
    (frame,) = {tuple(size) for size in opened.drawn("learning", call, attributes("svg", "viewBox"), CURVES)}
    width, height = map(float, frame[0].split()[2:])
    in_first = "figure:first-of-type"
    points = {
        name: [tuple(map(float, at.split())) for at in path.removeprefix("M").removesuffix("h0").split("L")]
        for path, name in opened.drawn("learning", call, attributes(f"{in_first} .curve", "d", "class"), CURVES)
    }
    assert set(points) == {"curve training_loss", "curve validation_loss"}
    across, up = zip(*(point for of in points.values() for point in of), strict=True)
    left, right, top, bottom = min(across), max(across), min(up), max(up)
    assert 40 <= left < width / 4
    assert width * 0.9 < right <= width
    assert 0 < top < height / 10
    assert height * 0.8 < bottom <= height - 20

    def x(step: float) -> float:
        return left + (step - 10) / 30 * (right - left)

    def y(value: float) -> float:
        return bottom - (value - 2) / 6 * (bottom - top)

    for name, curve in points.items():
        expected = [(x(step), y(value)) for step, value in CURVES[name.split()[1]]]
        assert [number for point in curve for number in point] == pytest.approx(
            [number for point in expected for number in point], abs=0.11
        )
    named = opened.drawn("learning", call, attributes(f"{in_first} .upward", "x", "y"), CURVES)
    assert [float(at) for _, at in named] == pytest.approx([y(value) for value in ticks(2, 8, most=5)], abs=0.11)
    assert all(left - 10 <= float(at) < left for at, _ in named)
    grid = opened.drawn("learning", call, attributes(f"{in_first} .grid", "d"), CURVES)
    assert [path for (path,) in grid] == [f"M{left:g} {at}H{right:g}" for _, at in named]
    named = opened.drawn("learning", call, attributes(f"{in_first} .across", "x", "y"), CURVES)
    assert [float(at) for at, _ in named] == pytest.approx([x(step) for step in ticks(10, 40, most=4)], abs=0.11)
    assert all(bottom + 10 < float(at) <= height - 5 for _, at in named)
    assert [line.strip() for line in opened.drawn("learning", call, texts("li"), CURVES)] == [
        "on validation 4 at step 20, 2 at step 40", "in training (dashed) 8 at step 10, 2.5 at step 40",
        "0.001 at step 10, 0.004 at step 40",
    ]  # fmt: skip
    cells = opened.drawn("learning", call, texts("tbody td"), CURVES)
    assert cells == ["3", "4", "–", "–", "2.5", "2", "0.004", "–"]
    only = CURVES | {"validation_loss": []}
    assert opened.drawn("learning", call, texts("tbody th"), only) == ["10", "20", "40"]


@pytest.mark.parametrize(("value", "low", "high"), [(4.0, 2.0, 6.0), (0.0, 0.0, 1.0), (-2.0, -3.0, -1.0)])
def test_a_curve_that_never_changes_has_an_axis_too(opened: LoadedPage, value: float, low: float, high: float) -> None:
    flat: dict[str, Any] = {name: [] for name in CURVES} | {"training_loss": [[1, value], [3, value]]}
    call = "m.drawCurves({ runs: [a[0]] })"
    shown = [float(text) for text in opened.drawn("learning", call, texts(".upward"), flat)]
    assert shown == pytest.approx(ticks(low, high, most=5))


def test_a_checkpoint_without_a_loss_has_none(opened: LoadedPage) -> None:
    frame = ATTENTION | {"step": 1500, "loss": None, "translation": "A dog."}
    call = f"m.drawHistory(a[0], {{ read: 'Ein Hund.', translation: 'A dog.' }}, a[1], null, {NOTHING})"
    assert opened.drawn("learning", call, "all.querySelector('h3').textContent", frame, RUN) == "After step 1,500"
    assert opened.drawn("learning", call, texts(".then"), frame, RUN) == ["It translated, as now: A dog."]
    call = call.replace("'A dog.'", "'A cat.'")
    assert opened.drawn("learning", call, texts(".then"), frame | {"loss": 0.5}, RUN) == ["It translated: A dog."]
    assert opened.drawn("learning", call, texts(".then mark"), frame, RUN) == ["dog."]


LINES = [
    {"words": [{"text": "Kannst"}, {"text": "du"}], "language": "de", "dir": "ltr", "name": "Sentence"},
    {"words": [{"text": "Can", "marks": ["doubtful"], "note": "doubtful", "number": ".30?"}, {"text": "you"}],
     "language": "en", "dir": "ltr", "name": "Translation"},
]  # fmt: skip
LINKS = [{"from": 0, "to": 0, "weight": 0.9}, {"from": 1, "to": 0, "weight": 0.1}, {"from": 1, "to": 1, "weight": 0.3}]


def test_linked_words_say_their_links_and_notes(opened: LoadedPage) -> None:
    call = "m.linkedWords({ lines: a[0], links: a[1], name: 'Which', chosen: [1] })"
    assert opened.drawn("words", call, texts(".words span[hidden]"), LINES, LINKS) == [
        "Can .90", "Can .10, you .30", "doubtful; Kannst .90, du .10", "du .30",
    ]  # fmt: skip
    names = attributes(".word", "class", "title", "aria-current", "tabindex")
    assert opened.drawn("words", call, names, LINES, LINKS) == [
        ["word", None, None, "0"], ["word", None, None, "-1"],
        ["word doubtful", "doubtful", None, "-1"], ["word", None, "true", "0"],
    ]  # fmt: skip
    described = attributes(".word", "aria-describedby")
    spans = attributes(".words span[hidden]", "id")
    both = opened.drawn("words", call, f"[{described}, {spans}]", LINES, LINKS)
    assert both[0] == both[1]
    assert len({name for (name,) in both[0]}) == 4
    assert opened.drawn("words", call, attributes(".link", "class"), LINES, LINKS) == [
        ["link shade-4"], ["link shade-1"], ["link shade-2"],
    ]  # fmt: skip
    assert opened.drawn("words", call, texts(".link-number"), LINES, LINKS) == [".90", ".10", ".30"]
    assert opened.drawn("words", call, texts(".below-word"), LINES, LINKS) == [".30?"]
    scaled = call.replace("name:", "scale: { largest: 2, unit: 0.1 }, name:")
    assert opened.drawn("words", scaled, texts(".link-number"), LINES, LINKS) == ["9.00", "1.00", "3.00"]
    assert opened.drawn("words", scaled, texts(".words span[hidden]"), LINES, LINKS)[0] == "Can 9.00"
    assert opened.drawn("words", "m.linksAsText(a[0], a[1])", texts("li"), LINES, LINKS) == [
        "Can: Kannst .90, du .10", "you: du .30",
    ]  # fmt: skip
    assert opened.drawn("words", "m.linksAsText(a[0], a[1])", texts("li"), LINES, LINKS[:1]) == ["Can: Kannst .90"]


TRANSLATED: dict[str, Any] = {
    "source": "kannst du", "read": "Kannst du", "lines": ["kannst du"],
    "translation": "Can you", "pieces": ["▁Can", "▁you"], "piece_words": [[0], [1]],
    "log_probability": -1.25, "score": -0.5, "step": 700, "doubtful": False, "never_seen": ["DU"],
    "alternatives": [{"piece": "▁Can", "probability": 0.5}, {"piece": "▁you", "probability": 0.49},
                     {"piece": "</s>", "probability": 0.1}],
    "alignment": {"source_words": ["Kannst", "du"], "target_words": ["Can", "you"], "links": [[0, 0], [1, 1]],
                  "shares": [[0.9, 0.1], [0.2, 0.8]]},
}  # fmt: skip


# 老师好 in three pieces: one of two words, and two for the last word.
SHARED = TRANSLATED | {
    "source": "hallo", "read": "hallo", "lines": ["hallo"], "translation": "老师好", "never_seen": [],
    "pieces": ["▁", "老师", "<0xE5>", "<0xA5><0xBD>"], "piece_words": [[0], [0, 1], [2], [2]],
    "alternatives": [{"piece": str(place), "probability": likely} for place, likely in enumerate((1.0, 0.4, 0.6, 0.5))],
    "alignment": {"source_words": ["hallo"], "target_words": ["老", "师", "好"], "links": [], "shares": []},
}  # fmt: skip


def test_words_share_a_piece_and_a_word_has_several(opened: LoadedPage) -> None:
    call = f"m.drawTranslation(a[0], a[1], a[2], {NOTHING})"
    assert opened.drawn("translation", call, texts(".below-word"), SHARED, RUN, None) == [".40?", ".40?", ".30?"]
    current = attributes(".below .word", "aria-current")
    for place, marked in {0: "x..", 1: "xx.", 2: "..x", 3: "..x", 4: "..."}.items():
        expected = [["true" if mark == "x" else None] for mark in marked]
        assert opened.drawn("translation", call, current, SHARED, RUN, place) == expected
    pressed = "(all.querySelectorAll('.below .word').forEach((one) => one.click()), gone)"
    noted = "(globalThis.gone = [], m.drawTranslation(a[0], a[1], null, { open: (piece) => gone.push(piece) }))"
    assert opened.drawn("translation", noted, pressed, SHARED, RUN) == [0, 1, 2]
    layers = [{"probability": 1.0, "guesses": [["x", 1.0]]}]
    pieces = zip(SHARED["pieces"], SHARED["piece_words"], strict=True)
    positions = [{"piece": piece, "words": of, "decided": 1, "layers": layers} for piece, of in pieces]
    words = [{"word": word, "decided": 1} for word in SHARED["alignment"]["target_words"]]
    lens = {"layers": 1, "positions": positions, "words": words, "target": "老师好"}
    assert opened.drawn("lens", "m.drawLens(a[0], a[1], [])", texts("td.quiet"), lens, RUN) == ["老", "师", "好", ""]


def test_a_translation_has_its_remarks_and_marks(opened: LoadedPage) -> None:
    call = f"m.drawTranslation(a[0], a[1], a[2], {NOTHING})"
    assert opened.drawn("translation", call, texts(".remarks li"), TRANSLATED, RUN, None) == [
        "Never seen in training, so copied or guessed: DU", "Read with capitals: Kannst du",
        "ln p −1.25, score −0.50, step 700",
    ]  # fmt: skip
    marked = attributes(".word", "class", "title", "aria-current")
    assert opened.drawn("translation", call, marked, TRANSLATED, RUN, 1) == [
        ["word", None, None], ["word unseen", "never seen in training", None],
        ["word", None, None], ["word doubtful", "doubtful: probability .49", "true"],
    ]  # fmt: skip
    assert opened.drawn("translation", call, texts(".below-word"), TRANSLATED, RUN, None) == [".49?"]
    assert opened.drawn("translation", call, texts(".link-number"), TRANSLATED, RUN, None) == [".90", ".80"]
    plain = TRANSLATED | {"alignment": None, "never_seen": None, "read": "kannst du", "doubtful": True}
    assert opened.drawn("translation", call, texts(".words"), plain, RUN, None) == ["kannst du", "Can you"]
    assert opened.drawn("translation", call, attributes(".words bdi", "lang"), plain, RUN, None) == [["de"], ["en"]]
    said, _ = opened.drawn("translation", call, texts(".remarks li"), plain, RUN, None)
    assert said.startswith("The model is unsure here")
    without = TRANSLATED | {"usual": "Can you", "without": ["cross.1.1"], "lines": ["kannst du", "ja"]}
    said = opened.drawn("translation", call, "all.textContent", without, RUN, None)
    assert "The first of 2 sentences is shown. Choose one:" in said
    assert "Without cross.1.1: the same as with all heads. Switch all on" in said
    without |= {"usual": "May you"}
    assert opened.drawn("translation", call, texts(".compared mark"), without, RUN, None) == ["Can", "May"]
    pressed = "(all.querySelectorAll('.word').forEach((one) => one.click()), gone)"
    noted = "(globalThis.gone = [], m.drawTranslation(a[0], a[1], null, { open: (piece) => gone.push(piece) }))"
    assert opened.drawn("translation", noted, pressed, TRANSLATED, RUN) == [0, 1]
