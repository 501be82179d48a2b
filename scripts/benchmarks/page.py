"""The page of `tmt serve` in the system's Chromium: the time from a user action to the picture.

With 50 sentences it takes some minutes: most of them are pauses, so that no action waits for an earlier one.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contest import Spread, environment, markdown
from benchmarks.reference import describe
from transformer_mt.corpus.load_corpus import load_corpus
from transformer_mt.ground.errors import MachineError
from transformer_mt.runs.directory import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
SENTENCES = 50
# Milliseconds until all answers to earlier actions have arrived.
PAUSE = 600
# Acts, waits until the children of an element have changed and been painted, and returns the milliseconds.
MEASURE = """
([what, value, watched]) => new Promise((done) => {
  const start = performance.now();
  new MutationObserver((_, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }).observe(document.querySelector(watched), { childList: true });
  const one = document.querySelector(what);
  if (value === null) {
    one.click();
  } else {
    one.value = value;
    one.dispatchEvent(new Event("input"));
  }
})
"""


def page_table(run: Run, *, count: int = SENTENCES, rounds: int = 3) -> str:
    """Measure starts, then user actions with `count` sentences, and return Markdown."""
    texts = unseen_sentences(run)
    addresses, openings, deeds = [], [], {}
    for last in (*[False] * (rounds - 1), True):
        with served(run.path) as (address, seconds), opened(address) as (page, opening):
            addresses.append(seconds)
            openings.append(opening)
            if last:
                deeds = {
                    f"typing {words} words, to links drawn": typing(page, nearest(texts, words, count))
                    for words in (10, 20)
                } | clicks(page, nearest(texts, 10, count))
    rows = [
        [name, f"{1000 * statistics.median(found):.0f}", f"{1000 * max(found):.0f}", str(len(found))]
        for name, found in {"tmt serve, cold, to its address": addresses, "opening, to links drawn": openings}.items()
    ]
    for name, found in deeds.items():
        percentile = statistics.quantiles(found, n=20)[-1]
        rows.append([name, f"{Spread.of(found).median:.0f}", f"{percentile:.0f}", str(len(found))])
    head = ["in the browser, milliseconds", "median", "95th percentile (starts: most)", "times"]
    return "\n\n".join((f"{describe()}; the 80 ms that the page waits for the next key included", markdown(head, rows)))


def unseen_sentences(run: Run) -> list[str]:
    """The different test sentences of the run's corpus; loading a large one takes many seconds."""
    splits = load_corpus(run.config().data).splits
    return [*dict.fromkeys(pair.source for name, pairs in splits.items() if "test" in name for pair in pairs)]


def nearest(texts: Sequence[str], words: int, count: int) -> list[str]:
    """The texts with lengths nearest to this number of words."""
    return sorted(texts, key=lambda text: abs(len(text.split()) - words))[:count]


def typing(page: "Page", texts: Sequence[str]) -> list[float]:
    """Milliseconds from the last key to the links, for each text."""
    return [type_sentence(page, text) for text in texts]


def type_sentence(page: "Page", text: str) -> float:
    """Milliseconds from the last key to the links, in an empty field."""
    page.fill("#source", "")
    page.locator("#translation .linked").wait_for(state="detached")
    return measure(page, "#source", text, watched="#translation")


def clicks(page: "Page", texts: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds from a click on a head, or on its switch, to the picture."""
    chosen, switched = [], []
    page.click("#tab-heads")
    for number, text in enumerate(texts):
        type_sentence(page, text)
        heads = page.locator("#all-heads .pick[aria-pressed=false]:not([data-place$=mean])")
        heads.first.wait_for()
        head = heads.nth(number % heads.count()).get_attribute("data-place") or ""
        chosen.append(measure(page, f'[data-place="{head}"]', None, watched="#one-head"))
        switch = f'[data-place="{head.replace("pick", "switch")}"]'
        switched.append(measure(page, switch, None, watched="#translation"))
        measure(page, '[data-place="all on"]', None, watched="#translation")
    return {"choosing a head": chosen, "switching one off, to the translation": switched}


def measure(page: "Page", what: str, value: str | None, *, watched: str) -> float:
    """Milliseconds from a click, or from typing a value, until `watched` is drawn, with the page otherwise idle."""
    page.wait_for_timeout(PAUSE)
    found: float = page.evaluate(MEASURE, [what, value, watched])
    return found


def browser_path() -> str | None:
    """The browser in `TMT_CHROMIUM`, else the first on PATH."""
    return os.environ.get("TMT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def served(run: Path) -> Iterator[tuple[str, float]]:
    """A server of the run in its own process: its address, and the seconds until it was printed."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "transformer_mt", "serve", "--model", str(run), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            yield address, time.perf_counter() - start
        finally:
            server.terminate()


@contextmanager
def opened(address: str, **options: Any) -> "Iterator[tuple[Page, float]]":
    """The page in a fresh browser, and the seconds from opening it to the first links."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MachineError("playwright", "not installed", "pip install '.[browser]'") from None
    path = browser_path()
    if path is None:
        raise MachineError("no browser; install one of", ", ".join(NAMES), "or name yours in TMT_CHROMIUM")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
        start = time.perf_counter()
        page.goto(address)
        page.locator("#translation .linked").wait_for()
        yield page, time.perf_counter() - start
        browser.close()
