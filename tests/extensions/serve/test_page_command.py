"""`tmt page`: the page of one sentence in a file."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

from support.command_line import Tmt
from support.tiny import write_run

SOURCE = "Der Hund schläft."
TARGET = "The dog sleeps."


def test_only_pages_are_replaced(home: Path, tmt: Tmt) -> None:
    outcome = tmt("page", "letters.de", SOURCE, "--model", str(home / "runs/one"))
    assert outcome.mistake == "letters.de: not the name of a page; end it in .html"


def saved(page: Path) -> list[dict[str, Any]]:
    """The answers stored in a saved page."""
    (packed,) = re.findall(r'id="saved">(.*)</script>', page.read_text("utf-8"))
    found: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def test_page_of_a_model_without_attention(tmp_path: Path, tmt: Tmt) -> None:
    run = write_run(tmp_path / "none", "model.kind=recurrent", "model.score=none")
    file = tmp_path / "a.html"
    assert tmt("page", str(file), "--model", str(run), SOURCE, "--target", TARGET, "--method", "erasure").code == 0
    (lacking,) = (one for one in saved(file) if "error" in one["answer"])
    assert lacking["route"] == "explain"
    assert lacking["answer"]["error"].endswith("this model has no attention to show; choose a model that has")
