"""Files that are there whole or not at all, and are what they were when written."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from transformer_mt.errors import EnvironmentProblem

MANIFEST = "manifest.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a crash at any moment leaves the old content or the new one."""
    temporary = path.with_name(f".{path.name}.new")
    with writing(path):
        _write_to_disk(temporary, content)
        temporary.replace(path)
        _flush_directory(path.parent)


def write_sealed_directory(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory beside its name, flush it to disk, seal it with SHA-256 sums, and rename it into place.

    A crash at any moment leaves the old content or the new one to `read_sealed_directory`.
    """
    temporary, old = path.with_name(f".{path.name}.new"), _set_aside(path)
    with writing(path):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, content in files.items():
            _write_to_disk(temporary / name, content)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        _write_to_disk(temporary / MANIFEST, json.dumps(sums, indent=1).encode())
        _flush_directory(temporary)
        if path.exists():  # no system replaces a full directory in one step
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        temporary.rename(path)
        _flush_directory(path.parent)
        shutil.rmtree(old, ignore_errors=True)


def sealed_directories(parent: Path) -> set[str]:
    """The names below `parent` that `read_sealed_directory` can try."""
    visible = {path.name for path in parent.glob("[!.]*") if path.is_dir()}
    return visible | {path.name[1:-4] for path in parent.glob(".*.old")}


def remove_sealed_directory(path: Path) -> None:
    """Delete a sealed directory with what crashes may have left of earlier ones."""
    for directory in (_set_aside(path), path):
        if directory.exists():
            shutil.rmtree(directory)


def read_sealed_directory(path: Path) -> dict[str, bytes]:
    """The files of a sealed directory. Raises `EnvironmentProblem` naming the file that is missing or not as sealed."""
    if not path.exists() and _set_aside(path).exists():
        path = _set_aside(path)  # a crash came between the two renames
    try:
        sums = dict(json.loads((path / MANIFEST).read_bytes()))
        files = {name: (path / name).read_bytes() for name in sums}
    except FileNotFoundError as error:
        raise EnvironmentProblem(f"{error.filename}: missing; the checkpoint is incomplete") from None
    except OSError as error:
        raise EnvironmentProblem(f"{error.filename}: cannot be read ({error.strerror}); check permissions") from None
    except (ValueError, TypeError):
        raise EnvironmentProblem(f"{path / MANIFEST}: damaged; the checkpoint cannot be trusted") from None
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != sums[name]:
            raise EnvironmentProblem(f"{path / name}: damaged (its SHA-256 is not the one in {MANIFEST})")
    return files


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns a failure to write below `path` into an `EnvironmentProblem` that names the file and the reason."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{error.filename or path}: cannot be written ({error.strerror}); check disk space and permissions"
        ) from None


def _set_aside(path: Path) -> Path:
    """Where a directory waits while another takes its name."""
    return path.with_name(f".{path.name}.old")


def _write_to_disk(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
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
