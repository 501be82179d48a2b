"""Export of a run as a folder for another program."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.extensions.export.export_formats import formats
from transformer_mt.extensions.export.parity import MOST_DIFFERENT, Parity, compare
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import (
    make_directory,
    original_name,
    remove,
    rename,
    require_directory,
    set_aside,
    write_directory,
    write_errors,
)
from transformer_mt.ground.registry import lookup
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.model import Model

PARITY = "parity.json"


def export_run(run: Run, folder: Path, pairs: Pairs, *, to: str, quantization: str | None = None) -> Parity:
    """Export a run, or its checkpoint, to a folder for the program `to`, after comparing both programs.

    Replaces an earlier export; call `require_possible` first. Raises `InputError` for a model that the program does not
    support or a folder with other files, `MachineError` if more than `MOST_DIFFERENT` of the texts have other tokens
    or, in float32, other translations, or if writing fails.
    """
    opened = Model.open(run, device="cpu")
    form = formats()[to]
    if type(opened.tokenizer) is not Tokenizer:
        raise InputError(run.path, f"an imported vocabulary cannot be exported to {to}", "use the folder it comes from")
    files, engine = form.convert(opened, quantization)
    parity = compare(opened, replace(opened, engine=engine), [pair.source for pair in pairs], quantization=quantization)
    _require_parity(parity, folder)
    files |= form.describe(opened)
    files |= {PARITY: f"{json.dumps(asdict(parity), ensure_ascii=False, indent=1)}\n".encode("utf-8", "replace")}
    with write_errors(folder):
        make_directory(folder.parent)
        for path in folder.parent.iterdir():
            is_temporary = original_name(path.name) == folder.name != path.name  # left by a killed export
            if is_temporary and path.is_dir() and not path.is_symlink() and not _foreign(path):
                remove(path)
    if os.path.lexists(folder):  # comparing takes a while; check again
        _require_export(folder)
    write_directory(folder, files)
    return parity


def _require_parity(parity: Parity, folder: Path) -> None:
    if len(texts := parity.read_differently or ()) > MOST_DIFFERENT:
        problem = f"{len(texts)} of {parity.sentences} texts have other tokens there, such as {texts[0]!r}"
        raise MachineError(folder, f"not written, because {problem}", "please report it")
    if parity.quantization is None and len(parity.differences) > MOST_DIFFERENT:
        first = parity.differences[0]
        shown = f"{first.source!r} is {first.ours!r} here and {first.theirs!r} there"
        problem = f"only {parity.same} of {parity.sentences} translations are the same, first difference: {shown}"
        raise MachineError(folder, f"not written, because {problem}", "please report it")


def require_possible(folder: Path, *, to: str, quantization: str | None, overwrite: bool) -> None:
    """Check that an export may be written, before reading anything else.

    First restores a folder that a killed export has set aside. Raises `InputError` for a folder that exists (without
    `overwrite`) or has other files, and for an unknown program or quantization; `MachineError` if the program is not
    installed.
    """
    lookup(formats(), to, key="to").require(quantization)
    if folder.name in ("", ".."):
        raise InputError(folder, "does not end in a name", "give the folder by its name")
    if os.path.lexists(old := set_aside(folder)):
        _require_export(old)
        if not os.path.lexists(folder):
            with write_errors(folder):
                rename(old, folder)
    if os.path.lexists(folder):
        if not overwrite:
            raise InputError(folder, "exists already", "give another name, or --overwrite")
        _require_export(folder)


def _require_export(folder: Path) -> None:
    require_directory(folder)
    if others := _foreign(folder):
        raise InputError(folder, f"{others[0]} is not part of an export and would be deleted", "give another folder")
    if os.listdir(folder) and not (folder / PARITY).is_file():
        raise InputError(folder, f"without {PARITY} it is no export, and would be deleted", "give another folder")


def _foreign(folder: Path) -> list[str]:
    """The entries of a folder that are not files of an export; directories and links count even if the name fits."""
    files = {PARITY}.union(*(form.files for form in formats().values()))
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if entry.name not in files or not entry.is_file(follow_symlinks=False)
        )
