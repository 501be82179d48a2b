"""One experiment, a variant trained with one seed, and its measurement."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError

SPLITS = ("test", "test_composition", "test_length")


@dataclass(frozen=True)
class Experiment:
    """A variant's configuration file and a seed; `settings` are the `--set` of its training, on top of the file."""

    file: Path
    seed: int
    settings: tuple[str, ...]
    runs: Path

    @property
    def variant(self) -> str:
        return self.file.stem

    @property
    def description(self) -> str:
        """The first line of the file, a comment."""
        return self.file.read_text("utf-8").splitlines()[0].removeprefix("# ")

    @property
    def name(self) -> str:
        return f"{self.variant}-seed{self.seed}"

    @property
    def run(self) -> Path:
        return self.runs / self.name

    def config(self) -> Config:
        """The whole configuration. Raises `InputError` that names the variant."""
        try:
            return load_config(self.file, self.settings)
        except InputError as error:
            raise InputError(f"{self.variant}: {error}") from None


class TrainingSummary(BaseModel):
    """A finished training; `tokens_per_second` is the median of the logged windows, None without any."""

    parameters: int
    target_tokens: int
    tokens_per_second: float | None


class Measurement(BaseModel):
    """The results of an experiment: `scores` holds the output of `tmt evaluate --json` for each split."""

    variant: str
    seed: int
    config: dict[str, Any]
    trained: TrainingSummary
    scores: dict[str, dict[str, Any]]
    jobs: int
    threads: int
