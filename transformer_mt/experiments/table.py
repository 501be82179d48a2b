"""The measurements as a Markdown table with a caption, and as JSON."""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from transformer_mt.experiments.experiment import Measurement

BASELINE = "baseline"


def ordered(variants: Iterable[str]) -> list[str]:
    """The variants in the order of the table: the baseline, then by name."""
    return sorted(set(variants), key=lambda variant: (variant != BASELINE, variant))


def score(split: str, name: str) -> Callable[[Measurement], float | None]:
    """A score of a split."""
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
        """The mean, with half the range where there is one; a dash where a number is unknown."""
        known = [self.factor * value for seed in seeds if (value := self.number(seed)) is not None]
        if len(known) < len(seeds):
            return "–"
        half_range = (max(known) - min(known)) / 2 if self.with_range else 0.0
        return f"{statistics.fmean(known):,.{self.digits}f}" + (f"±{half_range:,.{self.digits}f}" if half_range else "")


# Kept short for the table's width; C and L are explained below it.
COLUMNS = (
    Column("params", lambda measurement: measurement.trained.parameters),
    Column("BLEU", score("test", "bleu"), digits=1),
    Column("exact", score("test", "exact"), factor=100.0),
    Column("C BLEU", score("test_composition", "bleu"), digits=1),
    Column("C ex.", score("test_composition", "exact"), factor=100.0),
    Column("L BLEU", score("test_length", "bleu"), digits=1),
    Column("L ex.", score("test_length", "exact"), factor=100.0),
    Column("AER", score("test", "aer"), digits=1, factor=100.0),
    Column("tok./s", lambda measurement: measurement.trained.tokens_per_second, with_range=False),
    Column("sent./s", score("test", "sentences_per_second"), with_range=False),
)


def table(measurements: Sequence[Measurement]) -> list[str]:
    """The lines of a Markdown table, its columns aligned: a row for each variant."""
    rows = [["variant", *(column.heading for column in COLUMNS)]]
    rows += [[variant, *(column.cell(seeds) for column in COLUMNS)] for variant, seeds in _rows(measurements)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])])
    return ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]


def caption(
    measurements: Sequence[Measurement], failed: Sequence[str], descriptions: Mapping[str, str]
) -> Iterator[str]:
    """The meaning of the columns and the conditions of the measurements, in lines."""
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
    """Everything measured, in the order of the table."""
    variants = [
        {"variant": variant, "description": descriptions[variant], "runs": [seed.model_dump() for seed in seeds]}
        for variant, seeds in _rows(measurements)
    ]
    return json.dumps({"variants": variants, "failed": list(failed)}, ensure_ascii=False, indent=1) + "\n"


def _rows(measurements: Sequence[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Each variant with the measurements of all its seeds, in the order of the table."""
    for variant in ordered(each.variant for each in measurements):
        yield variant, [each for each in measurements if each.variant == variant]
