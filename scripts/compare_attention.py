"""Variants of the model side by side: each trained on the same tokens from the same seeds, then evaluated.

    python scripts/compare_attention.py                                  all variants
    python scripts/compare_attention.py baseline rotary --steps 300      two of them, for a shorter time

A variant is a file of configs/laboratory; one that you put there can be compared at once. Every variant and seed is a
run of `tmt train` below `--runs`, with its measurement in a JSON file beside it: a second start skips what has been
measured and continues what was stopped. Ends with 1 when a variant failed; the others are compared all the same.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Protocol

import typer

from transformer_mt.config import Config, load_config
from transformer_mt.errors import InputError, TmtError
from transformer_mt.names import lookup
from transformer_mt.runs.checkpoints import Checkpoints
from transformer_mt.runs.directory import CHECKPOINTS, Run
from transformer_mt.runs.files import write_atomically

STEPS = 700
SETTINGS = ("training.validate_every=350", "training.checkpoint_every=350", "training.log_every=10")
SPLITS = ("test", "test_composition", "test_length")

LABORATORY = Path(__file__).resolve().parents[1] / "configs" / "laboratory"
BASELINE = "baseline"
GROUPS = {
    "Baseline": (BASELINE,),
    "Scores": ("dot", "bilinear", "additive", "cosine", "collaborative", "linear"),
    "Positions": ("no_positions", "relative", "rotary", "alibi"),
    "Graphs": ("band", "strided", "fixed"),
    "Blocks": ("post_norm", "batch_norm", "rms_norm", "no_norm", "gelu", "swiglu"),
    "Recurrent": ("gru_none", "gru_dot", "gru_bilinear", "gru_additive"),
}
OTHERS = "Others"


@dataclass(frozen=True)
class Experiment:
    """A variant and a seed; `settings` are the `--set` of its training, on top of the variant's file."""

    variant: str
    seed: int
    settings: tuple[str, ...]
    runs: Path

    @property
    def name(self) -> str:
        """What the experiment is called in file names and lines."""
        return f"{self.variant}-seed{self.seed}"

    @property
    def file(self) -> Path:
        """The variant's configuration."""
        return LABORATORY / f"{self.variant}.toml"

    @property
    def run(self) -> Path:
        """The run directory."""
        return self.runs / self.name

    @property
    def measurement(self) -> Path:
        """Where the measurement is stored once it is complete."""
        return self.runs / f"{self.name}.json"

    def config(self) -> Config:
        """The whole configuration. Raises `InputError` that names the variant."""
        try:
            return load_config(self.file, self.settings)
        except InputError as error:
            raise InputError(f"{self.variant}: {error}") from None


@dataclass(frozen=True)
class Trained:
    """What a finished training tells; `tokens_per_second` is the median of the logged windows, None without any."""

    parameters: int
    target_tokens: int
    tokens_per_second: float | None


@dataclass(frozen=True)
class Measurement:
    """All that is known of an experiment: `scores` holds what `tmt evaluate --json` said of each split."""

    variant: str
    seed: int
    config: dict[str, Any]
    trained: Trained
    scores: dict[str, dict[str, Any]]
    jobs: int
    threads: int


class Failure(Exception):  # noqa: N818 - it says why an experiment came to no result
    """An experiment that came to no result, and why, in one line."""


class Workshop(Protocol):
    """Where experiments are carried out, `jobs` at a time with so many `threads` each. Both methods raise `Failure`."""

    jobs: int
    threads: int

    def train(self, experiment: Experiment) -> Trained:
        """Train to the end, from wherever an earlier start came to."""

    def evaluate(self, experiment: Experiment, split: str) -> dict[str, Any]:
        """What `tmt evaluate --json` says of a split."""


@dataclass
class Processes:
    """Trains and evaluates in processes of their own, whose notes go to NAME.log beside the run."""

    jobs: int
    threads: int
    running: set["subprocess.Popen[str]"] = field(default_factory=set)

    def train(self, experiment: Experiment) -> Trained:
        """`tmt train`; see `Workshop`."""
        settings = [part for setting in experiment.settings for part in ("--set", setting)]
        self._tmt(experiment, "train", str(experiment.file), "--run", str(experiment.run), *settings)
        run, steps = Run.open(experiment.run), experiment.config().training.steps
        checkpoints = Checkpoints(run.path / CHECKPOINTS)
        progress = checkpoints.load(checkpoints.steps()[-1]).progress
        if progress.step != steps:
            raise Failure(f"{run.path}: has been trained for {progress.step} steps, not {steps}; choose another --runs")
        windows = [line["tokens_per_second"] for line in run.metrics() if line["kind"] == "training"]
        return Trained(
            parameters=sum(parameter.numel() for parameter in run.model().parameters()),
            target_tokens=progress.target_tokens,
            tokens_per_second=statistics.median(windows) if windows else None,
        )

    def evaluate(self, experiment: Experiment, split: str) -> dict[str, Any]:
        """`tmt evaluate`, on the device of the training; see `Workshop`."""
        place = ("--device", experiment.config().training.device)
        found = self._tmt(experiment, "evaluate", "--model", str(experiment.run), "--split", split, *place, "--json")
        scores: dict[str, Any] = json.loads(found)
        return scores

    def stop(self, number: int, frame: FrameType | None) -> None:
        """End as Ctrl-C does, which a terminal sends to the processes too; SIGTERM they must be sent."""
        del number, frame
        for process in self.running:
            process.terminate()
        raise KeyboardInterrupt

    def _tmt(self, experiment: Experiment, *arguments: str) -> str:
        """What a command writes to stdout."""
        path = experiment.runs / f"{experiment.name}.log"
        with path.open("a", encoding="utf-8") as log:
            before = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "transformer_mt", *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env=os.environ | {"OMP_NUM_THREADS": str(self.threads), "PYTHONIOENCODING": "utf-8"},
            )
            self.running.add(process)
            output, _ = process.communicate()
            self.running.discard(process)
        if process.returncode:
            notes = path.read_bytes()[before:].decode().splitlines() or ["no message"]
            raise Failure(f"{notes[-1]} (exit code {process.returncode}, see {path})")
        return output


def main(
    variants: Annotated[
        list[str] | None,
        typer.Argument(metavar="VARIANT", help="Files of configs/laboratory; all where none is named."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="How long to train each.")] = STEPS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 1, 2, …")] = 1,
    runs: Annotated[Path, typer.Option(help="Where the runs and measurements go.")] = Path("runs/compare"),
    jobs: Annotated[int, typer.Option(min=1, help="How many experiments side by side.")] = 1,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A change to all variants.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="STEM", help="The table goes to STEM.md and STEM.json. [RUNS/comparison]")
    ] = None,
) -> None:
    """Train variants of the model on the same tokens, evaluate them, and print one table."""
    workshop = Processes(jobs=jobs, threads=max(1, (os.cpu_count() or 1) // jobs))
    signal.signal(signal.SIGTERM, workshop.stop)
    try:
        chosen = plan(variants or [], steps=steps, seeds=seeds, runs=runs, overrides=set or [])
        code = compare(chosen, workshop, stem=output or runs / "comparison")
    except TmtError as error:
        print(f"compare_attention: error: {error}", file=sys.stderr)
        code = error.exit_code
    raise typer.Exit(code)


def plan(variants: Sequence[str], *, steps: int, seeds: int, runs: Path, overrides: Sequence[str]) -> list[Experiment]:
    """The experiments in the order of the table, seed by seed. Raises `InputError` for what cannot be configured."""
    known = groups()
    for variant in variants:
        lookup(known, variant, key="VARIANT")
    experiments = [
        Experiment(
            variant,
            seed,
            # Fewer validations than steps: patience ends no training early, so all see the same tokens.
            (*SETTINGS, f"training.steps={steps}", f"training.patience={steps}", f"training.seed={seed}", *overrides),
            runs,
        )
        for seed in range(1, seeds + 1)
        for variant in known
        if variant in variants or not variants
    ]
    for experiment in experiments:
        experiment.config()
    return experiments


def groups() -> dict[str, str]:
    """The group of every variant in configs/laboratory, in the order of the table."""
    found = {path.stem for path in LABORATORY.glob("*.toml")}
    listed = {variant: group for group, variants in GROUPS.items() for variant in variants if variant in found}
    return listed | dict.fromkeys(sorted(found - set(listed)), OTHERS)


def compare(experiments: Sequence[Experiment], workshop: Workshop, *, stem: Path) -> int:
    """Measure everything, print and write the table; the exit code, 1 where an experiment failed."""
    experiments[0].runs.mkdir(parents=True, exist_ok=True)
    measurements, failed = measure_all(experiments, workshop)
    if measurements:
        require_equal_tokens(measurements)
        text = "\n".join([*table(measurements), "", *caption(measurements, failed)]) + "\n"
        write_atomically(stem.with_name(f"{stem.name}.md"), text.encode())
        write_atomically(stem.with_name(f"{stem.name}.json"), as_json(measurements, failed).encode())
        print(f"\n{text}", end="")
    return 1 if failed else 0


def measure_all(experiments: Sequence[Experiment], workshop: Workshop) -> tuple[list[Measurement], list[str]]:
    """The measurements in the order of the experiments, and the names of those that failed; prints a line for each."""
    found: dict[str, Measurement] = {}
    failed = []
    pool = ThreadPoolExecutor(workshop.jobs)
    try:
        work = {pool.submit(measure, experiment, workshop): experiment.name for experiment in experiments}
        for future in as_completed(work):
            name = work[future]
            try:
                found[name] = future.result()
                print(f"{name}: {summary(found[name])}", flush=True)
            except (Failure, TmtError) as error:
                failed.append(name)
                print(f"{name}: failed: {error}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing new is begun
    return [found[experiment.name] for experiment in experiments if experiment.name in found], sorted(failed)


def measure(experiment: Experiment, workshop: Workshop) -> Measurement:
    """Train and evaluate, unless a measurement of this very configuration is stored; store it."""
    config = experiment.config().model_dump(mode="json")
    if (stored := read_measurement(experiment.measurement)) and stored.config == config:
        return stored
    print(f"{experiment.name}: training, notes in {experiment.run}.log", file=sys.stderr, flush=True)
    trained = workshop.train(experiment)
    scores = {}
    for split in SPLITS:
        print(f"{experiment.name}: evaluating on {split}", file=sys.stderr, flush=True)
        scores[split] = workshop.evaluate(experiment, split)
    found = Measurement(
        experiment.variant, experiment.seed, config, trained, scores, jobs=workshop.jobs, threads=workshop.threads
    )
    write_atomically(experiment.measurement, json.dumps(asdict(found), indent=1).encode())
    return found


def read_measurement(path: Path) -> Measurement | None:
    """A stored measurement, None where there is none."""
    if not path.is_file():
        return None
    record = json.loads(path.read_bytes())
    return Measurement(**record | {"trained": Trained(**record["trained"])})


def require_equal_tokens(measurements: Sequence[Measurement]) -> None:
    """Raise `InputError` when two variants of one seed were trained on different numbers of tokens."""
    first: dict[int, Measurement] = {}
    for other in measurements:
        one = first.setdefault(other.seed, other)
        if one.trained.target_tokens != other.trained.target_tokens:
            raise InputError(
                f"seed {one.seed}: {one.variant} was trained on {one.trained.target_tokens:,} target tokens, "
                f"{other.variant} on {other.trained.target_tokens:,}; let them share data and batches"
            )


Number = Callable[[Measurement], float | None]


def score(split: str, name: str, *, factor: float = 1.0) -> Number:
    """A score of a split, times a factor."""

    def read(measurement: Measurement) -> float | None:
        value = measurement.scores[split][name]
        return None if value is None else factor * value

    return read


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, the number of a measurement, and how many digits follow the point."""

    heading: str
    number: Number
    digits: int = 0
    with_range: bool = True

    def cell(self, runs: Sequence[Measurement]) -> str:
        """The mean, with half the range where there is one; a dash where a number is unknown."""
        known = [value for run in runs if (value := self.number(run)) is not None]
        if len(known) < len(runs):
            return "–"
        half_range = (max(known) - min(known)) / 2 if self.with_range else 0.0
        return f"{statistics.fmean(known):,.{self.digits}f}" + (f"±{half_range:,.{self.digits}f}" if half_range else "")


# Kept short for the table's width; C and L are explained below it.
COLUMNS = (
    Column("params", lambda found: found.trained.parameters),
    Column("BLEU", score("test", "bleu"), digits=1),
    Column("exact", score("test", "exact", factor=100.0)),
    Column("C BLEU", score("test_composition", "bleu"), digits=1),
    Column("C ex.", score("test_composition", "exact", factor=100.0)),
    Column("L BLEU", score("test_length", "bleu"), digits=1),
    Column("L ex.", score("test_length", "exact", factor=100.0)),
    Column("AER", score("test", "aer", factor=100.0)),
    Column("tokens/s", lambda found: found.trained.tokens_per_second, with_range=False),
    Column("sent./s", score("test", "sentences_per_second"), with_range=False),
)


def table(measurements: Sequence[Measurement]) -> list[str]:
    """The lines of a Markdown table, its columns aligned: a row for each variant, under the name of its group."""
    rows = [["variant", *(column.heading for column in COLUMNS)]]
    for group, variants in by_group(measurements).items():
        rows.append([f"**{group}**", *("" for _ in COLUMNS)])
        for variant, found in variants.items():
            rows.append([variant, *(column.cell(found) for column in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return [
        "| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |"
        for row in (rows[0], rule, *rows[1:])
    ]


def by_group(measurements: Sequence[Measurement]) -> dict[str, dict[str, list[Measurement]]]:
    """The measurements of all seeds of every variant of every group, in the order of the table."""
    tree: dict[str, dict[str, list[Measurement]]] = {}
    for variant, group in groups().items():
        if found := [one for one in measurements if one.variant == variant]:
            tree.setdefault(group, {})[variant] = found
    return tree


def summary(found: Measurement) -> str:
    """The quality of one run in a line."""
    bleu = ", ".join(f"{found.scores[split]['bleu']:.1f} {split}" for split in SPLITS)
    return f"BLEU {bleu}; {found.trained.target_tokens:,} target tokens"


def caption(measurements: Sequence[Measurement], failed: Sequence[str]) -> Iterator[str]:
    """What the table shows and under which conditions, in lines."""
    tokens = {one.seed: one.trained.target_tokens for one in measurements}
    counts = ", ".join(f"{count:,} with seed {seed}" for seed, count in tokens.items())
    steps = measurements[0].config["training"]["steps"]
    places = sorted({(one.jobs, one.threads) for one in measurements})
    speeds = " or ".join(f"{jobs} side by side, threads each: {threads}" for jobs, threads in places)
    yield f"Every variant was trained for {steps} steps on the same batches: target tokens {counts}."
    if BASELINE in {one.variant for one in measurements}:
        yield f"{BASELINE}: {description(BASELINE)}."
    yield "BLEU and exact matches (%) on test, on C = test_composition and on L = test_length. AER (%) on test, of the"
    yield "head that is best on the validation set; – without attention weights. tokens/s: target tokens in training,"
    yield f"median; sent./s: sentences of test translated. Runs: {speeds}."
    if len(tokens) > 1:
        yield f"Mean ± half the range over {len(tokens)} seeds; of speeds, the mean."
    if failed:
        yield f"Failed: {', '.join(failed)}."


def description(variant: str) -> str:
    """What a variant is: the first line of its file."""
    return (LABORATORY / f"{variant}.toml").read_text("utf-8").splitlines()[0].removeprefix("# ")


def as_json(measurements: Sequence[Measurement], failed: Sequence[str]) -> str:
    """Everything measured, grouped as in the table."""
    found: list[Mapping[str, Any]] = [
        {"variant": variant, "group": group, "description": description(variant), "runs": [asdict(one) for one in runs]}
        for group, variants in by_group(measurements).items()
        for variant, runs in variants.items()
    ]
    return json.dumps({"variants": found, "failed": list(failed)}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    typer.run(main)
