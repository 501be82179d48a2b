"""A run directory: everything that training writes and translation needs, in one folder that can be copied.

    config.toml          the resolved configuration
    tokenizer.model      the SentencePiece vocabulary
    data.json            fingerprints of the data, and the report of cleaning
    data.safetensors     the digests of its rows
    words.tsv            the words of the training data, with their counts
    model.safetensors    the weights to use
    alignment.json       the cross-attention heads that link words
    doubt.json           the log-probability below which translations are doubtful
    metrics.jsonl        the measurements of training, one JSON object per line
    tensorboard/         the same for TensorBoard, if training.tensorboard is set
    train.log            the messages of training, with timestamps
    checkpoints/step-N/  the weights of a step; the newest two have everything needed for exact resumption
    training.lock        held while a process trains here

Only safetensors, JSON, TOML and SentencePiece: nothing in a run can execute. A packed run (`runs/packed.py`) is a zip
file with the files that translation and views need.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import dump_config, parse_written_config
from transformer_mt.corpus.word_counts import TrainingWords
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.ground.files import (
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
from transformer_mt.ground.memory import free_memory, require
from transformer_mt.ground.plugins import naming_plugins
from transformer_mt.runs.alignment import ALIGNMENT, AlignmentHeads
from transformer_mt.runs.checksums import LOADED, require_intact, saved_sums, sha256
from transformer_mt.runs.doubt import DOUBT, Doubt
from transformer_mt.runs.fingerprints import DATA, ROWS, DataRecord
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.packed import Pack
from transformer_mt.runs.words import WORDS, pack_words, unpack_words
from transformer_mt.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq
    from transformer_mt.runs.weights import Tensors, TensorSpecs

# The model that comes with the package; scripts/make_ready.py builds it.
READY = Path(__file__).parents[1] / "ready" / "de-en.zip"

CONFIG, TOKENIZER, MODEL, METRICS = "config.toml", "tokenizer.model", "model.safetensors", "metrics.jsonl"
TENSORBOARD = "tensorboard"
TRAIN_LOG = "train.log"
CHECKPOINTS = "checkpoints"
PARTS = (
    CONFIG, TOKENIZER, DATA, ROWS, WORDS, MODEL, ALIGNMENT, DOUBT, METRICS, TENSORBOARD, TRAIN_LOG, CHECKPOINTS, LOCK,
)  # fmt: skip

# Size limits in bytes. The limit for weights depends on the model.
_LIMITS = {
    CONFIG: 2**20, TOKENIZER: 2**26, DATA: 2**22, ROWS: DataRecord.MOST_BYTES + 2**16, WORDS: 2**28,
    ALIGNMENT: 2**20, DOUBT: 2**10, METRICS: 2**28,
}  # fmt: skip
_MOST_LINES = 2_000_000  # of the metrics: a million steps, each logged and validated
_CHECKPOINT = re.compile(r"step-(0|[1-9][0-9]{0,15})")


class Run:
    """The files of one training run under `path`, a directory or a packed run: each is bounded and checked before use.

    model.safetensors holds the SHA-256 sums of its tensors, the configuration and the vocabulary. Readers compare them,
    so they never mix files of different snapshots, even without a lock.
    """

    def __init__(self, path: Path, step: int | None = None) -> None:
        """With `step`, use the weights of that step's checkpoint."""
        self.path = path
        self.step = step
        self.model_path = path / MODEL if step is None else path / CHECKPOINTS / f"step-{step}" / MODEL
        self._snapshot: dict[str, Any] = {}  # small files by name, as first read; None for a missing one

    @classmethod
    def create(
        cls, path: Path, config: Config, tokenizer: Tokenizer, data: DataRecord, words: TrainingWords | None
    ) -> "Run":
        """Create a run directory. The configuration is written last: its presence means the directory is complete."""
        with write_errors(path):
            make_directory(path / CHECKPOINTS)
        files = {TOKENIZER: tokenizer.serialized, **data.files()}
        files |= {WORDS: pack_words(words)} if words else {}
        for name, content in (files | {CONFIG: dump_config(config).encode()}).items():
            write_atomically(path / name, content)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "Run":
        """Open an existing run; `ready` is the ready model. Raises `InputError` if it does not exist."""
        if not (run := cls(named_path(path))).exists():
            raise InputError(path, f"not a run directory (no {CONFIG})", f"train one with: tmt train --run-dir {path}")
        return run

    @cached_property
    def pack(self) -> Pack | None:
        """The packed run, read once, if `path` is a file. Raises `InputError` if it is another file."""
        return Pack(self.path) if self.path.is_file() else None

    def exists(self) -> bool:
        """True if there is a complete run directory or a packed run. Raises `InputError` for any other file."""
        return self._has(CONFIG)

    def has_model(self) -> bool:
        """True if there are weights: of the run, or of the step's checkpoint."""
        return self._has(MODEL) if self.step is None else os.path.lexists(self.model_path)

    def _has(self, name: str) -> bool:
        return name in self.pack if self.pack else os.path.lexists(self.path / name)

    def weights_file(self, *, limit: int | None = None) -> bytes:
        """The file of the weights, by default at any size. Raises `InputError` if that may not fit in memory."""
        if limit is None:
            limit = self._model_size()
        require(limit, free_memory, what=str(self.model_path), remedy="use a machine with more")
        return self.pack.read(MODEL, limit=limit) if self.pack else read_regular(self.model_path, limit=limit)

    def _model_size(self) -> int:
        if not self.has_model():
            raise InputError(self.model_path, "missing", "run tmt train until its first validation")
        return self.pack.size(MODEL) if self.pack else size_of(self.model_path)

    def config(self) -> Config:
        """The configuration. Raises `InputError` if its content is invalid, `MachineError` if it cannot be read."""
        return parse_written_config(self._own(CONFIG), place=str(self.path / CONFIG))

    def tokenizer(self) -> Tokenizer:
        """The tokenizer. Raises `MachineError` if its file is damaged or cannot be read."""
        return Tokenizer.parse(self._own(TOKENIZER), place=str(self.path / TOKENIZER))

    def data(self) -> DataRecord:
        """The record of the training data. Raises `MachineError` if a file is damaged or cannot be read."""
        return DataRecord.parse(self._read(DATA), self._read(ROWS), path=self.path)

    def words(self) -> TrainingWords | None:
        """The words of the training data; None if unknown. Raises `MachineError` if the file is damaged."""
        content = self._own(WORDS)
        return None if content is None else unpack_words(content, path=self.path / WORDS)

    def alignment(self) -> AlignmentHeads | None:
        """The heads for word links; None before training ends. Raises `MachineError` if the file is damaged."""
        return self._parsed(ALIGNMENT, AlignmentHeads, None)

    def doubt(self) -> Doubt:
        """When to doubt a translation: the default before training ends. Raises `MachineError` as `alignment`."""
        return self._parsed(DOUBT, Doubt, Doubt())

    def _parsed(self, name: str, kind: type[BaseModel], missing: BaseModel | None) -> Any:
        try:
            content = self._own(name)
            return missing if content is None else kind.model_validate_json(content)
        except (InputError, ValidationError):
            raise MachineError(self.path / name, "damaged", "restore it, or delete it to go without") from None

    def save_beside(self, name: str, content: BaseModel) -> None:
        """Write `ALIGNMENT` or `DOUBT` atomically. Raises `MachineError` if that fails."""
        write_atomically(self.path / name, content.model_dump_json().encode())

    def complete_snapshot(self) -> None:
        """Read the small files that no checksum ties to the weights: `words`, `alignment`, `doubt`.

        Raises `MachineError` if the run has been replaced since its configuration was read.
        """
        for name in (WORDS, ALIGNMENT, DOUBT):
            self._own(name)
        if any(self._read(name) != self._own(name) for name in (CONFIG, TOKENIZER)):
            raise MachineError(self.path, "has just been overwritten", "try again")

    def network(self) -> "Seq2Seq":
        """Load the network; its weights belong to the `config()` and `tokenizer()` of this object.

        Raises `MachineError` for damaged files, `InputError` before the first validation or if memory is too small.
        """
        from transformer_mt.models.build_model import build_model, checking_size
        from transformer_mt.runs.weights import load_weights, specs_of, weights_of

        config = self.config()
        tokenizer = self.tokenizer()
        size = self._model_size()
        free = free_memory()

        def check(needed: int) -> None:
            if needed > (4 if self.pack else 2) * size:  # tied matrices count twice; packed ones may be in bfloat16
                problem = f"{size} bytes, too few for the model of {CONFIG}"
                raise MachineError(self.model_path, problem, "restore both files from the same run")
            # For the model, the file's bytes, and the tensors read from it.
            require(3 * needed, lambda: free, what=str(self.model_path), remedy="use a machine with more")

        with checking_size(check), naming_plugins(config.plugins):
            model = build_model(config.model, vocabulary_size=tokenizer.size)
        load_weights(model, self.read_weights(specs_of(weights_of(model))))
        return model.eval()

    def sums(self) -> dict[str, str]:
        """The checksums saved with the weights; they identify the model.

        Raises `MachineError` if the weights are damaged or the configuration or vocabulary has changed since,
        `InputError` before the first validation or if memory is too small.
        """
        content = self.weights_file()
        require_intact(content, self.model_path)
        return self._own_sums(content)

    def _own_sums(self, content: bytes) -> dict[str, str]:
        sums = saved_sums(content)
        if not sums.keys() >= {CONFIG, TOKENIZER, "tensors"}:
            raise MachineError(self.model_path, "damaged (a checksum is missing)", "restore it or train again")
        for name in (CONFIG, TOKENIZER):
            if sums[name] != sha256(self._own(name)):
                raise MachineError(self.path / name, f"not the one that {MODEL} was saved with", "restore both")
        return sums | {"tensors": sums.get(LOADED, sums["tensors"])}

    def read_weights(self, specs: "TensorSpecs") -> "Tensors":
        """Read the weights. Raises `MachineError` unless they are intact, belong to the run, and fit the specs."""
        from transformer_mt.runs.weights import converted, require_specs, size_limit, unpack

        content = self.weights_file(limit=size_limit(specs))
        weights = unpack(content, path=self.model_path)
        self._own_sums(content)
        if self.pack:  # in bfloat16, perhaps
            weights = converted(weights, "float32")
        require_specs(weights, specs, path=self.model_path)
        return weights

    def save_model(self, weights: "Tensors") -> None:
        """Write the run's weights atomically. Raises `MachineError` if that fails."""
        write_atomically(self.path / MODEL, self.pack_model(weights))

    def pack_model(self, weights: "Tensors") -> bytes:
        """Serialise weights, with the checksums of the run's configuration and vocabulary."""
        from transformer_mt.runs.weights import pack

        return pack(weights, {name: sha256(self._own(name)) for name in (CONFIG, TOKENIZER)})

    def _own(self, name: str) -> Any:
        """The content of a small file as first read, so that later damage shows up as a wrong checksum.

        None if a file that training writes later, or that older runs lack, is missing.
        """
        if name not in self._snapshot:
            self._snapshot[name] = self._read(name) if name in (CONFIG, TOKENIZER) or self._has(name) else None
        return self._snapshot[name]

    def _read(self, name: str) -> bytes:
        limit = _LIMITS[name]
        if name == TOKENIZER:  # there may be more tokens than configured, one for each character
            limit = min(limit, 2**20 + 2**7 * self.config().tokenizer.vocabulary_size)
        return self.pack.read(name, limit=limit) if self.pack else read_regular(self.path / name, limit=limit)

    def small_files(self) -> dict[str, bytes]:
        """The files that a packed run has too, without the weights. Raises `MachineError` if one cannot be read."""
        names = (CONFIG, TOKENIZER, WORDS, ALIGNMENT, DOUBT, METRICS)
        return {name: self._read(name) for name in names if self._has(name)}

    def log(self, step: int, record: Mapping[str, Any]) -> None:
        """Append a line to the metrics. Raises `MachineError` if that fails."""
        self._append(METRICS, json.dumps({"step": step, **record}, ensure_ascii=False))

    def say(self, *lines: str) -> None:
        """Append printable lines, with timestamps, to train.log. Raises `MachineError` if that fails."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._append(TRAIN_LOG, *(f"{now} {line}" for line in lines))

    def _append(self, name: str, *lines: str) -> None:
        path = self.path / name
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | OPEN_FLAGS
        with write_errors(path), os.fdopen(os.open(path, flags, 0o644), "ab") as file:
            require_own(path, os.fstat(file.fileno()))
            file.write("".join(f"{line}\n" for line in lines).encode())

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the records of the metrics; skip truncated lines and anything else.

        Raises `MachineError` if the file is too large or has more than two million lines.
        """
        content = self._read(METRICS) if self._has(METRICS) else b""
        if content.count(b"\n") > _MOST_LINES:
            raise MachineError(self.path / METRICS, f"more than {_MOST_LINES:,} lines", "delete it to go without")
        for line in BytesIO(content):
            with suppress(ValueError):
                match from_json(line[:LONGEST_LINE], allow_inf_nan=False):
                    case {"step": int(step), "kind": str()} as record if type(step) is int and 0 <= step < 2**53:
                        yield record

    def forget_metrics_after(self, step: int) -> None:
        """Drop the records of steps that training is about to repeat."""
        with replacing(self.path / METRICS) as file:
            for record in self.metrics():
                if record["step"] <= step:
                    file.write(f"{json.dumps(record, ensure_ascii=False)}\n".encode())

    def clear(self) -> None:
        """Delete the files of the run, but no others in the directory."""
        with write_errors(self.path):
            for name in PARTS:  # the configuration first: without it, the directory is not a run
                if name != LOCK:
                    remove(self.path / name)

    def remove_leftovers(self) -> None:
        """Clean up after a crash: delete half-written files, restore checkpoints set aside. Needs the lock."""
        checkpoints = self.path / CHECKPOINTS
        with write_errors(self.path):
            for path in list(self.path.iterdir()):
                if path.name not in PARTS and original_name(path.name) in PARTS:
                    remove(path)
            for path in map(checkpoints.joinpath, _names(checkpoints)):
                step = path.with_name(path.name.removeprefix(".").removesuffix(".old"))
                if path == set_aside(step) and not os.path.lexists(step):
                    path.rename(step)
                elif path == set_aside(step) or original_name(path.name) != path.name:
                    remove(path)


def own_files(path: Path) -> list[Path]:
    """The files and folders of the run in a directory, or the packed run."""
    return [path / name for name in PARTS] if path.is_dir() else [path]


def newest_run(root: Path) -> Run:
    """The run under `root` with the newest weights. Raises `InputError` if it does not exist."""
    trained = [(path.lstat().st_mtime, path.parent) for path in root.glob(f"*/{MODEL}") if not path.is_symlink()]
    if not trained:
        raise InputError(root, "no trained model here", "train one with: tmt train")
    return Run(max(trained)[1])


def saved_steps(checkpoints: Path) -> list[int]:
    """The steps with a checkpoint, complete or weights only, newest last."""
    return sorted(int(match[1]) for name in _names(checkpoints) if (match := _CHECKPOINT.fullmatch(name)))


def _names(directory: Path) -> list[str]:
    """The names in a directory; empty if it does not exist. Raises `MachineError` for a link or a file."""
    if os.path.lexists(directory):
        require_directory(directory)
        with suppress(FileNotFoundError):  # another process may just have deleted it
            return os.listdir(directory)
    return []


def named_path(path: Path) -> Path:
    """The path of a run that a user names: `ready` is the ready model, unless there is a run of that name."""
    return READY if path == Path("ready") and not path.exists() else path


def find_run(path: Path) -> Run:
    """The run in a directory, or at a checkpoint `…/checkpoints/step-N`. Raises `InputError` for anything else."""
    place = path.absolute()
    named = _CHECKPOINT.fullmatch(place.name)
    if not (named and place.parent.name == CHECKPOINTS):
        return Run.open(path)
    run = Run.open(Path(os.path.normpath(path / "../..")))
    if int(named[1]) not in (steps := saved_steps(run.path / CHECKPOINTS)):
        there = ", ".join(f"step-{step}" for step in steps) or "none"
        raise InputError(path, "no such checkpoint", f"there are: {there}")
    return Run(run.path, int(named[1]))
