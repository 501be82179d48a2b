"""Measure speed and memory, as ratios to other programs and to the machine's peak.

    python scripts/benchmark.py                                        all parts
    python scripts/benchmark.py training --joeynmt joey/bin/python     also JoeyNMT, from its own environment
    python scripts/benchmark.py translation --model runs/builtin       a trained model, on its test data
    python scripts/benchmark.py scaling --svg scaling.svg

Competitors alternate, A B C A B C …, so that a drift in machine speed affects all equally. Each part prints a line
about the machine and the measurement, then a table.
"""

import sys
import tempfile
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import typer


class Part(StrEnum):
    """The measurements by name."""

    TRAINING = "training"
    TRANSLATION = "translation"
    MEMORY = "memory"
    SCALING = "scaling"
    START = "start"
    FAST_PATHS = "fast-paths"
    PAGE = "page"


def main(
    parts: Annotated[list[Part] | None, typer.Argument(metavar="PART", help="Measurements to run. [all]")] = None,
    joeynmt: Annotated[
        Path | None, typer.Option(metavar="PYTHON", help="Training: a Python interpreter with JoeyNMT.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Translation, memory, start, page: the run to use.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="Translation: another corpus, for its test split.")
    ] = None,
    sentences: Annotated[int, typer.Option(min=2, help="Translation: number of sentences; page: at most 50.")] = 500,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Scaling: also draw a picture.")] = None,
) -> None:
    """Measure speed and memory, and print Markdown tables."""
    from benchmarks.fast_paths import fast_paths_table
    from benchmarks.memory import memory_table
    from benchmarks.page import page_table
    from benchmarks.reference import Sizes
    from benchmarks.scaling import scaling_table
    from benchmarks.start import start_table
    from benchmarks.training import training_table
    from benchmarks.translation import translation_table, translation_task

    from transformer_mt.ground.errors import TmtError

    sizes = Sizes()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            task = cache(lambda: translation_task(folder, model=model, data=data, count=sentences))
            tables = {
                Part.TRAINING: lambda: training_table(sizes, folder, joeynmt=joeynmt),
                Part.TRANSLATION: lambda: translation_table(task(), folder),
                Part.MEMORY: lambda: memory_table(sizes, task(), folder),
                Part.SCALING: lambda: scaling_table(folder, svg=svg),
                Part.START: lambda: start_table(task()),
                Part.FAST_PATHS: lambda: fast_paths_table(sizes),
                Part.PAGE: lambda: page_table(task().run, count=min(sentences, 50)),
            }
            for part in parts or list(Part):
                print(f"## {part}\n\n{tables[part]()}\n", flush=True)
    except TmtError as error:
        print(f"benchmark: error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


if __name__ == "__main__":
    typer.run(main)
