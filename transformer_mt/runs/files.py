"""Files that are there whole or not at all, and are what they were when written.

Everything is written under a name that nobody can foresee, and then renamed: a link that stands at the file's name, or
at the temporary one, is never followed, and of several writers the last to rename wins.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from transformer_mt.errors import MachineError
from transformer_mt.runs.reading import parse_json, read_regular, require_directory

MANIFEST = "manifest.json"

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}\.new")
_SET_ASIDE = re.compile(r"\.(.+)\.old")
_MANIFEST_LIMIT = 2**16


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a crash at any moment leaves the old content or the new one."""
    temporary = _temporary(path)
    with writing(path, temporary):
        _write_to_disk(temporary, content)
        temporary.replace(path)
        _flush_directory(path.parent)


def write_sealed_directory(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory beside its name, flush it to disk, seal it with SHA-256 sums, and rename it into place.

    A crash at any moment leaves the old content or the new one to `read_sealed_directory`.
    """
    temporary, old = _temporary(path), _set_aside(path)
    with writing(path, temporary):
        make_directory(path.parent)
        require_directory(path.parent)
        temporary.mkdir()
        for name, content in files.items():
            _write_to_disk(temporary / name, content)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        _write_to_disk(temporary / MANIFEST, json.dumps(sums, indent=1).encode())
        _flush_directory(temporary)
        if os.path.lexists(path):  # no system replaces a full directory in one step
            remove(old)
            path.rename(old)
        temporary.rename(path)
        _flush_directory(path.parent)
        remove(old)


def sealed_directories(parent: Path) -> set[str]:
    """The names below `parent` that `read_sealed_directory` can try. Raises where `parent` is no directory."""
    if not os.path.lexists(parent):
        return set()
    require_directory(parent)
    names: list[str] = []
    with suppress(FileNotFoundError):  # another process may just have deleted it
        names = os.listdir(parent)
    aside = {found[1] for name in names if (found := _SET_ASIDE.fullmatch(name))}
    return aside | {name for name in names if not name.startswith(".")}


def remove_sealed_directory(path: Path) -> None:
    """Delete a sealed directory with what crashes may have left of earlier ones."""
    for directory in (_set_aside(path), path):
        remove(directory)


def read_sealed_directory(path: Path, limits: Mapping[str, int], *, others: Collection[str] = ()) -> dict[str, bytes]:
    """The files of a sealed directory, which are those of `limits`, each of at most so many bytes, and `others`.

    Those others are not read.

    Raises `MachineError` naming the file that is missing, not what was sealed, or no regular file at all.
    """
    if not os.path.lexists(path) and os.path.lexists(_set_aside(path)):
        path = _set_aside(path)  # a crash came between the two renames
    require_directory(path)
    try:
        sums = parse_json(read_regular(path / MANIFEST, limit=_MANIFEST_LIMIT))
    except ValueError:
        sums = None
    if not isinstance(sums, dict) or sums.keys() != {*limits, *others}:
        raise MachineError(f"{path / MANIFEST}: damaged; the checkpoint cannot be trusted")
    files = {}
    for name, limit in limits.items():
        files[name] = read_regular(path / name, limit=limit)
        if hashlib.sha256(files[name]).hexdigest() != sums[name]:
            raise MachineError(f"{path / name}: damaged (its SHA-256 is not the one in {MANIFEST})")
    return files


def make_directory(path: Path) -> None:
    """Make a directory where there is none, with its parents; their entries are flushed to disk."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        _flush_directory(directory.parent)


def remove(path: Path) -> None:
    """Delete what stands there, if anything does: a directory with all it holds, of a link only the link."""
    if not os.path.lexists(path):
        return
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()


def original_name(name: str) -> str:
    """The name for which a temporary one stands; any other as it is."""
    found = _TEMPORARY.fullmatch(name)
    return found[1] if found else name


def remove_leftovers(directory: Path, names: str) -> None:
    """Delete what crashes have left of writing the names that the pattern matches. For the only writer here."""
    with writing(directory):
        for leftover in os.listdir(directory):
            replaced = _SET_ASIDE.fullmatch(leftover)
            name = replaced[1] if replaced and os.path.lexists(directory / replaced[1]) else original_name(leftover)
            if name != leftover and re.fullmatch(names, name):
                remove(directory / leftover)


@contextmanager
def writing(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Turns a failure to write below `path` into a `MachineError` that names the file and the reason.

    What has been written to `temporary` until then is deleted.
    """
    try:
        yield
    except (OSError, RecursionError) as error:
        if temporary is not None:
            with suppress(OSError):
                remove(temporary)
        if isinstance(error, RecursionError):  # how Python deletes directories within directories
            raise MachineError(f"{path}: holds directories too deep to delete; delete it by hand") from None
        place = error.filename or path
        if temporary is not None and str(place).startswith(str(temporary)):
            place = path
        raise MachineError(f"{place}: cannot be written ({error.strerror}); check disk space and permissions") from None


def _temporary(path: Path) -> Path:
    """A name beside the file's own that nothing has and nobody can foresee; `original_name` reads it back."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")


def _set_aside(path: Path) -> Path:
    """Where a directory waits while another takes its name."""
    return path.with_name(f".{path.name}.old")


def _write_to_disk(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_directory(path: Path) -> None:
    if os.name != "posix":  # Windows has no handle for directories
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
