"""The start: what a stranger sees, and which run the page opens."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.page import LoadedPage, expect
from support.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_start_says_what_to_do_without_scrolling(opened: LoadedPage) -> None:
    opened.page.set_viewport_size({"width": 1280, "height": 720})
    opened.expect_part("#purpose", "Type a sentence in German. A small neural network")
    opened.expect_part(
        ".link-legend", "A line links words that the model treats as translations of each other. Thicker: surer."
    )
    for selector in ("#purpose", "#source", "#examples button", "#translation .linked", ".link-legend li", "#tabs"):
        expect(opened.find(selector).last).to_be_in_viewport(ratio=1)


def test_examples_are_typed_for_you(opened: LoadedPage, served: Served) -> None:
    offered = served.runs[0]["examples"]
    assert 1 <= len(offered) <= 3
    opened.expect_text("#examples button", offered)
    opened.type("Der Hund wartet.")
    opened.click("#examples button >> nth=-1")
    opened.expect_value("#source", offered[-1])
    expect(opened.find("#source")).to_be_focused()
    opened.expect_part("#translation .above", offered[-1].split()[0])


def test_purpose_names_known_languages(opened: LoadedPage, served: Served) -> None:
    listed = served.get("/v1/runs").json
    for language, name in (("en", " in English"), *((odd, "") for odd in ("x\u202e", "zz", "constructor"))):
        listed["runs"][0] |= {"source_language": language, "step": 1700, "best_step": 400}
        opened.reply("runs", listed)
        opened.page.reload()
        opened.expect_part("#purpose", f"Type a sentence{name}.")
        opened.expect_part("#about", ", weights of step 400, ")


@pytest.fixture
def three(home: Path, tmp_path: Path) -> list[Path]:
    paths = [home / "runs/one", tmp_path / "other", tmp_path / "third"]
    for path in paths[1:]:
        path.symlink_to(home / "runs/one")
    return paths


def again(opened: LoadedPage, address: str) -> None:
    opened.page.goto("about:blank")
    opened.page.goto(address)


def test_page_opens_the_given_run(chromium: "Browser", three: list[Path]) -> None:
    with serving(three, opens=three[1]) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        opened.expect_value("#run", "other")
        opened.select("#run", "third")
        again(opened, served.server.address)
        opened.expect_value("#run", "other")
        again(opened, f"{served.server.address}&run=one")
        opened.expect_value("#run", "one")


def test_page_opens_the_last_choice_then_a_finished_run(chromium: "Browser", three: list[Path]) -> None:
    with serving(three) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        listed: dict[str, Any] = served.get("/v1/runs").json
        for run in listed["runs"]:
            run["state"] = {"one": "training", "other": "stopped", "third": "finished"}[run["run"]]
        listed["runs"].sort(key=lambda run: run["run"])
        opened.reply("runs", listed)
        again(opened, served.server.address)
        opened.expect_value("#run", "third")
        opened.select("#run", "other")
        again(opened, served.server.address)
        opened.expect_value("#run", "other")
        opened.page.evaluate("localStorage.setItem('tmt run', 'gone')")
        again(opened, served.server.address)
        opened.expect_value("#run", "third")
