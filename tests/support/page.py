"""The page in a browser; a test fails if anything is logged, fails, is refused or goes to another origin."""

from collections.abc import Callable, Iterator, Sequence
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

__all__ = ["VIEWS", "Drawing", "LoadedPage", "expect", "small_texts", "violations"]

# For each view below the translation, the element it draws.
VIEWS = {
    "choices": ".tree",
    "heads": ".matrix",
    "steps": ".what-if",
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

    def module(self, name: str, expression: str, *arguments: Any) -> Any:
        """Evaluate an expression of a module's exports, `m`, and arguments, `a`, in the browser.

        `draw(id, …)` draws the picture of that id in a tab.
        """
        draw = "draw = (id, ...of) => every.find(([own]) => own === id)[2](...of)"
        every = "every = Object.values((await import('/page/tabs.js')).tabs).flatMap(({ pictures }) => pictures)"
        program = f"const m = await import('/page/{name}.js'), {every}, {draw}; return {expression};"
        return self.page.evaluate(f"async (a) => {{ {program} }}", list(arguments))

    def drawing(self, module: str, call: str, *arguments: Any) -> "Drawing":
        """The drawing that a call of a module makes of these arguments."""
        return Drawing(self, module, call, arguments)


@dataclass(frozen=True)
class Drawing:
    """The drawing of a module's call, made again for each question, in an element `all`."""

    opened: LoadedPage
    module: str
    call: str
    arguments: Sequence[Any]

    def found(self, expression: str) -> Any:
        """The value of an expression of `all`."""
        put = f"all.append(...[{self.call}].flat(Infinity).filter((one) => one))"
        program = f"((all) => {{ {put}; return {expression}; }})(document.createElement('div'))"
        return self.opened.module(self.module, program, *self.arguments)

    def each(self, selector: str, expression: str) -> list[Any]:
        """The value of an expression of each element `one` at a selector."""
        found: list[Any] = self.found(f"[...all.querySelectorAll('{selector}')].map((one) => {expression})")
        return found

    def texts(self, selector: str) -> list[str]:
        return self.each(selector, "one.textContent")

    def attribute(self, selector: str, name: str) -> list[str]:
        return self.each(selector, f"one.getAttribute('{name}')")

    def attributes(self, selector: str, *names: str) -> list[list[str]]:
        return self.each(selector, f"{list(names)}.map((name) => one.getAttribute(name))")

    def pressed(self, selector: str) -> list[Any]:
        """Click each element at a selector, and return the `gone` list of the call."""
        found: list[Any] = self.found(f"(all.querySelectorAll('{selector}').forEach((one) => one.click()), gone)")
        return found


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


def violations(opened: LoadedPage) -> list[str]:
    """The violations that axe-core finds on the current page."""
    from axe_playwright_python.sync_playwright import Axe

    opened.expect_count("[aria-busy=true]", 0)  # a panel that waits for an answer is faded
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in Axe().run(opened.page).response["violations"]]
