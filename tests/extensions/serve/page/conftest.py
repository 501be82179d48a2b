"""A browser that opens the page of the served run, and records errors."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.page import browser_path
from support.page import LoadedPage, expect
from support.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Starts a browser with command-line options.
Launch = Callable[..., "Browser"]


@pytest.fixture(scope="session")
def launch() -> Iterator[Launch]:
    """Starts the system's browser; without it or Playwright, tests are skipped unless `TMT_BROWSER=required`."""
    path = browser_path()
    if path is None or expect is None:
        assert os.environ.get("TMT_BROWSER") != "required", "no Chromium, or no Playwright: install both"
        pytest.skip("needs Chromium and the extra browser")
    from playwright.sync_api import sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield lambda *options: playwright.chromium.launch(executable_path=path, args=[*sandbox, *options])


@pytest.fixture(scope="session")
def chromium(launch: Launch) -> Iterator["Browser"]:
    """The browser without options."""
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture
def opened(chromium: "Browser", served: Served) -> Iterator[LoadedPage]:
    """The page with its first translation."""
    with LoadedPage.opened(chromium, served.server.address) as opened:
        yield opened


@pytest.fixture(scope="session")
def scripted(chromium: "Browser", served: Served) -> Iterator[LoadedPage]:
    """A page for all tests of its modules alone, with our scripts in `/javascript`."""
    scripts = Path(__file__).parent / "javascript"
    with LoadedPage.opened(chromium, served.server.address) as opened:
        opened.page.route("**/javascript/*", lambda sent: sent.fulfill(path=scripts / Path(sent.request.url).name))
        yield opened
