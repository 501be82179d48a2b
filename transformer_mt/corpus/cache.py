"""The folder where corpora are kept between two starts, and how things come into it whole."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer_mt.errors import EnvironmentProblem

VARIABLE = "TMT_CACHE"


def cache_folder() -> Path:
    """`$TMT_CACHE`, or `tmt` in the user's folder for caches."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tmt"


def new_folder() -> Path:
    """An empty folder in the cache with a name of its own, for who makes it to delete or rename."""
    folder = cache_folder() / f"{secrets.token_hex(8)}.new"
    with cache_problems():
        folder.mkdir(parents=True)
    return folder


@contextmanager
def cache_problems() -> Iterator[None]:
    """Report a cache that cannot be written in one line."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{cache_folder()}: cannot be written ({error.strerror or error}); free some space or set {VARIABLE} to "
            "another folder"
        ) from None
