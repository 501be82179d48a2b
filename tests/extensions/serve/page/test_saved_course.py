"""The course in a file: opened from disk, every stop has its text, formulas and picture, and nothing is requested."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage, expect, violations

from transformer_mt.cli.main import run
from transformer_mt.extensions.lessons.course import course_file, read_course

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@contextmanager
def saved(browser: "Browser", file: Path, *options: str) -> Iterator[LoadedPage]:
    """The course in a new file, opened in the browser."""
    assert run(["lesson", *options, "--html", str(file)]) == 0
    asked: list[str] = []
    with LoadedPage.opened(
        browser, file.as_uri(), wait="#question .ways", listen=lambda r: asked.append(r.url)
    ) as page:
        yield page
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]


def test_every_stop_works_without_a_server_in_the_language_of_the_course(chromium: "Browser", tmp_path: Path) -> None:
    stops = read_course(course_file("de")).stops
    with saved(chromium, tmp_path / "course.html", "--language", "de") as page:
        page.expect_attribute("html", "lang", "de")
        page.expect_text("[data-place=next]", "Weiter →")
        for number, stop in enumerate(stops, start=1):
            page.expect_part("#stop h3", stop.title)
            page.expect_count("#stop math", len(stop.formulas))
            page.expect_text("#stop a", [paper.text for paper in stop.papers])
            if stop.picture or stop.part:
                expect(page.find("#picture > *").first).to_be_attached()
            page.click("#question summary")
            expect(page.find("#question details > p")).to_be_visible()
            for problem in ("#problem", "#source-problem", "#course-problem"):
                page.expect_text(problem, "")
            if stop.attempt.sentence:
                page.expect_value("#source", stop.attempt.sentence)
            if stop.attempt.head and stop.attempt.view == "heads":
                page.click("[data-place=try]")
                page.expect_text("#one-head h3", stop.attempt.head)
                page.click("#back button")
            page.click("#question summary")
            if number < len(stops):
                page.click("[data-place=next]")
        assert violations(page) == []


def test_heads_of_a_stop_are_those_of_its_pictures(chromium: "Browser", tmp_path: Path) -> None:
    stops = read_course(course_file("en")).stops
    number = [stop.picture for stop in stops].index("sum-of-heads") + 1
    with saved(chromium, tmp_path / "course.html", str(number)) as page:
        page.expect_part("#stop h3", f"{number} of ")
        page.expect_text("#picture tbody th", [f"cross.2.{head} on" for head in (1, 2, 3, 4)])
        page.expect_attribute("#picture .switch >> nth=0", "aria-disabled", "true")


def test_a_hostile_course_is_shown_as_text(
    chromium: "Browser", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    values = dict.fromkeys(("title", "text", "question", "answer", "part", "code", "try.command"), hostile)
    lines = [f"{key} = {value!r}" for key, value in values.items()]
    (tmp_path / "own.toml").write_text("\n".join(["[[stops]]", *lines, f"formulas = [{hostile!r}]"]), "utf-8")
    with saved(chromium, tmp_path / "course.html", "--lessons", str(tmp_path / "own.toml")) as page:
        page.expect_part("#stop h3", hostile)
        page.expect_part("#question", hostile)
        page.expect_count("img", 0)
