"""Keyboard only: every view, from typing the first letter to choosing another run."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.page import VIEWS, LoadedPage, expect
from support.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture
def two_runs(chromium: "Browser", home: Path, tmp_path: Path) -> Iterator[LoadedPage]:
    """The page with a run and a copy of another name."""
    (tmp_path / "other").symlink_to(home / "runs/one")
    runs = [home / "runs/one", tmp_path / "other"]
    with serving(runs) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        yield opened


def place(opened: LoadedPage) -> str:
    """The `data-place` or id of the focused element."""
    found = opened.page.evaluate("document.activeElement.dataset.place || document.activeElement.id")
    assert opened.page.evaluate("document.activeElement.matches(':focus-visible')"), f"{found}: the focus is not seen"
    return str(found)


def press(opened: LoadedPage, *keys: str, to: str) -> None:
    """Press the keys and expect the focus at this place."""
    opened.press(*keys)
    assert place(opened) == to


def tab_to(opened: LoadedPage, wanted: str, *, key: str = "Tab", most: int = 12) -> None:
    for _ in range(most):
        opened.press(key)
        if place(opened).startswith(wanted):
            return
    raise AssertionError(f"{wanted}: not reached by {most} times {key}; the last was {place(opened)}")


def test_whole_page_works_by_keyboard(two_runs: LoadedPage) -> None:
    opened = two_runs
    sentence = opened.find("#source").input_value()
    press(opened, "Tab", "Enter", to="source")  # the skip link
    opened.settle()
    opened.expect_value("#source", sentence)
    opened.press("Control+a")
    opened.page.keyboard.type("Der Vogel wartet.")
    opened.expect_part("#translation .above", "Vogel")
    words = opened.find("#translation .below .word").count()

    tab_to(opened, "example 0", most=1)
    press(opened, "ArrowRight", to="example 1")
    tab_to(opened, "above 0", most=1)
    press(opened, "ArrowRight", to="above 1")
    expect(opened.find("#translation .link.lit").first).to_be_attached()
    opened.press("ArrowDown")
    assert place(opened).startswith("above"), "the line below is a tab stop of its own"
    tab_to(opened, "below 0", most=1)
    press(opened, "End", to=f"below {words - 1}")
    opened.press("Home", "Enter")
    expect(opened.find(".piece").first).to_have_attribute("aria-expanded", "true")
    assert place(opened) == "piece 0"

    tab_to(opened, "choice", most=2)
    opened.press("Escape")
    opened.expect_count(".choice", 0)
    assert place(opened) == "piece 0"
    opened.press("ArrowRight", "Enter")
    tab_to(opened, "choice 0", most=2)
    press(opened, "ArrowDown", to="choice 1")
    chosen = opened.find(".choice bdi").nth(1).inner_text()
    opened.press("Enter")
    expect(opened.find(".piece.chosen bdi").nth(1)).to_have_text(chosen)
    assert place(opened) == "piece 1"
    tab_to(opened, "undo", most=2)
    opened.press("Enter")
    opened.expect_count(".piece.chosen", 0)

    tab_to(opened, "node", most=3)
    at = opened.page.evaluate("Number(document.activeElement.ariaLevel)")
    opened.press("ArrowLeft")
    assert opened.page.evaluate("Number(document.activeElement.ariaLevel)") == at - 1
    opened.press("ArrowRight")
    assert opened.page.evaluate("Number(document.activeElement.ariaLevel)") == at

    tab_to(opened, "choices", key="Shift+Tab")
    opened.press("ArrowRight", "Enter")
    expect(opened.find(".matrix")).to_be_visible()
    tab_to(opened, "pick cross.1.1")
    opened.press("ArrowRight", "Enter")
    opened.expect_text("#one-head h3", "cross.1.2")
    assert place(opened) == "pick cross.1.2"
    press(opened, "ArrowDown", to="switch cross.1.2")
    opened.press("Space")
    opened.expect_attribute("[data-place='switch cross.1.2']", "aria-pressed", "false")
    opened.expect_part(".remarks", "Without cross.1.2")
    assert place(opened) == "switch cross.1.2"
    opened.press("ArrowUp", "ArrowLeft", "Enter")
    opened.expect_text("#one-head h3", "cross.1.1")
    tab_to(opened, "cell 0 0", most=3)
    press(opened, "ArrowRight", "ArrowDown", to="cell 1 1")

    tab_to(opened, "heads", key="Shift+Tab")
    opened.press("ArrowRight", "Enter")
    opened.wait(VIEWS["steps"])
    tab_to(opened, "explained-row", most=1)
    before = opened.find("#explained-row").input_value()
    opened.press("ArrowDown")
    expect(opened.find("#explained-row")).not_to_have_value(before)
    tab_to(opened, "explained-head", most=1)
    opened.press("End")
    opened.expect_part("#all-steps h3", "Cross-attention, layer 2, head 2")
    tab_to(opened, "stage 0", most=1)
    opened.press("Enter")
    expect(opened.find(".stage").first).to_have_attribute("open", "")
    tab_to(opened, "temperature")
    opened.press("ArrowRight")
    opened.expect_text("output", "T = 1.12")

    tab_to(opened, "steps", key="Shift+Tab")
    opened.press("ArrowRight", "Enter")
    opened.wait(VIEWS["lens"])
    tab_to(opened, "cell 0 0", most=1)
    press(opened, "ArrowRight", "ArrowDown", to="cell 1 1")

    tab_to(opened, "lens", key="Shift+Tab")
    opened.press("ArrowRight", "Enter")
    opened.wait(VIEWS["learning"])
    tab_to(opened, "numbers", most=1)
    opened.press("Enter")
    expect(opened.find("#curves td").first).to_be_visible()
    tab_to(opened, "checkpoint", most=1)
    opened.press("Home")
    expect(opened.find("#history h3").first).to_contain_text("After step 50")

    tab_to(opened, "run", key="Shift+Tab", most=16)
    opened.press("ArrowDown")
    opened.expect_value("#run", "other")
    expect(opened.find(".remarks")).not_to_contain_text("Without")
    opened.expect_value("#source", "Der Vogel wartet.")


def test_lines_trees_and_matrices_are_one_tab_stop(opened: LoadedPage) -> None:
    for tab, drawn in VIEWS.items():
        opened.click(f"#tab-{tab}")
        opened.find(drawn).first.wait_for()
        for group in opened.find(".words, .pieces, .others, .tree, .heads, .matrix tbody, [role=tablist]").all():
            stops = group.locator("[tabindex='0']")
            assert stops.count() == 1, group.get_attribute("class")


# Positions of buttons, left and top, by letter.
GRID = {"a": (0, 0), "b": (100, 4), "c": (10, 40), "d": (160, 60), "e": (0, 200)}
KEYS = """(() => {
  const box = document.createElement("div");
  box.style.position = "relative";
  for (const [name, [left, top]] of Object.entries(a[0])) {
    const button = document.createElement("button");
    button.id = name;
    Object.assign(button.style, { position: "absolute", left: `${left}px`, top: `${top}px` });
    Object.assign(button.style, { width: "20px", height: "20px" });
    box.append(button);
  }
  document.body.append(box);
  m.roving(box, "button", { line: a[1], current: box.querySelector("#b"), leave: () => (box.dataset.left = "yes") });
  const found = a[2].map(([from, key, more]) => {
    document.getElementById(from).focus();
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
    document.activeElement.dispatchEvent(event);
    return document.activeElement.id + (event.defaultPrevented ? "" : " left alone");
  });
  const stops = [...box.children].filter((one) => one.tabIndex === 0).map((one) => one.id);
  const entered = document.activeElement.id;
  box.remove();
  return [found, stops.join() === entered, box.dataset.left ?? ""];
})()"""


def test_course_works_by_keyboard(opened: LoadedPage) -> None:
    opened.find("#tab-choices").focus()
    opened.press("End", "Enter")
    opened.wait("#question .ways")
    tab_to(opened, "stop 1", most=1)
    opened.press("ArrowRight", "ArrowRight")
    opened.expect_part("#stop h3", "3 of ")
    tab_to(opened, "stop 4", most=4)
    opened.press("Enter")
    opened.expect_part("#stop h3", "4 of ")
    assert place(opened) == "stop 4"
    tab_to(opened, "answer 4", most=50)
    opened.press("Enter")
    expect(opened.find("#question details p")).to_be_visible()
    tab_to(opened, "try", most=1)
    opened.press("Enter")
    opened.wait("#steps .what-if")
    assert place(opened) == "steps"
    tab_to(opened, "to course", most=2)
    opened.press("Enter")
    opened.expect_part("#stop h3", "4 of ")
    assert place(opened) == "course"
    tab_to(opened, "next", most=60)
    press(opened, "Enter", to="next")
    opened.expect_part("#stop h3", "5 of ")


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (False, {"a Right": "b", "a Down": "c", "c Right": "b", "d Up": "b", "b Left": "a", "c Up": "a"}),
        (True, {"a Right": "b", "b Right": "c", "e Left": "d", "d Left": "c", "a Down": "c", "c Up": "a"}),
        (True, {"a Left": "a", "e Right": "e"}),
        (False, {"a Up": "a", "c Down": "e", "e Down": "e", "d Right": "d"}),
    ],
)  # fmt: skip
def test_arrow_keys_go_to_the_nearest_element(opened: LoadedPage, line: bool, keys: dict[str, str]) -> None:
    presses = [[key.split()[0], f"Arrow{key.split()[1]}"] for key in keys]
    found, is_stop, left = opened.module("keyboard", KEYS, GRID, line, presses)
    assert found == list(keys.values())
    assert is_stop, "the focused one is the tab stop"
    assert left == ""


def test_home_end_and_escape_work_and_other_keys_are_ignored(opened: LoadedPage) -> None:
    presses = [["c", "Home", {}], ["a", "End", {}], ["a", "x", {}]]
    presses += [["a", "ArrowRight", {modifier: True}] for modifier in ("ctrlKey", "altKey", "metaKey")]
    found, _, left = opened.module("keyboard", KEYS, GRID, False, presses)
    assert found == ["a", "e", *["a left alone"] * 4]
    assert left == ""
    assert opened.module("keyboard", KEYS, GRID, False, [["a", "Escape", {}]])[2] == "yes"
