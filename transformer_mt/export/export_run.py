"""Export of a run as a folder for CTranslate2."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError, MachineError
from transformer_mt.export.ctranslate2_engine import CTranslate2Engine
from transformer_mt.export.ctranslate2_package import import_ctranslate2, require_quantization
from transformer_mt.export.ctranslate2_weights import model_files
from transformer_mt.export.parity import SAME, TIE, Parity, compare
from transformer_mt.files import (
    make_directory,
    original_name,
    remove,
    rename,
    require_directory,
    set_aside,
    write_directory,
    write_errors,
)
from transformer_mt.runs.directory import TOKENIZER, Run
from transformer_mt.text import normalize as normalization
from transformer_mt.tokenizer.two_models import TwoModels
from transformer_mt.translation.model import Model

PARITY, SCRIPT, NORMALIZE = "parity.json", "translate.py", "normalize.py"


FILES = frozenset(("config.json", "model.bin", "shared_vocabulary.json", TOKENIZER, SCRIPT, NORMALIZE, PARITY))


USE = '''\
"""Translates sentences: python translate.py "Ein Satz." "Noch einer." (pip install ctranslate2 sentencepiece)"""
import sys, ctranslate2, sentencepiece
from normalize import normalize
folder = __file__.removesuffix("translate.py")
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}tokenizer.model")
read, write = pieces.encode([normalize(text) for text in sys.argv[1:]], out_type=str), pieces.decode
for found in ctranslate2.Translator(folder).translate_batch(read, beam_size=BEAM, max_decoding_length=LONGEST):
    print(write(found.hypotheses[0]))
'''


def export_run(run: Run, folder: Path, pairs: Pairs, *, quantization: str | None) -> Parity:
    """Export a run, or its checkpoint, for CTranslate2 to a folder, after comparing the translations of both programs.

    Replaces an earlier export; call `require_possible` first. Raises `InputError` for a model that CTranslate2 does not
    support or a folder with other files, `MachineError` if less than `SAME` of the translations in float32 are equal or
    writing fails.
    """
    opened = Model.open(run, device="cpu")
    config, tokenizer = opened.config, opened.tokenizer
    if isinstance(tokenizer, TwoModels):
        raise InputError(run.path, "the script cannot read an imported vocabulary", "use --engine ctranslate2")
    tokens = tokenizer.pieces(range(tokenizer.size))
    files = model_files(opened.network, config.model, tokens, quantization=quantization)
    engine = CTranslate2Engine(
        files, tokens=tokens, max_length=config.model.max_length, device="cpu", quantization=quantization
    )
    parity = compare(opened, replace(opened, engine=engine), pairs, quantization=quantization)
    greedy = parity.greedy
    others = [one for one in greedy.differences if abs(one.gap) > TIE]
    if quantization is None and len(others) > (1 - SAME) * greedy.sentences:
        first = others[0]
        shown = f"{first.source!r} is {first.ours!r} here and {first.theirs!r} there"
        problem = f"only {greedy.same} of {greedy.sentences} translations are the same, first difference: {shown}"
        raise MachineError(folder, f"not written, because {problem}", "please report it")
    longest = min(config.search.max_length, config.model.max_length) - 1
    script = USE.replace("LONGEST", str(longest)).replace("BEAM", str(config.search.beam))
    files |= {TOKENIZER: tokenizer.serialized, SCRIPT: script.encode()}
    files |= {NORMALIZE: Path(normalization.__file__).read_bytes()}
    files |= {PARITY: f"{json.dumps(asdict(parity), ensure_ascii=False, indent=1)}\n".encode("utf-8", "replace")}
    with write_errors(folder):
        make_directory(folder.parent)
        for path in folder.parent.iterdir():
            if original_name(path.name) == folder.name != path.name and _is_export(path):  # left by a killed export
                remove(path)
    if os.path.lexists(folder):  # comparing takes minutes; check again
        _require_export(folder)
    write_directory(folder, files)
    return parity


def require_possible(folder: Path, *, quantization: str | None, overwrite: bool) -> None:
    """Check that an export may be written, before reading anything else.

    First restores a folder that a killed export has set aside. Raises `InputError` for a folder that exists (without
    `overwrite`) or has other files, and for an unknown quantization; `MachineError` if CTranslate2 is not installed.
    """
    require_quantization(quantization)
    import_ctranslate2()
    if folder.name in ("", ".."):
        raise InputError(folder, "does not end in a name", "give the folder by its name")
    if os.path.lexists(old := set_aside(folder)):
        _require_export(old)
        if not os.path.lexists(folder):
            with write_errors(folder):
                rename(old, folder)
    if os.path.lexists(folder):
        if not overwrite:
            raise InputError(folder, "exists already", "give another name, or overwrite it")
        _require_export(folder)


def _is_export(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not _foreign(path)


def _require_export(folder: Path) -> None:
    require_directory(folder)
    if others := _foreign(folder):
        raise InputError(folder, f"{others[0]} is not part of an export and would be deleted", "give another folder")


def _foreign(folder: Path) -> list[str]:
    """The entries of a folder that are not files of an export; directories and links count even if the name fits."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if entry.name not in FILES or not entry.is_file(follow_symlinks=False)
        )
