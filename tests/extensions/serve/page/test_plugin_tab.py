"""The tab that the plugin in docs/extensions.md adds to the page."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.page import LoadedPage
from support.plugins import loaded, write_example
from support.serving import serving

from transformer_mt.cli.main import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

PAGE = "docs/extensions.md"


def test_a_plugin_adds_a_tab_to_the_page_and_to_a_saved_one(chromium: "Browser", home: Path, tmp_path: Path) -> None:
    write_example("addTab", tmp_path / "spread.js", page=PAGE)
    with loaded(write_example("tmt spread", tmp_path / "spread.py", page=PAGE)):
        with serving(home / "runs") as served, LoadedPage.opened(chromium, served.server.address) as opened:
            names = opened.find("[role=tab]").all_inner_texts()
            opened.click("#tab-spread")
            opened.wait("#spreads li")
            shown = opened.find("#spreads li").all_inner_texts()
        assert run(["page", str(tmp_path / "saved.html"), "--model", str(home / "runs/one")]) == 0
    assert names.index("When it knows") < names.index("How far it looks") < names.index("How it learned")
    assert shown
    with LoadedPage.opened(chromium, (tmp_path / "saved.html").as_uri(), wait="#tab-spread") as saved:
        saved.click("#tab-spread")
        saved.wait("#spreads li")
