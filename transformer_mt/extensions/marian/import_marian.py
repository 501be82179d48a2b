"""Writes a run with the model of a folder."""

import os
from pathlib import Path

from transformer_mt.corpus.pairs import Fingerprint
from transformer_mt.extensions.marian.marian_folder import configuration, read_settings, read_vocabulary
from transformer_mt.extensions.marian.marian_weights import read_weights
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.directory import MODEL, Run
from transformer_mt.runs.fingerprints import DataRecord


def import_marian(folder: Path, path: Path) -> Run:
    """Write the Marian model in a folder as a run to `path`.

    Raises `InputError` if the path exists and is not an empty directory, and for a model that tmt does not support;
    `MachineError` for damaged files and if writing fails.
    """
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(path, "exists", "choose another directory")
    if not folder.is_dir():
        raise InputError(folder, "no such directory", "give a folder with a Marian model")
    if not os.path.lexists(folder / MODEL):
        problem = "missing (tmt refuses a pytorch_model.bin: it is a pickle and could run any program)"
        raise InputError(folder / MODEL, problem, "save the model with safetensors, in one file")
    try:
        settings, vocabulary = read_settings(folder)
        tokenizer, ids = read_vocabulary(folder, vocabulary)
        config = configuration(folder, settings, tokens=tokenizer.size)
        weights = read_weights(folder, config, ids)
    except MachineError as error:
        raise MachineError(error.key, error.problem, "copy the whole model again, without links") from None
    run = Run.create(path, config, tokenizer, DataRecord({"train": Fingerprint(0, "", b"")}, {}), None)
    run.save_model(weights)
    return run
