"""A cache folder for one test."""

from pathlib import Path

import pytest


def cache_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `folder` the cache folder."""
    monkeypatch.setenv("TMT_CACHE", str(folder))
