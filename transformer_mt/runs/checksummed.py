"""Checksummed directories: several files that belong together, with a manifest of their SHA-256 sums."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from transformer_mt.errors import MachineError
from transformer_mt.files import (
    flush,
    flush_directory,
    make_directory,
    original_name,
    parse_json,
    read_regular,
    remove,
    require_directory,
    temporary_name,
    write_errors,
)

MANIFEST = "manifest.json"

_SET_ASIDE = re.compile(r"\.(.+)\.old")
_MANIFEST_LIMIT = 2**16


def write_checksummed(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory beside its name, flush it to disk, and rename it into place.

    A crash at any moment leaves the old content or the new one to `read_checksummed`.
    """
    temporary, old = temporary_name(path), _set_aside(path)
    sums = {name: _sum(content) for name, content in files.items()}
    with write_errors(path, temporary):
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


def read_checksummed(path: Path, limits: Mapping[str, int]) -> dict[str, bytes]:
    """The files named in `limits`, which are all that a directory holds, each of at most this many bytes.

    Raises `MachineError` naming the file that is missing, changed, too large, or not a regular file.
    """
    if not os.path.lexists(path) and os.path.lexists(_set_aside(path)):
        path = _set_aside(path)  # a crash came between the two renames
    require_directory(path)
    try:
        sums = parse_json(read_regular(path / MANIFEST, limit=_MANIFEST_LIMIT))
    except ValueError:
        sums = None
    if not isinstance(sums, dict) or sums.keys() != limits.keys():
        raise MachineError(f"{path / MANIFEST}: damaged; the checkpoint cannot be trusted")
    files = {name: read_regular(path / name, limit=limit) for name, limit in limits.items()}
    for name, content in files.items():
        if _sum(content) != sums[name]:
            raise MachineError(f"{path / name}: damaged (its SHA-256 is not the one in {MANIFEST})")
    return files


def checksummed_names(parent: Path) -> set[str]:
    """The names below `parent` that `read_checksummed` can try. Raises where `parent` is not a directory."""
    if not os.path.lexists(parent):
        return set()
    require_directory(parent)
    names: list[str] = []
    with suppress(FileNotFoundError):  # another process may just have deleted it
        names = os.listdir(parent)
    aside = {match[1] for name in names if (match := _SET_ASIDE.fullmatch(name))}
    return aside | {name for name in names if not name.startswith(".")}


def remove_checksummed(path: Path) -> None:
    """Delete a directory with what a crash may have left of an earlier one."""
    remove(_set_aside(path))
    remove(path)


def remove_leftovers(directory: Path, names: str) -> None:
    """Delete what crashes left of writing files and directories whose names match. For the only writer here."""
    with write_errors(directory):
        for leftover in os.listdir(directory):
            replaced = _SET_ASIDE.fullmatch(leftover)
            name = replaced[1] if replaced and os.path.lexists(directory / replaced[1]) else original_name(leftover)
            if name != leftover and re.fullmatch(names, name):
                remove(directory / leftover)


def _set_aside(path: Path) -> Path:
    """Where a directory waits while another takes its name."""
    return path.with_name(f".{path.name}.old")


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
