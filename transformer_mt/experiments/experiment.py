"""One experiment, a variant trained with one seed, and what is measured of it."""

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
        """The variant's name in the table."""
        return self.file.stem

    @property
    def description(self) -> str:
        """What the variant is: the first line of its file, a comment."""
        return self.file.read_text("utf-8").splitlines()[0].removeprefix("# ")

    @property
    def name(self) -> str:
        """What the experiment is called in file names and messages."""
        return f"{self.variant}-seed{self.seed}"

    @property
    def run(self) -> Path:
        """The run directory."""
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
    """All that is known of an experiment: `scores` holds what `tmt evaluate --json` printed for each split."""

    variant: str
    seed: int
    config: dict[str, Any]
    trained: TrainingSummary
    scores: dict[str, dict[str, Any]]
    jobs: int
    threads: int
