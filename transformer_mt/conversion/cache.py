"""A run's model as CTranslate2 has it, made once and kept in the cache folder, since the run may be read-only.

It is bound to the sums of the weights, of the configuration and of the vocabulary, and made anew once the run has
trained on, in place of the earlier one. torch is imported only to make it.
"""

import json
from typing import IO, NamedTuple

from transformer_mt.config.sections import Config
from transformer_mt.conversion.package import import_ctranslate2
from transformer_mt.corpus.cache import cached_file
from transformer_mt.errors import MachineError
from transformer_mt.progress import working
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.tokenizer import Tokenizer

# How often a run is read again that meanwhile trains on, and the form of what is kept.
_ATTEMPTS, _FORM = 5, 1


class Converted(NamedTuple):
    """The configuration, the vocabulary and the files of CTranslate2's model, all of one moment of a run."""

    config: Config
    tokenizer: Tokenizer
    files: dict[str, bytes]


class _TrainedOn(Exception):  # noqa: N818 - said as it is
    """The run has other weights than a moment ago."""


def converted(run: Run, *, quantization: str | None) -> Converted:
    """The model of a run, or of its checkpoint, from the cache where it is there.

    Raises `InputError` for a model that CTranslate2 cannot compute, `MachineError` for a damaged run, for a cache that
    cannot be written, and where CTranslate2 is not installed.
    """
    for _ in range(_ATTEMPTS):
        now = run.anew()
        try:
            return _converted(now, quantization)
        except _TrainedOn:
            continue
    raise MachineError(f"{run.path}: is written again and again; wait until training has ended")


def _converted(run: Run, quantization: str | None) -> Converted:
    sums = run.sums()
    config, tokenizer = run.config(), run.tokenizer()

    def write(file: IO[bytes]) -> None:
        from transformer_mt.conversion.ctranslate2 import model_files
        from transformer_mt.runs.weights import digest, weights_of

        trained = run.load()
        if digest(weights_of(trained.model)) != sums.get("tensors"):
            raise _TrainedOn
        tokens = tokenizer.pieces(range(tokenizer.size))
        with working(f"converting {run.path} for CTranslate2"):
            files = model_files(trained.model, config.model, tokens, quantization=quantization)
        head = json.dumps({name: len(content) for name, content in files.items()}).encode()
        file.writelines((len(head).to_bytes(8, "little"), head, *files.values()))

    key = json.dumps(["ctranslate2", _FORM, import_ctranslate2().__version__, quantization, sums], sort_keys=True)
    owner = f"{run.model_path.resolve()} {quantization}"
    return Converted(config, tokenizer, cached_file(key, ".ctranslate2", write=write, read=_unpacked, owner=owner))


def _unpacked(view: memoryview) -> dict[str, bytes]:
    start = 8 + int.from_bytes(view[:8], "little")
    files = {}
    for name, size in json.loads(bytes(view[8:start])).items():
        files[name] = bytes(view[start : start + size])
        start += size
    return files
