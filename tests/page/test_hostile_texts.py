"""Texts that try to command the page are seen as text, wherever they come from."""

import shutil
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.hostile_text import HOSTILE_TEXTS
from support.page import LoadedPage, expect
from support.serving import Served, serving

from transformer_mt.views.text import escape_controls

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

TYPED = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea><svg onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<a href=javascript:alert(1)>x</a>",
    '"><b onmouseover=alert(1)>',
    "' onfocus=alert(1) '",
    "${alert(1)} {{7*7}} `x`",
    "&lt;b&gt; &#x202e; &quot;",
    "]]>--><!--",
    "\\u003cscript\\u003e",
    "a\u202eb \u2066c\u2069 d",
    "x\u200by\ufeffz",
    "日本語 e\u0301 \u0301",
    "__proto__ constructor toString",
)


def test_what_is_typed_is_seen_as_text(opened: LoadedPage, served: Served) -> None:
    for text in TYPED:
        opened.type(text)
        alignment = served.post("/v1/translate", run="one", source=text, align=True).json["alignment"]
        words = [escape_controls(word) for word in alignment["source_words"]]
        expect(opened.find("#translation .above .word bdi")).to_have_text(words)
        assert opened.find("main").locator("script, img, b, a, style, svg[onload]").count() == 0
    opened.find("#tab-heads").click()
    opened.find("#unit").select_option("pieces")
    expect(opened.find(".matrix thead th").first).to_contain_text("▁")


def test_a_run_of_any_name_is_seen_by_it(chromium: "Browser", home: Path, tmp_path: Path) -> None:
    names = ["<img src=x onerror=alert(1)>", "\u202egnol", '"><script>alert(1)<', "a\nb", "__proto__", "&amp;"]
    for name in names:
        shutil.copytree(home / "runs/one", tmp_path / name.replace("/", "⁄"))
    with serving(tmp_path) as served, LoadedPage.opened(chromium, served.server.address) as opened:
        options = opened.find("#run option").all_text_contents()
        assert sorted(options) == sorted(map(escape_controls, names))
        for option in opened.find("#run option").all():
            opened.find("#run").select_option(option.get_attribute("value"))
            opened.type("Der Hund wartet.")
            expect(opened.find("#translation .above")).to_contain_text("Hund")


def test_characters_are_made_visible_as_in_the_terminal(opened: LoadedPage) -> None:
    odd = [
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")
    ]
    for text in (*HOSTILE_TEXTS, *("".join(odd[n : n + 20]) for n in range(0, len(odd), 20))):
        if "\ud800" not in text:  # Playwright cannot send it
            assert opened.module("dom", "m.visible(a[0])", text) == escape_controls(text)
    assert opened.page.evaluate("import('/page/dom.js').then((m) => m.visible('\\ud800'))") == "⟨U+D800⟩"
