"""The saved page of one pair: opened from disk, it sends no requests and shows the command's numbers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.command_line import Tmt
from support.page import LoadedPage, expect, violations
from support.sentences import small_tokenizer
from support.serving import write_run

from transformer_mt.cli.main import run
from transformer_mt.config.toml import load_config
from transformer_mt.models.build_model import build_model
from transformer_mt.text.normalize import normalize

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SENTENCE = "Der Baum fällt."
Save = Callable[..., Path]


@pytest.fixture(scope="module")
def save(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Save:
    """A function that saves the page of a sentence with options of `tmt attend`."""

    def save(sentence: str, *options: str) -> Path:
        file = tmp_path_factory.mktemp("saved") / "page.html"
        assert run(["page", str(file), "--model", str(home / "runs/one"), sentence, *options]) == 0
        return file

    return save


@contextmanager
def from_disk(browser: "Browser", file: Path, *, wait: str = ".matrix") -> Iterator[LoadedPage]:
    asked = []
    with LoadedPage.opened(browser, file.as_uri(), wait=wait, listen=lambda sent: asked.append(sent.url)) as opened:
        yield opened
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]


@pytest.fixture(scope="module")
def file(save: Save) -> Path:
    return save(SENTENCE)


@pytest.fixture
def saved(chromium: "Browser", file: Path) -> Iterator[LoadedPage]:
    with from_disk(chromium, file) as opened:
        yield opened


def test_saved_page_has_translation_alternatives_and_beam(saved: LoadedPage, home: Path, tmt: Tmt) -> None:
    options = ("--no-split", "--alternatives", "--trace", "--json")
    found = tmt("translate", "--model", str(home / "runs/one"), SENTENCE, *options).json
    saved.expect_value("#source", SENTENCE)
    below = saved.find("#translation .below .word bdi").all_inner_texts()
    assert "".join(below) == found["translation"].replace(" ", "")
    saved.find("#translation .below .word").first.hover()
    expect(saved.find("#translation .link-number.lit").first).to_be_attached()
    saved.click("#tab-choices")
    saved.expect_count(".node", len(found["trace"]["nodes"]))
    saved.find(".piece").nth(1).click()
    saved.expect_count(".choice", 10)
    first = saved.find(".choice .number").all_inner_texts()[1]
    assert abs(float(first) - found["alternatives"][1]["others"][0][1]) <= 0.005


def test_controls_that_need_the_model_are_disabled(saved: LoadedPage) -> None:
    expect(saved.find("main > p").first).to_contain_text(
        "Controls that need the model are off; use tmt serve for them."
    )
    saved.expect_attribute("[role=tab][tabindex='0']", "id", "tab-heads")
    expect(saved.find("#source")).not_to_be_editable()
    expect(saved.find("#run")).to_be_disabled()
    saved.find("[data-place='switch cross.1.1']").focus()
    saved.press("Enter")
    saved.expect_attribute("[data-place='switch cross.1.1']", "aria-pressed", "true")
    saved.click("#tab-choices")
    expect(saved.find("#beam")).to_be_disabled()
    saved.find(".piece").nth(1).click()
    pieces = saved.find(".piece bdi").all_inner_texts()
    for place in ("choice 1", "node 0", "undo"):
        one = saved.find(f"[data-place='{place}']")
        expect(one).to_have_attribute("aria-disabled", "true")
        expect(one).to_have_attribute("title", "This needs the model: start tmt serve.")
        one.focus()
        saved.press("Enter", "Space")
        one.click(force=True)
    saved.find("[data-place='why 1']").focus()
    saved.press("Enter")
    saved.expect_text(".contrast .problem", "This needs the model: start tmt serve.")
    assert saved.find(".piece bdi").all_inner_texts() == pieces
    saved.expect_count(".piece.chosen", 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations(chromium: "Browser", file: Path, scheme: str) -> None:
    with LoadedPage.opened(chromium, file.as_uri(), wait=".matrix", color_scheme=scheme) as opened:
        assert violations(opened) == []
        opened.click("#tab-choices")
        opened.find(".piece").nth(1).click()
        assert violations(opened) == []


def test_saved_page_opens_with_the_options_of_the_command(chromium: "Browser", save: Save) -> None:
    options = ("--target", "The table sleeps.", "--tokens", "--without", "cross.1.2,decoder.2.2")
    with from_disk(chromium, save(SENTENCE, *options)) as opened:
        assert "".join(opened.find("#translation .below .word bdi").all_inner_texts()) == "Thetablesleeps."
        opened.expect_value("#unit", "pieces")
        expect(opened.find(".matrix thead th").first).to_contain_text("▁")
        opened.expect_text("[data-place='pick cross.1.2']", "off")
        opened.expect_attribute("[data-place='switch decoder.2.2']", "aria-pressed", "false")
        opened.expect_attribute("[data-place='all on']", "aria-disabled", "true")
        opened.click("#tab-choices")
        opened.expect_count(".piece.chosen", opened.find(".piece").count())


def test_hostile_texts_are_escaped(chromium: "Browser", save: Save) -> None:
    for text in ("</script><script>alert(1)</script>", "<!--<script>", "a\u202eb ]]> &lt; \\u003c"):
        with from_disk(chromium, save(text)) as opened:
            shown = "".join(opened.find("#translation .above .word bdi").all_inner_texts())
            assert shown == normalize(text).replace(" ", "")
            assert opened.page.locator("script").count() == 2


def test_injected_content_is_blocked(chromium: "Browser", file: Path, tmp_path: Path) -> None:
    page = file.read_text("utf-8")
    changed = tmp_path / "changed.html"
    added = "<script>document.title = 'run'</script><style>body { display: none }</style><img src=x.png>"
    changed.write_text(page.replace("</body>", f"{added}</body>"), "utf-8")
    context = chromium.new_context()
    try:
        opened = context.new_page()
        opened.goto(changed.as_uri())
        opened.locator(".matrix").wait_for()
        assert opened.title() != "run"
    finally:
        context.close()


@pytest.mark.parametrize(
    ("most", "settings"),
    [
        (310_000, []),
        (800_000, ["model.width=512", "model.encoder_layers=6", "model.decoder_layers=6", "model.attention.heads=8"]),
    ],
)
def test_saved_page_of_twenty_words_is_small(most: int, settings: list[str], tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    source, target = " ".join(22 * ["die"]), " ".join(22 * ["a"])  # as many tokens as twenty words and two commas
    assert len(tokenizer.encode(source)) == len(tokenizer.encode(target)) == 22
    config = load_config(None, ["data.corpus=none", "model.feed_forward_width=32", *settings])
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    path = write_run(tmp_path / "run", model, tokenizer, "model.feed_forward_width=32", *settings)
    file = tmp_path / "page.html"
    assert run(["page", str(file), "--model", str(path), source, "--target", target]) == 0
    assert 0.6 * most < file.stat().st_size <= most
