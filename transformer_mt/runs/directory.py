"""A run directory: everything that training leaves and translation needs, in one folder that can be copied.

    config.toml          the resolved configuration
    tokenizer.model      the sentencepiece vocabulary
    data.json            fingerprints of the data, and what cleaning found
    data.safetensors     the digests of its rows
    words.tsv            the words of the training data, with their counts
    model.safetensors    the weights to use
    alignment.json       the cross-attention heads that link words
    metrics.jsonl        one JSON object a line: what training measured
    tensorboard/         the same for TensorBoard, where training.tensorboard asks for it
    train.log            one line each, with the time: what training said
    checkpoints/step-N/  the weights of a step, and of the newest two all that exact resumption needs
    training.lock        who trains here, held as long as that lasts

Only safetensors, JSON, TOML and sentencepiece: nothing in it can execute.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import dump_config, leaves, parse_written_config
from transformer_mt.corpus.word_counts import SeenWords, TrainingWords
from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import (
    OPEN_FLAGS,
    make_directory,
    open_regular,
    parse_json,
    read_regular,
    remove,
    write_atomically,
    write_errors,
)
from transformer_mt.models.build import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads, read_alignment
from transformer_mt.runs.checksummed import checksummed_names, remove_leftovers
from transformer_mt.runs.data import DATA, ROWS, DataRecord, read_record
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.weights import (
    TensorSpecs,
    digest,
    load_weights,
    misfit,
    pack,
    saved_sums,
    size_limit,
    specs_of,
    unpack,
    weights_of,
)
from transformer_mt.runs.words import WORDS, pack_words, read_seen_words, read_words
from transformer_mt.tokenizer.tokenizer import Tokenizer

CONFIG, TOKENIZER, MODEL, METRICS = "config.toml", "tokenizer.model", "model.safetensors", "metrics.jsonl"
TENSORBOARD, TRAIN_LOG, CHECKPOINTS = "tensorboard", "train.log", "checkpoints"
CHECKPOINT_NAME = r"step-(0|[1-9][0-9]{0,15})"
PARTS = (CONFIG, TOKENIZER, DATA, ROWS, WORDS, MODEL, ALIGNMENT, METRICS, TENSORBOARD, TRAIN_LOG, CHECKPOINTS, LOCK)

# The most bytes that each file may have.
_LIMITS = {CONFIG: 2**20, TOKENIZER: 2**26, METRICS: 2**28, MODEL: 2**42}
_LONGEST_METRICS_LINE = 2**20
# A layer takes more bytes than this in a file: four tensors, each with its name, type and shape.
_BYTES_A_LAYER = 4 * 50
# How often, and after how many seconds, a run is read again that was being replaced while we read it.
_ATTEMPTS, _PAUSE = 5, 0.2
# What the sum of the weights is called in their file, beside those of the configuration and the vocabulary.
_TENSORS = "tensors"


class ForeignFileError(MachineError):
    """A file of a run is not the one that the weights were saved with."""


@dataclass(frozen=True)
class TrainedModel:
    """What a run has come to, all of one moment."""

    config: Config
    tokenizer: Tokenizer
    model: Seq2Seq


class Run:
    """The files of one training run below `path`, each a regular file of bounded size and checked before it is used.

    model.safetensors holds the SHA-256 sums of its tensors and of the configuration and the vocabulary that they belong
    to, and is replaced in one step: readers compare the sums, and so never mix files of different moments, also without
    a lock and while another process overwrites the run.
    """

    def __init__(self, path: Path, step: int | None = None) -> None:
        """With a step, the run as it was there: `load` gives the weights of that step's checkpoint."""
        self.path = path
        self.model_path = path / MODEL if step is None else path / CHECKPOINTS / f"step-{step}" / MODEL

    @classmethod
    def create(
        cls, path: Path, config: Config, tokenizer: Tokenizer, data: DataRecord, words: TrainingWords | None
    ) -> "Run":
        """Make a run directory. The configuration is written last: where it stands, the rest of the start does too."""
        run = cls(path)
        with write_errors(path):
            make_directory(path / CHECKPOINTS)
        files = {TOKENIZER: tokenizer.serialized, **data.files()}
        files |= {} if words is None else {WORDS: pack_words(words)}
        for name, content in (files | {CONFIG: dump_config(config).encode()}).items():
            write_atomically(path / name, content)
        return run

    @classmethod
    def open(cls, path: Path) -> "Run":
        """An existing run. Raises `InputError` when the directory is missing or not a run."""
        if not path.is_dir():
            raise InputError(f"{path}: no such directory; train a model with: tmt train --run-dir {path}")
        if not cls(path).exists():
            raise InputError(f"{path}: not a run directory (no {CONFIG}); give the directory that tmt train wrote")
        return cls(path)

    def exists(self) -> bool:
        """Whether training has begun here."""
        return os.path.lexists(self.path / CONFIG)

    def has_model(self) -> bool:
        """Whether there are weights to use."""
        return os.path.lexists(self.model_path)

    def config(self) -> Config:
        """The configuration that the run was started with."""
        return parse_written_config(self._read(CONFIG), place=str(self.path / CONFIG))

    def tokenizer(self) -> Tokenizer:
        """The run's vocabulary. Raises `MachineError` when the weights, if there are any, belong to another."""
        content = self._read(TOKENIZER)
        if self.has_model():
            with self._open_weights(_sums_of({TOKENIZER: content})):
                pass
        return Tokenizer.parse(content, place=str(self.path / TOKENIZER))

    def data(self) -> DataRecord:
        """What the run remembers of its data."""
        return read_record(self.path)

    def words(self) -> TrainingWords | None:
        """The words of the training data; None where they are not known."""
        return read_words(self.path / WORDS) if os.path.lexists(self.path / WORDS) else None

    def seen_words(self) -> SeenWords | None:
        """The words of its sources, to look others up; None where they are not known."""
        return read_seen_words(self.path / WORDS) if os.path.lexists(self.path / WORDS) else None

    def alignment(self) -> AlignmentHeads | None:
        """The heads that link words; None before training ends."""
        return read_alignment(self.path / ALIGNMENT) if os.path.lexists(self.path / ALIGNMENT) else None

    def save_alignment(self, heads: AlignmentHeads) -> None:
        """Replace the heads that link words."""
        write_atomically(self.path / ALIGNMENT, heads.model_dump_json().encode())

    def load(self) -> TrainedModel:
        """The configuration, the vocabulary and the model with the weights to use, which belong together.

        Raises `MachineError` for a damaged, exchanged or dangerous file, `InputError` where training has not come
        to the first validation.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(ForeignFileError):
                return self._load()
            time.sleep(_PAUSE)
        return self._load()

    def _load(self) -> TrainedModel:
        contents = {name: self._read(name) for name in (CONFIG, TOKENIZER)}
        if not self.has_model():
            raise InputError(
                f"{self.model_path}: missing; training has not yet reached a validation: continue it with tmt train"
            )
        with self._open_weights(_sums_of(contents)) as (file, sums):
            config = parse_written_config(contents[CONFIG], place=str(self.path / CONFIG))
            tokenizer = Tokenizer.parse(contents[TOKENIZER], place=str(self.path / TOKENIZER))
            build = partial(build_model, config.model, vocabulary_size=tokenizer.size)
            layers = sum(value for key, value in leaves(config.model) if key.endswith("layers"))
            # No weights fit where the file cannot hold this many layers, which would take long to build.
            specs = {}
            if layers * _BYTES_A_LAYER <= _size_of(file):
                with torch.device("meta"):  # without memory
                    specs = specs_of(weights_of(build()))
            weights = self._read_weights(file, specs, sums)
        model = build()
        load_weights(model, weights)
        return TrainedModel(config, tokenizer, model.eval())

    def read_weights(self, specs: TensorSpecs) -> dict[str, Tensor]:
        """The weights alone. Raises `MachineError` unless they are undamaged, the run's own, and fit the specs."""
        with self._open_weights(self.sums) as (file, sums):
            return self._read_weights(file, specs, sums)

    def _read_weights(self, file: BufferedReader, specs: TensorSpecs, sums: Mapping[str, str]) -> dict[str, Tensor]:
        if _size_of(file) > size_limit(specs):
            raise misfit(self.model_path)
        file.seek(0)
        weights = unpack(file.read(_size_of(file)), specs, path=self.model_path)
        if digest(weights) != sums[_TENSORS]:
            raise MachineError(
                f"{self.model_path}: damaged (its SHA-256 is not the one in it); restore it or train anew"
            )
        return weights

    @contextmanager
    def _open_weights(self, own: Mapping[str, str]) -> Iterator[tuple[BufferedReader, dict[str, str]]]:
        """The file of weights and the sums in it. Raises `ForeignFileError` unless they include the run's `own`."""
        with open_regular(self.model_path, limit=_LIMITS[MODEL]) as file:
            sums = saved_sums(file)
            if not sums.keys() >= {CONFIG, TOKENIZER, _TENSORS}:
                raise MachineError(
                    f"{self.model_path}: damaged, or of another version of tmt (it does not name the files it belongs "
                    "to); restore it or train anew"
                )
            for name in own:
                if sums[name] != own[name]:
                    raise ForeignFileError(
                        f"{self.path / name}: not the one that {MODEL} was saved with; restore both from the same run, "
                        "or train anew"
                    )
            yield file, sums

    def save_model(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights to use."""
        write_atomically(self.path / MODEL, self.pack_model(weights))

    def pack_model(self, weights: Mapping[str, Tensor]) -> bytes:
        """Weights as a file, with the sums of the configuration and the vocabulary that they belong to."""
        return pack(weights, {**self.sums, _TENSORS: digest(weights)})

    @cached_property
    def sums(self) -> dict[str, str]:
        """The sums of the files that weights belong to, when they were first read: later damage is noticed."""
        return _sums_of({name: self._read(name) for name in (CONFIG, TOKENIZER)})

    def _read(self, name: str) -> bytes:
        return read_regular(self.path / name, limit=_LIMITS[name])

    def log(self, step: int, record: Mapping[str, Any]) -> None:
        """Append a line to the metrics."""
        self._append(METRICS, json.dumps({"step": step, **record}, ensure_ascii=False))

    def say(self, *lines: str) -> None:
        """Append printable lines to the log for people, each with the time."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._append(TRAIN_LOG, *(f"{now} {line}" for line in lines))

    def _append(self, name: str, *lines: str) -> None:
        path = self.path / name
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | OPEN_FLAGS
        with write_errors(path), os.fdopen(os.open(path, flags), "ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of the metrics; truncated lines and other records are skipped."""
        content = self._read(METRICS) if os.path.lexists(self.path / METRICS) else b""
        return [record for line in content.split(b"\n") if (record := _parse(line)) is not None]

    def forget_metrics_after(self, step: int) -> None:
        """Drop the lines of steps that training is about to repeat."""
        kept = [record for record in self.metrics() if record["step"] <= step]
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        write_atomically(self.path / METRICS, "".join(lines).encode())

    def clear(self) -> None:
        """Delete what a run consists of, and nothing else that may lie in the directory."""
        with write_errors(self.path):
            for name in PARTS:  # the configuration first: without it, it is no run
                if name != LOCK:
                    remove(self.path / name)

    def remove_leftovers(self) -> None:
        """Delete what crashes have left half-written. Only for who alone trains here."""
        remove_leftovers(self.path, "|".join(map(re.escape, PARTS)))


def _sums_of(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def newest_run(root: Path) -> Run:
    """The run below `root` whose weights were written last. Raises `InputError` when there is none."""
    found = [(path.lstat().st_mtime, path.parent) for path in root.glob(f"*/{MODEL}") if not path.is_symlink()]
    if not found:
        raise InputError(f"{root}: no trained model here; train one with: tmt train")
    return Run(max(found)[1])


def saved_steps(checkpoints: Path) -> list[int]:
    """The steps that have a checkpoint, complete or the weights alone, the newest last."""
    names = checksummed_names(checkpoints)
    return sorted(int(match[1]) for name in names if (match := re.fullmatch(CHECKPOINT_NAME, name)))


def find_run(path: Path) -> Run:
    """The run in a directory, or at the checkpoint `…/checkpoints/step-N` of one.

    Raises `InputError` for a directory that is neither, and for a step without a checkpoint.
    """
    place = path.absolute()
    named = re.fullmatch(CHECKPOINT_NAME, place.name)
    if not (named and place.parent.name == CHECKPOINTS):
        return Run.open(path)
    run = Run.open(Path(os.path.normpath(path / "../..")))
    if int(named[1]) not in (steps := saved_steps(run.path / CHECKPOINTS)):
        there = ", ".join(f"step-{step}" for step in steps) or "none"
        raise InputError(f"{path}: no such checkpoint; there are: {there}")
    return Run(run.path, int(named[1]))


def _size_of(file: BufferedReader) -> int:
    return os.fstat(file.fileno()).st_size


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = parse_json(line) if len(line) <= _LONGEST_METRICS_LINE else None
    except ValueError:
        return None
    measured = isinstance(record, dict) and type(record.get("step")) is int and isinstance(record.get("kind"), str)
    return record if measured else None
