"""A run directory: everything that training leaves and translation needs, in one folder that can be copied.

    config.toml          the resolved configuration
    tokenizer.model      the sentencepiece vocabulary
    data.json            fingerprints of the data, and the report of cleaning
    data.safetensors     the digests of its rows
    words.tsv            the words of the training data, with their counts
    model.safetensors    the weights to use
    alignment.json       the cross-attention heads that link words
    metrics.jsonl        the measurements of training, one JSON object a line
    tensorboard/         the same for TensorBoard, where training.tensorboard asks for it
    train.log            the messages of training, each with the time
    checkpoints/step-N/  the weights of a step, and of the newest two all that exact resumption needs
    training.lock        held as long as a process trains here

Only safetensors, JSON, TOML and sentencepiece: nothing in it can execute.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import dump_config, parse_written_config
from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.errors import InputError, MachineError
from transformer_mt.files import (
    LONGEST_LINE,
    OPEN_FLAGS,
    make_directory,
    original_name,
    read_regular,
    remove,
    replacing,
    require_directory,
    require_own,
    set_aside,
    size_of,
    write_atomically,
    write_errors,
)
from transformer_mt.memory import free_memory, require
from transformer_mt.plugins import naming_plugins
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads
from transformer_mt.runs.checksums import require_intact, saved_sums, sha256
from transformer_mt.runs.fingerprints import DATA, ROWS, DataRecord
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.words import WORDS, pack_words, unpack_words
from transformer_mt.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq
    from transformer_mt.runs.weights import Tensors, TensorSpecs

CONFIG, TOKENIZER, MODEL, METRICS = "config.toml", "tokenizer.model", "model.safetensors", "metrics.jsonl"
TENSORBOARD, TRAIN_LOG, CHECKPOINTS = "tensorboard", "train.log", "checkpoints"
PARTS = (CONFIG, TOKENIZER, DATA, ROWS, WORDS, MODEL, ALIGNMENT, METRICS, TENSORBOARD, TRAIN_LOG, CHECKPOINTS, LOCK)

# The most bytes that each file may have. Those of weights depend on the model.
_LIMITS = {
    CONFIG: 2**20, TOKENIZER: 2**26, DATA: 2**22, ROWS: DataRecord.MOST_BYTES + 2**16, WORDS: 2**28,
    ALIGNMENT: 2**20, METRICS: 2**28,
}  # fmt: skip
_MOST_LINES = 2_000_000  # of the metrics: a million steps that are all logged, and as many validations
_CHECKPOINT = re.compile(r"step-(0|[1-9][0-9]{0,15})")


class Run:
    """The files of one training run below `path`, each a regular file of bounded size and checked before it is used.

    model.safetensors holds the SHA-256 sums of its tensors, the configuration and the vocabulary: readers compare them,
    and so never mix files of different moments, also without a lock.
    """

    def __init__(self, path: Path, step: int | None = None) -> None:
        """With a step, the run as it was there: `load` gives the weights of that step's checkpoint."""
        self.path, self.step = path, step
        self.model_path = path / MODEL if step is None else path / CHECKPOINTS / f"step-{step}" / MODEL
        self._kept: dict[str, Any] = {}  # the files as they were at a moment; None where there was none

    @classmethod
    def create(
        cls, path: Path, config: Config, tokenizer: Tokenizer, data: DataRecord, words: TrainingWords | None
    ) -> "Run":
        """Make a run directory. The configuration is written last: where it stands, the rest of the start does too."""
        with write_errors(path):
            make_directory(path / CHECKPOINTS)
        files = {TOKENIZER: tokenizer.serialized, **data.files()}
        files |= {} if words is None else {WORDS: pack_words(words)}
        for name, content in (files | {CONFIG: dump_config(config).encode()}).items():
            write_atomically(path / name, content)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "Run":
        """An existing run. Raises `InputError` where there is none."""
        if not (run := cls(path)).exists():
            raise InputError(path, f"not a run directory (no {CONFIG})", f"train one with: tmt train --run-dir {path}")
        return run

    def anew(self) -> "Run":
        """Read the files of this run again: a copy that has none of them in memory."""
        return Run(self.path, self.step)

    def exists(self) -> bool:
        return os.path.lexists(self.path / CONFIG)

    def has_model(self) -> bool:
        return os.path.lexists(self.model_path)

    def config(self) -> Config:
        return parse_written_config(self._own(CONFIG), place=str(self.path / CONFIG))

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.parse(self._own(TOKENIZER), place=str(self.path / TOKENIZER))

    def data(self) -> DataRecord:
        return DataRecord.parse(self._read(DATA), self._read(ROWS), path=self.path)

    def words(self) -> TrainingWords | None:
        """The words of the training data; None where they are not known."""
        content = self._beside(WORDS)
        return None if content is None else unpack_words(content, path=self.path / WORDS)

    def alignment(self) -> AlignmentHeads | None:
        """The heads that link words; None before training ends."""
        content = self._beside(ALIGNMENT)
        try:
            return None if content is None else AlignmentHeads.model_validate_json(content)
        except (InputError, ValidationError):
            raise MachineError(self.path / ALIGNMENT, "damaged", "restore it, or delete it to do without") from None

    def save_alignment(self, heads: AlignmentHeads) -> None:
        write_atomically(self.path / ALIGNMENT, heads.model_dump_json().encode())

    def keep_beside(self) -> None:
        """Read what lies beside the weights; `words` and `alignment` are from now on those of this moment.

        Raises `MachineError` where the run has been written anew since its configuration was read.
        """
        self._kept |= {name: self._read_if_there(name) for name in (WORDS, ALIGNMENT)}
        for name in (CONFIG, TOKENIZER):
            if self._read(name) != self._own(name):
                raise MachineError(self.path, "has just been written anew", "try again")

    def _beside(self, name: str) -> bytes | None:
        return self._kept[name] if name in self._kept else self._read_if_there(name)

    def network(self) -> "Seq2Seq":
        """The network with the weights to use, which belong to `config()` and `tokenizer()` of this object.

        Raises `MachineError` for damage, `InputError` before the first validation.
        """
        from transformer_mt.models.build_model import build_model, checking_size
        from transformer_mt.runs.weights import load_weights, specs_of, weights_of

        config, tokenizer = self.config(), self.tokenizer()
        self._require_model()
        size, free = size_of(self.model_path), free_memory()

        def check(needed: int) -> None:
            if needed > 2 * size:  # tied matrices are made apart
                problem = f"{size} bytes, too few for the model of {CONFIG}"
                raise MachineError(self.model_path, problem, "restore both files from the same run")
            # Of the model, of the file, and of the tensors in it.
            require(3 * needed, lambda: free, what=str(self.model_path), remedy="use a machine with more")

        with checking_size(check), naming_plugins(config.plugins):
            model = build_model(config.model, vocabulary_size=tokenizer.size)
        load_weights(model, self.read_weights(specs_of(weights_of(model))))
        return model.eval()

    def sums(self) -> dict[str, str]:
        """The checksums saved with the weights, which identify them.

        Raises `MachineError` if the weights are damaged, or the configuration or the vocabulary has changed since;
        `InputError` before the first validation.
        """
        self._require_model()
        size = size_of(self.model_path)
        require(size, free_memory, what=str(self.model_path), remedy="use a machine with more")
        content = read_regular(self.model_path, limit=size)
        require_intact(content, self.model_path)
        return self._own_sums(content)

    def _own_sums(self, content: bytes) -> dict[str, str]:
        sums = saved_sums(content)
        if not sums.keys() >= {CONFIG, TOKENIZER, "tensors"}:
            raise MachineError(self.model_path, "damaged, it has not all its sums", "restore it or train anew")
        for name in (CONFIG, TOKENIZER):
            if sums[name] != sha256(self._own(name)):
                raise MachineError(self.path / name, f"not the one that {MODEL} was saved with", "restore both")
        return sums

    def _require_model(self) -> None:
        if not self.has_model():
            raise InputError(self.model_path, "missing", "continue tmt train until its first validation")

    def read_weights(self, specs: "TensorSpecs") -> "Tensors":
        """The weights. Raises `MachineError` unless they are undamaged, belong to the run, and fit the specs."""
        from transformer_mt.runs.weights import require_specs, size_limit, unpack

        content = read_regular(self.model_path, limit=size_limit(specs))
        weights = unpack(content, path=self.model_path)
        self._own_sums(content)
        require_specs(weights, specs, path=self.model_path)
        return weights

    def save_model(self, weights: "Tensors") -> None:
        write_atomically(self.path / MODEL, self.pack_model(weights))

    def pack_model(self, weights: "Tensors") -> bytes:
        """Weights as a file, with the sums of the configuration and the vocabulary that they belong to."""
        from transformer_mt.runs.weights import pack

        return pack(weights, {name: sha256(self._own(name)) for name in (CONFIG, TOKENIZER)})

    def _own(self, name: str) -> bytes:
        """A file that weights belong to, as it was when first read: later damage is noticed."""
        if name not in self._kept:
            self._kept[name] = self._read(name)
        content: bytes = self._kept[name]
        return content

    def _read(self, name: str) -> bytes:
        limit = _LIMITS[name]
        if name == TOKENIZER:  # with room for many characters, which are all in it, whatever size is configured
            limit = min(limit, 2**20 + 2**7 * self.config().tokenizer.vocabulary_size)
        return read_regular(self.path / name, limit=limit)

    def _read_if_there(self, name: str) -> bytes | None:
        return self._read(name) if os.path.lexists(self.path / name) else None

    def log(self, step: int, record: Mapping[str, Any]) -> None:
        """Append a line to the metrics."""
        self._append(METRICS, json.dumps({"step": step, **record}, ensure_ascii=False))

    def say(self, *lines: str) -> None:
        """Append printable lines to the log for people, each with the time."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._append(TRAIN_LOG, *(f"{now} {line}" for line in lines))

    def _append(self, name: str, *lines: str) -> None:
        path, flags = self.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | OPEN_FLAGS
        with write_errors(path), os.fdopen(os.open(path, flags, 0o644), "ab") as file:
            require_own(path, os.fstat(file.fileno()))
            file.write("".join(f"{line}\n" for line in lines).encode())

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The lines of the metrics, one at a time; truncated lines and other records are skipped."""
        content = self._read_if_there(METRICS) or b""
        if content.count(b"\n") > _MOST_LINES:
            raise MachineError(self.path / METRICS, f"more than {_MOST_LINES:,} lines", "delete it to do without")
        for line in BytesIO(content):
            with suppress(ValueError):
                match from_json(line[:LONGEST_LINE], allow_inf_nan=False):
                    case {"step": int(step), "kind": str()} as record if type(step) is int and 0 <= step < 2**53:
                        yield record

    def forget_metrics_after(self, step: int) -> None:
        """Drop the lines of steps that training is about to repeat."""
        with replacing(self.path / METRICS) as file:
            for record in self.metrics():
                if record["step"] <= step:
                    file.write(f"{json.dumps(record, ensure_ascii=False)}\n".encode())

    def clear(self) -> None:
        """Delete the files of the run, and nothing else that may lie in the directory."""
        with write_errors(self.path):
            for name in PARTS:  # the configuration first: without it, it is no run
                if name != LOCK:
                    remove(self.path / name)

    def remove_leftovers(self) -> None:
        """After a crash, in the process that trains here: delete half-written files, restore checkpoints set aside."""
        checkpoints = self.path / CHECKPOINTS
        with write_errors(self.path):
            for path in map(self.path.joinpath, os.listdir(self.path)):
                if path.name not in PARTS and original_name(path.name) in PARTS:
                    remove(path)
            for path in map(checkpoints.joinpath, _names(checkpoints)):
                step = path.with_name(path.name.removeprefix(".").removesuffix(".old"))
                if path == set_aside(step) and not os.path.lexists(step):
                    path.rename(step)
                elif path == set_aside(step) or original_name(path.name) != path.name:
                    remove(path)


def newest_run(root: Path) -> Run:
    """The run below `root` whose weights were written last. Raises `InputError` when there is none."""
    trained = [(path.lstat().st_mtime, path.parent) for path in root.glob(f"*/{MODEL}") if not path.is_symlink()]
    if not trained:
        raise InputError(root, "no trained model here", "train one with: tmt train")
    return Run(max(trained)[1])


def saved_steps(checkpoints: Path) -> list[int]:
    """The steps that have a checkpoint, complete or the weights alone, the newest last."""
    return sorted(int(match[1]) for name in _names(checkpoints) if (match := _CHECKPOINT.fullmatch(name)))


def _names(directory: Path) -> list[str]:
    """The names in a directory; none where there is none. Raises `MachineError` for a link or a file."""
    if os.path.lexists(directory):
        require_directory(directory)
        with suppress(FileNotFoundError):  # another process may just have deleted it
            return os.listdir(directory)
    return []


def find_run(path: Path) -> Run:
    """The run in a directory, or at the checkpoint `…/checkpoints/step-N` of one. Raises `InputError` for neither."""
    place = path.absolute()
    named = _CHECKPOINT.fullmatch(place.name)
    if not (named and place.parent.name == CHECKPOINTS):
        return Run.open(path)
    run = Run.open(Path(os.path.normpath(path / "../..")))
    if int(named[1]) not in (steps := saved_steps(run.path / CHECKPOINTS)):
        there = ", ".join(f"step-{step}" for step in steps) or "none"
        raise InputError(path, "no such checkpoint", f"there are: {there}")
    return Run(run.path, int(named[1]))
