"""Variants side by side: the plan of the experiments, all measurements, and the table."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformer_mt.errors import InputError, TmtError
from transformer_mt.experiments.experiment import SPLITS, Experiment, Measurement
from transformer_mt.experiments.runner import Runner
from transformer_mt.experiments.table import as_json, caption, ordered, table
from transformer_mt.files import write_atomically
from transformer_mt.registry import lookup

SETTINGS = ("training.validate_every=350", "training.checkpoint_every=350", "training.log_every=10")


def plan(
    folder: Path, variants: Sequence[str], *, steps: int, seeds: int, runs: Path, overrides: Sequence[str]
) -> list[Experiment]:
    """The experiments in the order of the table, seed by seed; every TOML file of the folder where none is named.

    Raises `InputError` for a wrong configuration.
    """
    files = {path.stem: path for path in folder.glob("*.toml")}
    for variant in variants:
        lookup(files, variant, key="VARIANT")
    # Fewer validations than steps: patience ends no training early, so all see the same tokens.
    common = (*SETTINGS, f"training.steps={steps}", "training.epochs=0", f"training.patience={steps}")
    experiments = [
        Experiment(files[variant], seed, (*common, f"training.seed={seed}", *overrides), runs)
        for seed in range(1, seeds + 1)
        for variant in ordered(variants or files)
    ]
    for experiment in experiments:
        experiment.config()
    return experiments


def compare(experiments: Sequence[Experiment], runner: Runner, *, stem: Path) -> int:
    """Measure everything, print the table and write it to STEM.md and STEM.json; the exit code, 1 where one failed."""
    experiments[0].runs.mkdir(parents=True, exist_ok=True)
    measurements, failed = measure_all(experiments, runner)
    if measurements:
        require_equal_tokens(measurements)
        descriptions = {experiment.variant: experiment.description for experiment in experiments}
        text = "\n".join([*table(measurements), "", *caption(measurements, failed, descriptions)]) + "\n"
        write_atomically(stem.with_name(f"{stem.name}.md"), text.encode())
        write_atomically(stem.with_name(f"{stem.name}.json"), as_json(measurements, failed, descriptions).encode())
        print(f"\n{text}", end="")
    return 1 if failed else 0


def measure_all(experiments: Sequence[Experiment], runner: Runner) -> tuple[list[Measurement], list[str]]:
    """The measurements in the order of the experiments, and the names of those that failed; prints a line for each."""
    pool = ThreadPoolExecutor(runner.jobs)
    try:
        measurements = list(pool.map(lambda experiment: attempt(experiment, runner), experiments))
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing new is begun
    failed = [experiment.name for experiment, result in zip(experiments, measurements, strict=True) if result is None]
    return [result for result in measurements if result is not None], sorted(failed)


def attempt(experiment: Experiment, runner: Runner) -> Measurement | None:
    """The measurement, None where the experiment fails; prints a line about either."""
    try:
        measurement = measure(experiment, runner)
    except TmtError as error:
        print(f"{experiment.name}: failed: {error}", flush=True)
        return None
    bleu = ", ".join(f"{measurement.scores[split]['bleu']:.1f} {split}" for split in SPLITS)
    print(f"{experiment.name}: BLEU {bleu}; {measurement.trained.target_tokens:,} target tokens", flush=True)
    return measurement


def measure(experiment: Experiment, runner: Runner) -> Measurement:
    """Train and evaluate, unless a measurement of this very configuration is stored; store it."""
    config = experiment.config().model_dump(mode="json")
    path = experiment.runs / f"{experiment.name}.json"
    if path.is_file() and (stored := Measurement.model_validate_json(path.read_bytes())).config == config:
        return stored
    measurement = Measurement(
        variant=experiment.variant,
        seed=experiment.seed,
        config=config,
        trained=runner.train(experiment),
        scores={split: runner.evaluate(experiment, split) for split in SPLITS},
        jobs=runner.jobs,
        threads=runner.threads,
    )
    write_atomically(path, measurement.model_dump_json(indent=1).encode())
    return measurement


def require_equal_tokens(measurements: Sequence[Measurement]) -> None:
    """Raise `InputError` when two variants of one seed were trained on different numbers of tokens."""
    firsts: dict[int, Measurement] = {}
    for other in measurements:
        first = firsts.setdefault(other.seed, other)
        if first.trained.target_tokens != other.trained.target_tokens:
            raise InputError(
                f"seed {first.seed}: {first.variant} was trained on {first.trained.target_tokens:,} target tokens, "
                f"{other.variant} on {other.trained.target_tokens:,}; let them share data and batches"
            )
