"""Compare variants: the plan of the experiments, their measurements, and the table."""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import SPLITS, Experiment, Measurement, Runner
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.files import write_atomically
from transformer_mt.ground.registry import lookup

SETTINGS = ("training.validate_every=350", "training.checkpoint_every=350", "training.log_every=10")
BASELINE = "baseline"


def plan(
    folders: Sequence[Path], variants: Sequence[str], *, steps: int, seeds: int, runs: Path, overrides: Sequence[str]
) -> list[Experiment]:
    """The experiments by seed, of the given variants or all. Raises `InputError` for an unknown variant or key."""
    files = {path.stem: path for folder in folders for path in folder.glob("*.toml")}
    for variant in variants:
        lookup(files, variant, key="VARIANT")
    # Patience exceeds the number of validations, so no training stops early and all see the same tokens.
    common = (*SETTINGS, f"training.steps={steps}", "training.epochs=0", f"training.patience={steps}")
    experiments = [
        Experiment(files[variant], seed, (*common, f"training.seed={seed}", *overrides), runs)
        for seed in range(1, seeds + 1)
        for variant in ordered(variants or files)
    ]
    for experiment in experiments:
        experiment.config()  # raises
    return experiments


def compare(experiments: Sequence[Experiment], runner: Runner, *, stem: Path) -> int:
    """Measure everything, print the table and write it to STEM.md and STEM.json; return 1 on any failure, else 0."""
    experiments[0].runs.mkdir(parents=True, exist_ok=True)
    results = runner.map(lambda experiment: attempt(experiment, runner), experiments)
    measurements = [result for result in results if result is not None]
    failed = sorted(each.name for each, result in zip(experiments, results, strict=True) if result is None)
    if measurements:
        require_equal_tokens(measurements)
        descriptions = {experiment.variant: experiment.description for experiment in experiments}
        text = "\n".join([*table(measurements), "", *caption(measurements, failed, descriptions)]) + "\n"
        write_atomically(stem.with_name(f"{stem.name}.md"), text.encode())
        write_atomically(stem.with_name(f"{stem.name}.json"), as_json(measurements, failed, descriptions).encode())
        print(f"\n{text}", end="")
    return 1 if failed else 0


def attempt(experiment: Experiment, runner: Runner) -> Measurement | None:
    """The measurement, or None if the experiment fails; prints a line in both cases."""
    try:
        measurement = measure(experiment, runner)
    except TmtError as error:
        print(f"{experiment.name}: failed: {error}", flush=True)
        return None
    bleu = ", ".join(f"{measurement.scores[split]['bleu']:.1f} {split}" for split in SPLITS)
    print(f"{experiment.name}: BLEU {bleu}; {measurement.trained.target_tokens:,} target tokens", flush=True)
    return measurement


def measure(experiment: Experiment, runner: Runner) -> Measurement:
    """Train and evaluate, unless a measurement of this configuration is stored; store the result."""
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
    """Raise `InputError` if two variants with the same seed were trained on different numbers of tokens."""
    firsts: dict[int, Measurement] = {}
    for other in measurements:
        first = firsts.setdefault(other.seed, other)
        if first.trained.target_tokens != other.trained.target_tokens:
            variants = f"{first.variant} and {other.variant}"
            raise InputError(
                f"seed {other.seed}", f"{variants} differ in target tokens", "let them share data and batches"
            )


def ordered(variants: Iterable[str]) -> list[str]:
    """The variants in table order: the baseline, then by name."""
    return sorted(set(variants), key=lambda variant: (variant != BASELINE, variant))


def _score(split: str, name: str) -> Callable[[Measurement], float | None]:
    return lambda measurement: measurement.scores[split][name]


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, the number of a measurement, and its format."""

    heading: str
    number: Callable[[Measurement], float | None]
    digits: int = 0
    factor: float = 1.0
    with_range: bool = True

    def cell(self, seeds: Sequence[Measurement]) -> str:
        """The mean, with half the range if it is not zero; a dash if a number is unknown."""
        known = [self.factor * value for seed in seeds if (value := self.number(seed)) is not None]
        if len(known) < len(seeds):
            return "–"
        half_range = (max(known) - min(known)) / 2 if self.with_range else 0.0
        return f"{statistics.fmean(known):,.{self.digits}f}" + (f"±{half_range:,.{self.digits}f}" if half_range else "")


# Short, for the table's width; C and L are explained below it.
COLUMNS = (
    Column("params", lambda measurement: measurement.trained.parameters),
    Column("BLEU", _score("test", "bleu"), digits=1),
    Column("exact", _score("test", "exact"), factor=100.0),
    Column("C BLEU", _score("test_composition", "bleu"), digits=1),
    Column("C ex.", _score("test_composition", "exact"), factor=100.0),
    Column("L BLEU", _score("test_length", "bleu"), digits=1),
    Column("L ex.", _score("test_length", "exact"), factor=100.0),
    Column("AER", _score("test", "aer"), digits=1, factor=100.0),
    Column("tok./s", lambda measurement: measurement.trained.tokens_per_second, with_range=False),
    Column("sent./s", _score("test", "sentences_per_second"), with_range=False),
)


def table(measurements: Sequence[Measurement]) -> list[str]:
    """The lines of an aligned Markdown table with a row for each variant."""
    rows = [["variant", *(column.heading for column in COLUMNS)]]
    rows += [[variant, *(column.cell(seeds) for column in COLUMNS)] for variant, seeds in _rows(measurements)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])])
    return ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]


def caption(
    measurements: Sequence[Measurement], failed: Sequence[str], descriptions: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines that explain the columns and the conditions of the measurements."""
    tokens = {each.seed: each.trained.target_tokens for each in measurements}
    counts = ", ".join(f"{count:,} with seed {seed}" for seed, count in tokens.items())
    steps = measurements[0].config["training"]["steps"]
    places = sorted({(each.jobs, each.threads) for each in measurements})
    speeds = " or ".join(f"{jobs} side by side, threads each: {threads}" for jobs, threads in places)
    yield f"Every variant was trained for {steps} steps on the same batches: target tokens {counts}."
    if BASELINE in {each.variant for each in measurements}:
        yield f"{BASELINE}: {descriptions[BASELINE]}."
    yield "BLEU and exact matches (%) on test, on C = test_composition and on L = test_length. AER (%) on test, of the"
    yield "links of tmt align; – without attention weights. tok./s: target tokens in training, median; sent./s:"
    yield f"sentences of test translated. Runs: {speeds}."
    if len(tokens) > 1:
        yield f"Mean ± half the range over {len(tokens)} seeds; of speeds, the mean."
    if failed:
        yield f"Failed: {', '.join(failed)}."


def as_json(measurements: Sequence[Measurement], failed: Sequence[str], descriptions: Mapping[str, str]) -> str:
    """All measurements as JSON, in table order."""
    variants = [
        {"variant": variant, "description": descriptions[variant], "runs": [seed.model_dump() for seed in seeds]}
        for variant, seeds in _rows(measurements)
    ]
    return json.dumps({"variants": variants, "failed": list(failed)}, ensure_ascii=False, indent=1) + "\n"


def _rows(measurements: Sequence[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield each variant with the measurements of all its seeds, in table order."""
    for variant in ordered(each.variant for each in measurements):
        yield variant, [each for each in measurements if each.variant == variant]
