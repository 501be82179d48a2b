"""The cache folder in a place of the test's own."""

from pathlib import Path

import pytest


def cache_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `folder` the cache folder."""
    monkeypatch.setenv("TMT_CACHE", str(folder))
