"""The start: what a stranger sees, and which run the page opens."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.page import LoadedPage, expect
from support.serving import Served, serving

from transformer_mt.config.toml import load_config
from transformer_mt.views.subject import examples

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_start_says_what_to_do_without_scrolling(chromium: "Browser", served: Served) -> None:
    with LoadedPage.opened(chromium, served.server.address, viewport={"width": 1280, "height": 720}) as opened:
        opened.expect_part("#purpose", "Type a sentence in German. A small neural network")
        for selector in ("#purpose", "#source", "#examples button", "#translation .linked", ".link-legend li", "#tabs"):
            for one in opened.find(selector).all():
                box = one.bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= 720, selector
        opened.expect_part(".link-legend", "A line joins a word to the word it comes from. Thicker: more attention.")


def test_examples_are_typed_for_you(opened: LoadedPage, served: Served) -> None:
    offered = served.get("/v1/runs").json["runs"][0]["examples"]
    assert 1 <= len(offered) <= 3
    opened.expect_text("#examples button", offered)
    opened.type("Der Hund wartet.")
    opened.click("#examples button >> nth=-1")
    opened.expect_value("#source", offered[-1])
    expect(opened.find("#source")).to_be_focused()
    opened.expect_part("#translation .above", offered[-1].split()[0])


def test_built_in_corpus_has_three_examples_in_either_direction(tmp_path: Path) -> None:
    for language, first in (("de", "Kannst du"), ("en", "Can you")):
        other = "en" if language == "de" else "de"
        data = load_config(None, [f"data.source_language={language}", f"data.target_language={other}"]).data
        found = examples(tmp_path, data)
        assert len(found) == 3
        assert found[0].startswith(first)


def test_numbers_below_the_translation_are_explained(opened: LoadedPage) -> None:
    opened.click(".meanings summary")
    opened.expect_text(".meanings strong", ["ln p", "score", "step"])
    expect(opened.find(".meanings p").first).to_contain_text("0 is certain")
    for name in ("ln p", "score", "step"):
        assert opened.find(".remarks span[title]").filter(has_text=name).count() == 1


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Type a sentence in German."),
        ("en", "Type a sentence in English."),
        *((odd, "Type a sentence.") for odd in ("x\u202e", "zz", "constructor")),
    ],
)
def test_purpose_names_known_languages(opened: LoadedPage, served: Served, language: str, said: str) -> None:
    listed = served.get("/v1/runs").json
    listed["runs"][0] |= {"source_language": language, "step": 1700, "best_step": 400}
    answer = {"content_type": "application/json", "body": json.dumps(listed)}
    opened.page.route("**/v1/runs", lambda route: route.fulfill(**answer))  # type: ignore[arg-type]
    opened.page.reload()
    expect(opened.find("#purpose")).to_contain_text(said)
    expect(opened.find("#about")).to_contain_text(", weights of step 400, ")


@pytest.fixture
def three(home: Path, tmp_path: Path) -> list[Path]:
    paths = [home / "runs/one", tmp_path / "other", tmp_path / "third"]
    for path in paths[1:]:
        path.symlink_to(home / "runs/one")
    return paths


def test_page_opens_the_given_run(chromium: "Browser", three: list[Path]) -> None:
    with (
        serving(three, opens=three[1]) as served,
        LoadedPage.opened(chromium, served.server.address) as opened,
    ):
        opened.expect_value("#run", "other")
        opened.select("#run", "third")
        opened.expect_value("#run", "third")
        opened.page.goto("about:blank")
        opened.page.goto(served.server.address)
        opened.expect_value("#run", "other")
        opened.page.goto("about:blank")
        opened.page.goto(f"{served.server.address}&run=one")
        opened.expect_value("#run", "one")


def test_page_opens_the_last_choice_then_a_finished_run(chromium: "Browser", three: list[Path]) -> None:
    with serving(three) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        listed: dict[str, Any] = served.get("/v1/runs").json
        states = {"one": "training", "other": "stopped", "third": "finished"}
        listed["runs"].sort(key=lambda run: run["run"])
        for run in listed["runs"]:
            run["state"] = states[run["run"]]
        answer = {"content_type": "application/json", "body": json.dumps(listed)}
        opened.page.route("**/v1/runs", lambda route: route.fulfill(**answer))  # type: ignore[arg-type]

        def again() -> None:
            opened.page.goto("about:blank")
            opened.page.goto(served.server.address)

        again()
        opened.expect_value("#run", "third")
        opened.select("#run", "other")
        again()
        opened.expect_value("#run", "other")
        opened.page.evaluate("localStorage.setItem('tmt run', 'gone')")
        again()
        opened.expect_value("#run", "third")
