"""Checksummed directories: several files that belong together, with a manifest of their SHA-256 sums."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from transformer_mt.errors import MachineError
from transformer_mt.files import (
    flush,
    flush_directory,
    make_directory,
    parse_json,
    read_regular,
    remove,
    require_directory,
    temporary_name,
    write_errors,
)

MANIFEST = "manifest.json"

_MANIFEST_LIMIT = 2**16


def write_checksummed(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory beside its name, flush it to disk, and rename it into place.

    After a crash at any moment, `restore_set_aside` leaves the old content or the new one.
    """
    temporary, old = temporary_name(path), path.with_name(f".{path.name}.old")
    sums = {name: sum_of(content) for name, content in files.items()}
    with write_errors(path):
        make_directory(path.parent)
        require_directory(path.parent)
        temporary.mkdir()
        try:
            for name, content in [*files.items(), (MANIFEST, json.dumps(sums, indent=1).encode())]:
                with (temporary / name).open("xb") as file:
                    file.write(content)
                    flush(file)
            flush_directory(temporary)
            if os.path.lexists(path):  # no system replaces a directory in one step
                remove(old)
                path.rename(old)
            temporary.rename(path)
        except (OSError, RecursionError):
            with suppress(OSError):
                remove(temporary)
            raise
        flush_directory(path.parent)
        remove(old)


def restore_set_aside(path: Path) -> None:
    """Give a directory its name back where a crash came before its successor had it; else delete it."""
    old = path.with_name(f".{path.name}.old")
    if os.path.lexists(path):
        remove(old)
    elif os.path.lexists(old):
        old.rename(path)


def read_checksummed(path: Path, limits: Mapping[str, int]) -> dict[str, bytes]:
    """The files named in `limits`, which are all that a directory holds, each of at most this many bytes.

    Raises `MachineError` naming the file that is missing, changed, too large, or not a regular file.
    """
    require_directory(path)
    try:
        sums = parse_json(read_regular(path / MANIFEST, limit=_MANIFEST_LIMIT))
    except ValueError:
        sums = None
    if not isinstance(sums, dict) or sums.keys() != limits.keys():
        raise MachineError(f"{path / MANIFEST}: damaged; the checkpoint cannot be trusted")
    files = {name: read_regular(path / name, limit=limit) for name, limit in limits.items()}
    for name, content in files.items():
        if sum_of(content) != sums[name]:
            raise MachineError(f"{path / name}: damaged (its SHA-256 is not the one in {MANIFEST})")
    return files


def sum_of(content: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
