"""The saved page of one pair: opened from disk, it sends no requests and shows the command's numbers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.command_line import Tmt
from support.page import LoadedPage, expect, violations
from support.sentences import small_tokenizer
from support.tiny import write_run

from transformer_mt.cli.main import run

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
    found = tmt("translate", "--model", str(home / "runs/one"), SENTENCE, "--trace", "--no-split", "--json").json
    saved.expect_value("#source", SENTENCE)
    saved.expect_text("#spoken", found["translation"])
    saved.find("#translation .below .word").first.hover()
    expect(saved.find("#translation .link-number.lit").first).to_be_attached()
    saved.click("#tab-choices")
    saved.expect_count(".node", len(found["trace"]["nodes"]))
    saved.find(".piece").nth(1).click()
    saved.expect_count(".choice", 10)


def test_controls_that_need_the_model_are_disabled(saved: LoadedPage) -> None:
    assert violations(saved) == []
    expect(saved.find("main > p").first).to_contain_text("Controls that need the model are off")
    saved.expect_attribute("[role=tab][tabindex='0']", "id", "tab-heads")
    expect(saved.find("#source")).not_to_be_editable()
    saved.click("#tab-choices")
    expect(saved.find("#run:disabled, #beam:disabled")).to_have_count(2)
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


def test_saved_page_of_twenty_words_is_small(tmp_path: Path) -> None:
    tokenizer, heads = small_tokenizer(), ("model.width=8", "model.attention.heads=4")
    source, target = " ".join(22 * ["die"]), " ".join(22 * ["a"])  # as many tokens as twenty words and two commas
    assert len(tokenizer.encode(source)) == len(tokenizer.encode(target)) == 22
    path = write_run(tmp_path / "run", *heads, "model.encoder_layers=3", "model.decoder_layers=3")
    assert run(["page", str(tmp_path / "page.html"), "--model", str(path), source, "--target", target]) == 0
    assert 186_000 < (tmp_path / "page.html").stat().st_size <= 310_000


def test_page_saves_itself(chromium: "Browser", opened: LoadedPage, tmp_path: Path) -> None:
    opened.type("Der Vogel wartet.")
    opened.find(".piece").nth(1).click()
    opened.find(".choice").nth(1).click()
    opened.expect_count(".piece.chosen", 2)
    opened.expect_attribute("#translation", "aria-busy", "false")
    shown = opened.find("#translation .below .word bdi").all_inner_texts()
    with opened.page.expect_download() as saving:
        opened.click("#save-page")
    saving.value.save_as(tmp_path / "page.html")
    with from_disk(chromium, tmp_path / "page.html") as saved:
        assert saved.find("#translation .below .word bdi").all_inner_texts() == shown
        saved.expect_value("#source", "Der Vogel wartet.")
        for control in ("#copy-link", "#show-code", "#save-page", "#tab-course"):
            saved.expect_attribute(control, "aria-disabled", "true")
    opened.reply("page", {"error": "no room"}, status=503)
    opened.click("#save-page")
    opened.expect_text("#problem", "no room")
