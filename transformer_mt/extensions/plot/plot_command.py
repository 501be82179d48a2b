"""`tmt plot`: training curves, schedules and positional encodings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from transformer_mt.cli.options import RUNS, Figure, Json, Quiet, Set
from transformer_mt.cli.terminal import literal_console, note, result
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import write_output
from transformer_mt.text.terminal import escaped_json

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
    from transformer_mt.extensions.plot.plot import Points

# Number of steps at which a schedule is sampled, in addition to its ends and the end of its warm-up.
STEPS = 300


def plot(
    subjects: Annotated[
        list[Path] | None,
        Argument(metavar="RUN", help="The runs to plot. [newest under runs/]"),
    ] = None,
    schedule: Annotated[bool, Option("--schedule", help="Plot learning-rate schedules instead.")] = False,
    positions: Annotated[bool, Option("--positions", help="Plot the sinusoidal encoding instead.")] = False,
    set: Set = None,
    figure: Figure = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plot the loss, learning rate and BLEU of runs, a schedule, or the positional encoding.

    \b
    Examples:
      tmt plot
      tmt plot runs/builtin runs/small --figure training.pdf
      tmt plot --schedule multi30k --set schedule.name=cosine
      tmt plot --positions --figure positions.png

    With --schedule or --positions, RUN is a configuration: a TOML file or a name.
    """
    from transformer_mt.extensions.plot.plot import plot_positions, plot_runs, plot_schedules, read_curves
    from transformer_mt.runs.directory import Run, newest_run
    from transformer_mt.views.matrix_figure import check_figure
    from transformer_mt.views.serialise import to_json

    if schedule and positions:
        raise InputError("--positions", "--schedule plots something else", "give one of them")
    if set and not (schedule or positions):
        raise InputError(
            "--set", "changes the configuration of --schedule or --positions", "give one of them, or leave out --set"
        )
    if figure:
        check_figure(figure)
    paths = subjects or []
    if positions:
        if len(paths) > 1:
            raise InputError("--positions", "takes one configuration", "give only one")
        (config,) = _configs(paths, set).values()
        shown = plot_positions(config.model.width)
    elif schedule:
        shown = plot_schedules({name: _learning_rates(config) for name, config in _configs(paths, set).items()})
    else:
        runs = [Run.open(path) for path in paths] or [newest_run(RUNS)]
        if not paths:
            note(f"using {runs[0].path}")
        shown = plot_runs({str(run.path): read_curves(run) for run in runs})
    if figure:
        write_output(figure, shown.picture(path=figure))
    result(*([escaped_json(to_json(shown.data))] if as_json else shown.lines(width=literal_console().width)))


def _configs(paths: list[Path], overrides: list[str] | None) -> "dict[str, Config]":
    """The configurations of files by name; without files, the default configuration."""
    from transformer_mt.config.toml import load_config

    files: dict[str, Path | None] = {str(path): path for path in paths}
    return {name: load_config(path, overrides or []) for name, path in (files or {"default": None}).items()}


def _learning_rates(config: "Config") -> "Points":
    """The learning rates of a training. Raises `InputError` if the schedule does not fit it."""
    from transformer_mt.training.schedules import build_schedule

    schedule = build_schedule(config)
    last = config.training.steps
    steps = {1, min(config.schedule.warmup, last), last, *range(1, last, -(-last // STEPS))}
    return [(step, schedule(step)) for step in sorted(steps)]
