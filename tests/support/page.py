"""The page in a browser; a test fails if anything is logged, fails, is refused or goes to another origin."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

try:
    from playwright.sync_api import expect
except ImportError:  # the tests are skipped
    expect = None

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Request, Response

__all__ = ["VIEWS", "LoadedPage", "expect", "misfits", "small_texts", "violations"]

# For each view below the translation, the element it draws.
VIEWS = {
    "choices": ".tree",
    "heads": ".matrix",
    "steps": "#all-steps .stage",
    "lens": ".lens",
    "learning": "#history .matrix",
}

# A request made by the test: once its answer has been read, earlier answers have been, too.
NEUTRAL = "/page/app.js?"
# A request cancelled by a newer one.
ABORTED = "net::ERR_ABORTED"


@dataclass
class LoadedPage:
    """A page and its problems; `expected` are statuses provoked by a test."""

    page: "Page"
    problems: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)
    under_way: set["Request"] = field(default_factory=set)

    @classmethod
    @contextmanager
    def opened(
        cls,
        browser: "Browser",
        address: str,
        *,
        wait: str = ".linked",
        listen: "Callable[[Request], object]" = lambda sent: None,
        **options: Any,
    ) -> Iterator[Self]:
        """Open the page at an address and wait for `wait`; at the end, assert that nothing went wrong.

        `listen` is called with every request.
        """
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        opened = cls(context.new_page())
        opened.watch(urlsplit(address).netloc)
        opened.page.on("request", listen)
        opened.page.goto(address)
        opened.page.locator(wait).first.wait_for()
        yield opened
        opened.finish()
        context.close()
        assert not opened.problems, opened.problems

    def watch(self, own: str) -> None:
        note = self.problems.append
        self.page.on("console", lambda message: None if self._is_expected(message.text) else note(message.text))
        self.page.on("pageerror", lambda error: note(str(error)))
        self.page.on(
            "requestfailed", lambda lost: None if lost.failure == ABORTED else note(f"{lost.url} {lost.failure}")
        )
        self.page.on("request", lambda sent: None if urlsplit(sent.url).netloc == own else note(sent.url))
        self.page.on("response", self._check)
        self.page.on("request", lambda sent: None if sent.url.endswith(NEUTRAL) else self.under_way.add(sent))
        self.page.on("requestfinished", lambda sent: self.under_way.discard(sent))
        self.page.on("requestfailed", lambda sent: self.under_way.discard(sent))

    def _is_expected(self, message: str) -> bool:
        """Whether the message is the browser's own log of an expected status."""
        return any(f"status of {status}" in message for status in self.expected)

    def _check(self, response: "Response") -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.problems.append(f"{response.url}: {response.status}")

    def find(self, selector: str) -> "Locator":
        return self.page.locator(selector)

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def fill(self, selector: str, text: str) -> None:
        self.find(selector).fill(text)

    def select(self, selector: str, value: str) -> None:
        self.find(selector).select_option(value)

    def wait(self, selector: str) -> None:
        self.find(selector).first.wait_for()

    def expect_text(self, selector: str, text: str | list[str]) -> None:
        """Wait until the elements at a selector have this text; the methods below wait likewise."""
        expect(self.find(selector)).to_have_text(text)

    def expect_part(self, selector: str, text: str | list[str]) -> None:
        expect(self.find(selector)).to_contain_text(text)

    def expect_count(self, selector: str, count: int) -> None:
        expect(self.find(selector)).to_have_count(count)

    def expect_value(self, selector: str, value: str) -> None:
        expect(self.find(selector)).to_have_value(value)

    def expect_attribute(self, selector: str, name: str, value: str) -> None:
        expect(self.find(selector)).to_have_attribute(name, value)

    def reply(self, route: str, content: Any, *, status: int = 200, times: int | None = None, retry: str = "") -> None:
        """Answer a route with this content, or this text, always or so many times."""
        self.expected.add(status)
        body = content if isinstance(content, str) else json.dumps(content)
        headers = {"Content-Type": "application/json"} | ({"Retry-After": retry} if retry else {})
        answer = {"status": status, "headers": headers, "body": body}
        self.page.route(f"**/v1/{route}", lambda sent: sent.fulfill(**answer), times=times)  # type: ignore[arg-type]

    def type(self, sentence: str) -> None:
        """Replace the sentence key by key, and wait until its translation is drawn."""
        field = self.find("#source")
        field.fill("")
        with self.page.expect_response(lambda got: (got.request.post_data_json or {}).get("source") == sentence):
            field.press_sequentially(sentence, delay=5)
        self.expect_attribute("#translation", "aria-busy", "false")

    def hold_clock(self) -> None:
        """Reload the page with a clock that only the test advances, so that slow machines change nothing."""
        self.page.clock.install(time=0)
        self.page.reload()
        self.find(".linked").first.wait_for()
        self.page.clock.pause_at(3_600)
        self.settle()

    def pass_by(self, seconds: int) -> None:
        """Advance the clock of the page, two seconds at a time."""
        for _ in range(seconds // 2):
            self.page.clock.run_for(2_000)
            self.settle()

    def finish(self) -> None:
        """Wait until all answers have come, so that no problem is missed."""
        while self.page.evaluate("0") == 0 and self.under_way:
            self.page.wait_for_timeout(5)

    def settle(self) -> None:
        """Wait until all requests of the page are answered and the answers read."""
        while self.page.evaluate(f"fetch('{NEUTRAL}').then((answer) => answer.text())") and self.under_way:
            while self.under_way:
                self.page.wait_for_timeout(5)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


# Visible texts of less than 24 CSS pixels, as drawn.
SMALL = """(within) => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector(within), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement: one } = walker.currentNode;
    const svg = one.closest("svg[viewBox]");
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (data.trim() && one.checkVisibility() && !one.closest("option") && size < 23.9) {
      found.push(`${data.trim()}: ${size}`);
    }
  }
  return found;
}"""


def small_texts(opened: LoadedPage, within: str) -> list[str]:
    """The visible texts inside an element that are drawn with less than 24 pixels, with their sizes."""
    found: list[str] = opened.page.evaluate(SMALL, within)
    return found


# Whether the page is wider than its window, and visible controls of less than 24 CSS pixels, once it is laid out.
MISFITS = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const isWide = document.documentElement.scrollWidth > innerWidth;
  const controls = [...document.querySelectorAll("button, select")].filter((one) => one.checkVisibility());
  const small = controls.filter((one) => {
    const { width, height } = one.getBoundingClientRect();
    return Math.min(width, height) < 24;
  });
  return [...(isWide ? [`wider than ${innerWidth}`] : []), ...small.map((one) => one.outerHTML)];
}"""


def misfits(opened: LoadedPage) -> list[str]:
    """What does not fit: a page wider than its window, and controls too small for a finger."""
    found: list[str] = opened.page.evaluate(MISFITS)
    return found


def violations(opened: LoadedPage, within: str = "html", *rules: str) -> list[str]:
    """The violations that axe-core finds in an element, of these rules or of any."""
    from axe_playwright_python.sync_playwright import Axe

    opened.expect_count("[aria-busy=true]:visible", 0)  # a panel that waits for an answer is faded
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = Axe().run(opened.page, within, options).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]
