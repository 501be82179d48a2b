"""View 6: the guess of every layer for every token, and the layer that decides."""

import pytest
from support.page import LoadedPage, expect
from support.serving import Served

pytestmark = pytest.mark.slow

SENTENCE = "Der Baum fällt."


@pytest.fixture
def lens(opened: LoadedPage) -> LoadedPage:
    opened.type(SENTENCE)
    opened.click("#tab-lens")
    opened.wait(".lens")
    return opened


@pytest.fixture
def answer(served: Served) -> dict:  # type: ignore[type-arg]
    target = served.ask("translate", source=SENTENCE).json["translation"]
    return served.ask("lens", source=SENTENCE, target=target).json  # type: ignore[no-any-return]


def printed(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")


def test_cells_are_guesses_with_probability_and_mark(
    lens: LoadedPage,
    answer: dict,  # type: ignore[type-arg]
) -> None:
    lens.expect_text(".lens tbody th", [position["token"] for position in answer["positions"]])
    expected, deciding = [], 0
    for position in answer["positions"]:
        for layer, of_layer in enumerate(position["layers"], start=1):
            piece, likely = of_layer["guesses"][0]
            mark = "✓ " if position["decided"] and layer >= position["decided"] else ""
            expected.append(f"{mark}{piece} {printed(likely)}")
            deciding += layer == position["decided"]
    assert lens.find(".guess").all_inner_texts() == expected
    assert lens.find(".guess.decided").count() == deciding > 0
    assert all(text.startswith("✓") for text in lens.find(".guess.decided").all_inner_texts())


def test_guess_lists_the_next_likeliest(
    lens: LoadedPage,
    answer: dict,  # type: ignore[type-arg]
) -> None:
    cells = lens.find(".guess")
    cells.first.focus()
    lens.press("ArrowDown")
    by_keyboard = lens.find(".guesses").inner_text()
    position = answer["positions"][1]
    assert by_keyboard.startswith("After layer 1: ")
    assert by_keyboard.endswith(f"the written token, {position['token']}, has {shown(position['layers'][0])}.")
    for piece, _ in position["layers"][0]["guesses"]:
        assert piece in by_keyboard
    cells.first.hover()
    assert lens.find(".guesses").inner_text() != by_keyboard
    cells.nth(len(position["layers"])).hover()
    assert lens.find(".guesses").inner_text() == by_keyboard


def shown(of_layer: dict) -> str:  # type: ignore[type-arg]
    number = of_layer["probability"]
    return "< .01" if number < 0.005 else printed(number)


def test_words_are_listed_by_the_layer_that_decides_them(lens: LoadedPage, answer: dict) -> None:  # type: ignore[type-arg]
    for layer in (1, 2, None):
        words = [word["word"] for word in answer["words"] if word["decided"] == layer]
        name = "Not the model's own choice" if layer is None else f"Decided from layer {layer} on"
        line = lens.find("#layers li").filter(has_text=name)
        expect(line).to_have_count(int(bool(words)))
        if words:
            expect(line).to_have_text(f"{name}: {' '.join(words)}")
    owners = lens.find(".lens tbody tr > :first-child").all_inner_texts()
    assert [word for word in owners if word] == [word["word"] for word in answer["words"]]
