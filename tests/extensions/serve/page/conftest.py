"""A tiny trained run, served, and a browser that opens its page and records errors."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.page import browser_path
from support.command_line import tmt as tmt
from support.page import LoadedPage, expect
from support.serving import Served, serving, train_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Enough to learn the few pairs in three seconds.
SIZES = {
    "model__width": "32",
    "model__decoder_layers": "2",
    "schedule__warmup": "30",
    "schedule__learning_rate": "0.01",
    "training__steps": "150",
    "training__validate_every": "50",
    "training__checkpoint_every": "50",
}
# Starts a browser with command-line options.
Launch = Callable[..., "Browser"]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/one`, trained on `data`; read-only."""
    return train_run(tmp_path_factory.mktemp("page"), **SIZES)


@pytest.fixture(scope="session")
def served(home: Path) -> Iterator[Served]:
    with serving(home / "runs") as served:
        yield served


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
