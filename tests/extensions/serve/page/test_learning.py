"""View 7: curves that grow during training, and the sentence at each checkpoint; new and updated runs."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from support.page import LoadedPage, expect
from support.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.slow

SENTENCE = "Der Baum fällt."
CHANGED = {"training_loss": [[10, 4.0], [20, 2.0]], "validation_loss": [], "learning_rate": [[20, 0.1]], "bleu": []}


@pytest.fixture
def learning(opened: LoadedPage) -> LoadedPage:
    opened.type(SENTENCE)
    opened.click("#tab-learning")
    opened.wait(".panel")
    opened.wait("#history h3")
    return opened


def test_sentence_at_each_checkpoint(learning: LoadedPage, served: Served) -> None:
    target = served.ask("translate", source=SENTENCE).json["translation"]
    first, *_, last = served.runs[0]["checkpoints"]
    expect(learning.find("#history h3").first).to_contain_text(f"After step {last}")
    frame = served.ask("history", source=SENTENCE, target=target, checkpoint=first).json
    learning.fill("#checkpoint", "0")
    title = f"After step {first}, loss on validation {frame['loss']:.4g}"
    expect(learning.find("#history h3").first).to_have_text(title)
    learning.expect_part(".then", frame["translation"])
    learning.click("[data-place='pick cross.2.1']")
    number = f"{frame['stacks']['cross']['weights'][1][0][0][0]:.2f}".removeprefix("0")
    expect(learning.find("#history .matrix td[data-place]").first).to_have_text(number)
    learning.expect_attribute("#checkpoint", "aria-valuetext", f"step {first}")


def test_requests_about_an_old_translation_are_dropped(learning: LoadedPage) -> None:
    for route, field, value in (("history", "#checkpoint", "0"), ("translate", "#source", "Der Hund wartet.")):
        learning.page.route(f"**/v1/{route}", lambda route: None)  # never answered
        with learning.page.expect_request(f"**/v1/{route}"):
            learning.find(field).fill(value)
    learning.fill("#source", "")
    learning.expect_text("#translation", "")
    learning.expect_text("#history", "")


class Changing:
    """The page with a fake clock, and answers that a test changes while it stays open."""

    def __init__(self, opened: LoadedPage, served: Served) -> None:
        self.opened = opened
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {"runs": served.get("/v1/runs").json}
        self.run = self.answers["runs"]["runs"][0]
        opened.page.route("**/v1/*", self.answer)
        opened.hold_clock()

    def answer(self, route: "Route") -> None:
        name = urlsplit(route.request.url).path.rpartition("/")[2]
        self.asked.append(name)
        if name in self.answers:
            route.fulfill(content_type="application/json", body=json.dumps(self.answers[name]))
        else:
            route.continue_()

    def pass_by(self, seconds: int) -> list[str]:
        """Let this many seconds pass; return the requests sent."""
        self.asked.clear()
        self.opened.pass_by(seconds)
        return list(self.asked)


def test_curves_grow_while_a_run_trains(opened: LoadedPage, served: Served) -> None:
    changing = Changing(opened, served)
    changing.run["state"] = "training"
    changing.pass_by(10)
    opened.expect_part("#about", "training")
    opened.click("#tab-learning")
    opened.wait(".panel")
    changing.answers["curves"] = {"runs": [CHANGED | {"run": "one"}]}
    changing.run |= {"step": 151}
    assert changing.pass_by(10).count("curves") == 1
    opened.expect_count(".panel", 2)
    opened.click("#tab-lens")
    changing.run |= {"step": 152}
    assert "curves" not in changing.pass_by(10), "curves are not seen"


def test_a_finished_run_is_asked_about_only_when_it_changes(opened: LoadedPage, served: Served) -> None:
    changing = Changing(opened, served)
    opened.click("#tab-learning")
    opened.wait(".panel")
    opened.settle()
    assert changing.pass_by(20) == ["runs", "runs"]
    changing.run |= {"step": 151, "best_step": 151, "seconds_since": 0}
    with opened.page.expect_request("**/v1/translate"):
        changing.pass_by(10)
    opened.expect_part("#about", "step 151")


def test_another_model_of_the_same_name_resets_the_page(opened: LoadedPage, served: Served) -> None:
    changing = Changing(opened, served)
    opened.click("#tab-heads")
    opened.click("[data-place='switch cross.2.1']")
    opened.expect_part(".remarks", "Without cross.2.1")
    opened.select("#method", "gradient")
    stacks = changing.run["stacks"]
    changing.run |= {"stacks": stacks | {"cross": [[1, 2]]}, "step": 151}
    changing.pass_by(10)
    expect(opened.find(".remarks")).not_to_contain_text("Without")
    opened.expect_value("#method", "weights")
    expect(opened.find("[data-place='pick cross.1.1']")).to_be_visible()
    opened.expect_count("[data-place='pick cross.2.1']", 0)


def test_deleted_checkpoint_falls_back_to_the_newest(opened: LoadedPage, served: Served) -> None:
    changing = Changing(opened, served)
    opened.click("#tab-learning")
    opened.fill("#checkpoint", "2")
    expect(opened.find("#history h3").first).to_contain_text("After step 150")
    changing.run["checkpoints"].pop()
    changing.pass_by(10)
    expect(opened.find("#history h3").first).to_contain_text("After step 100")
    opened.expect_value("#checkpoint", "1")
    expect(opened.find("#checkpoint")).to_be_visible()
    changing.run["checkpoints"].pop()
    changing.pass_by(10)
    expect(opened.find("#checkpoint")).to_be_hidden()
    opened.expect_part("#checkpoints", "training.keep_checkpoints=weights")


def test_new_runs_are_offered_and_lost_runs_reported(chromium: "Browser", home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "runs/one", tmp_path / "one")
    with serving(tmp_path) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        opened.hold_clock()
        shutil.copytree(home / "runs/one", tmp_path / "two")
        opened.pass_by(10)
        opened.expect_count("#run option", 2)
        opened.expect_value("#run", "one")
        shutil.rmtree(tmp_path / "one")
        opened.pass_by(10)
        opened.expect_count("#run option", 1)
        opened.expect_part("#problem", "The run one is gone")
        opened.select("#run", "two")
        opened.expect_part("#about", "de → en")
        opened.expect_text("#problem", "")
