"""`tmt page`: the page of one sentence in a file."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

from support.command_line import Tmt
from support.tiny import SIZES, varied_model, write_run

from transformer_mt.runs.directory import Run

SOURCE = "Der Hund schläft."
TARGET = "The dog sleeps."


def test_page_replaces_a_page(home: Path, tmp_path: Path, tmt: Tmt) -> None:
    (tmp_path / "a.html").write_text("before")
    outcome = tmt("page", str(tmp_path / "a.html"), SOURCE, "--target", TARGET, "--model", str(home / "runs/one"))
    assert (outcome.code, outcome.out) == (0, "")
    assert saved(tmp_path / "a.html")


def test_only_pages_are_replaced(home: Path, tmt: Tmt) -> None:
    outcome = tmt("page", "letters.de", SOURCE, "--model", str(home / "runs/one"))
    assert outcome.mistake == "letters.de: not the name of a page; end it in .html"


def saved(page: Path) -> list[dict[str, Any]]:
    """The answers stored in a saved page."""
    (packed,) = re.findall(r'id="saved">(.*)</script>', page.read_text("utf-8"))
    found: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def test_page_of_a_model_without_attention(home: Path, tmp_path: Path, tmt: Tmt) -> None:
    tokenizer, kind = Run.open(home / "runs/one").tokenizer(), ("model.kind=recurrent", "model.score=none")
    run = write_run(tmp_path / "none", varied_model(*kind, vocabulary=tokenizer.size), tokenizer, *kind, *SIZES)
    file = tmp_path / "a.html"
    assert tmt("page", str(file), "--model", str(run), SOURCE, "--target", TARGET, "--method", "erasure").code == 0
    (lacking,) = (one for one in saved(file) if "error" in one["answer"])
    assert lacking["route"] == "explain"
    assert lacking["answer"]["error"].endswith("this model has no attention to show; choose a model that has")
