"""Experiments without training: invented measurements, and a runner that only records its calls."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.comparison import plan
from experiments.experiment import SPLITS, Experiment, Measurement, Runner, TrainingSummary

from transformer_mt.ground.errors import TmtError

LABORATORY = Path(__file__).parents[2] / "configs" / "laboratory"
VARIANTS = sorted(LABORATORY.glob("*.toml"))


@dataclass
class NotingRunner(Runner):
    """Records its calls, and fails for the variants in `broken`."""

    jobs: int = 1
    threads: int = 1
    broken: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def train(self, experiment: Experiment) -> TrainingSummary:
        self.asked.append(experiment.name)
        if experiment.variant in self.broken:
            raise TmtError("train.log", "tmt: error: the loss diverged")
        speed = 800.0 + experiment.seed
        return TrainingSummary(parameters=1234567, target_tokens=1000, tokens_per_second=speed, seconds=9.0)

    def evaluate(self, experiment: Experiment, split: str) -> dict[str, Any]:
        self.asked.append(f"{experiment.name} {split}")
        return scores(bleu=90.0 + experiment.seed)

    def translate(self, experiment: Experiment, sources: Sequence[str]) -> list[str]:
        self.asked.append(f"{experiment.name} translates")
        return [source if row % 3 or experiment.variant == "base" else "x" for row, source in enumerate(sources)]


def scores(*, bleu: float = 91.26, exact: float = 0.5, aer: float | None = 0.114) -> dict[str, Any]:
    """Sample output of `tmt evaluate --json`."""
    return {"bleu": bleu, "exact": exact, "aer": aer, "sentences_per_second": 101.4}


def measured(variant: str, *, seed: int = 1, tokens: int = 1000, **changes: Any) -> Measurement:
    """A measurement; `changes` are arguments of `scores`."""
    return Measurement(
        variant=variant,
        seed=seed,
        config={"training": {"steps": 700}},
        trained=TrainingSummary(parameters=1234567, target_tokens=tokens, tokens_per_second=812.4, seconds=9.0),
        scores={split: scores(**changes) for split in SPLITS},
        jobs=2,
        threads=1,
    )


def planned(
    tmp_path: Path, *variants: str, steps: int = 7, seeds: int = 1, overrides: Sequence[str] = ()
) -> list[Experiment]:
    """Experiments with variants of the laboratory."""
    return plan([LABORATORY], variants, steps=steps, seeds=seeds, runs=tmp_path / "runs", overrides=overrides)
