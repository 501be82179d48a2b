"""Cache of run models in CTranslate2's format, outside the run, which may be read-only.

The key includes the checksums of weights, configuration and vocabulary: if these change, the model is converted again
and replaces the old one. torch is imported only for conversion.
"""

import json
from typing import IO

import numpy as np
import safetensors.numpy

from transformer_mt.extensions.ctranslate2.ctranslate2_package import import_ctranslate2
from transformer_mt.ground.cache import cached_file
from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.progress import working
from transformer_mt.runs.directory import Run

_FORM = 2  # version of the cached format


def converted(run: Run, *, quantization: str | None) -> dict[str, bytes]:
    """Convert the model of a run, or of its checkpoint, to CTranslate2's files; cached.

    Raises `InputError` for a model that CTranslate2 does not support, `MachineError` for a damaged run, one that is
    written meanwhile, a cache that cannot be written, and if CTranslate2 is not installed.
    """
    sums = run.sums()
    config = run.config()
    tokenizer = run.tokenizer()

    def write(file: IO[bytes]) -> None:
        from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
        from transformer_mt.runs.weights import digest, weights_of

        network = run.network()
        if digest(weights_of(network)) != sums.get("tensors"):
            raise MachineError(run.path, "has just been overwritten", "try again")
        tokens = tokenizer.pieces(range(tokenizer.size))
        with working(f"converting {run.path} for CTranslate2"):
            files = model_files(network, config.model, tokens, quantization=quantization)
        file.write(safetensors.numpy.save({name: np.frombuffer(own, np.uint8) for name, own in files.items()}))

    key = json.dumps(["ctranslate2", _FORM, import_ctranslate2().__version__, quantization, sums], sort_keys=True)
    owner = f"{run.model_path.resolve()} {quantization}"
    return cached_file(key, ".ctranslate2", write=write, read=_unpacked, owner=owner)


def _unpacked(view: memoryview) -> dict[str, bytes]:
    return {name: own.tobytes() for name, own in safetensors.numpy.load(bytes(view)).items()}
