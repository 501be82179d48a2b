"""A run directory: everything that training leaves and translation needs, in one folder that can be copied.

    config.toml          the resolved configuration
    tokenizer.model      the sentencepiece vocabulary
    model.safetensors    the weights to use
    metrics.jsonl        one JSON object a line: what training measured
    checkpoints/step-N/  all that exact resumption needs
    training.lock        who trains here, held as long as that lasts

Only safetensors, JSON, TOML and sentencepiece: nothing in it can execute.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import dump_config, load_written_config
from transformer_mt.errors import InputError
from transformer_mt.models.build import build_model
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.files import write_atomically, writing
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.weights import load_weights, pack, unpack
from transformer_mt.tokenizer import Tokenizer

CONFIG, TOKENIZER, MODEL, METRICS, CHECKPOINTS = (
    "config.toml",
    "tokenizer.model",
    "model.safetensors",
    "metrics.jsonl",
    "checkpoints",
)

PARTS = (CONFIG, TOKENIZER, MODEL, METRICS, CHECKPOINTS, LOCK)


class Run:
    """The files of one training run below `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: Config, tokenizer: Tokenizer) -> "Run":
        """Make a run directory. The configuration is written last: where it stands, the rest of the start does too."""
        run = cls(path)
        with writing(path):
            (path / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        write_atomically(path / TOKENIZER, tokenizer.serialized)
        write_atomically(path / CONFIG, dump_config(config).encode())
        return run

    @classmethod
    def open(cls, path: Path) -> "Run":
        """An existing run. Raises `InputError` when the directory is missing or not a run."""
        if not path.is_dir():
            raise InputError(f"{path}: no such directory; train a model with: tmt train --run {path}")
        run = cls(path)
        if not run.exists():
            raise InputError(f"{path}: not a run directory (no {CONFIG}); give the directory that tmt train wrote")
        return run

    def exists(self) -> bool:
        """Whether training has begun here."""
        return (self.path / CONFIG).is_file()

    def config(self) -> Config:
        """The configuration that the run was started with."""
        return load_written_config(self.path / CONFIG)

    def tokenizer(self) -> Tokenizer:
        """The run's vocabulary."""
        return Tokenizer.load(self.path / TOKENIZER)

    def model(self) -> Seq2Seq:
        """The model with the weights to use.

        Raises `EnvironmentProblem` for a damaged file, `InputError` where training has not come to the first
        validation.
        """
        path = self.path / MODEL
        if not path.is_file():
            raise InputError(f"{path}: missing; training has not yet reached a validation: continue it with tmt train")
        model = build_model(self.config().model, vocabulary_size=self.tokenizer().size)
        weights = unpack(path.read_bytes(), path=path)
        load_weights(model, weights, path=path)
        return model.eval()

    def save_model(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights to use."""
        write_atomically(self.path / MODEL, pack(weights))

    def log(self, step: int, record: Mapping[str, Any]) -> None:
        """Append a line to the metrics."""
        with writing(self.path / METRICS), (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **record}, ensure_ascii=False) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of the metrics; one that a crash cut off is left out."""
        path = self.path / METRICS
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
        return [record for line in lines if (record := _parse(line)) is not None]

    def forget_metrics_after(self, step: int) -> None:
        """Drop the lines of steps that training is about to repeat."""
        kept = [record for record in self.metrics() if record["step"] <= step]
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        write_atomically(self.path / METRICS, "".join(lines).encode())

    def clear(self) -> None:
        """Delete what a run consists of, and nothing else that may lie in the directory."""
        with writing(self.path):
            for name in (CONFIG, METRICS, MODEL, TOKENIZER):  # without its configuration it is no run any more
                (self.path / name).unlink(missing_ok=True)
            if (self.path / CHECKPOINTS).is_dir():
                shutil.rmtree(self.path / CHECKPOINTS)


def newest_run(root: Path) -> Run:
    """The run below `root` whose weights were written last. Raises `InputError` when there is none."""
    found = [(path.stat().st_mtime, path.parent) for path in root.glob(f"*/{MODEL}")]
    if not found:
        raise InputError(f"{root}: no trained model here; train one with: tmt train")
    return Run(max(found)[1])


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("step"), int) else None
