"""`tmt plot`: what training has measured, a schedule, and the position encoding as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import RUNS, Json, Npz, Quiet, Set, Svg
from transformer_mt.errors import InputError
from transformer_mt.views.text import escaped_json

if TYPE_CHECKING:
    from transformer_mt.config.sections import Config
    from transformer_mt.drawing.plots import Plot

# Positions that are shown on a screen.
SHOWN = 24


def plot(
    subjects: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="The runs to plot. [the newest one under runs/]", show_default=False),
    ] = None,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Plot the learning rates of configurations, given in place of runs.")
    ] = False,
    positions: Annotated[
        bool, typer.Option("--positions", help="Plot the sinusoidal encoding of a configuration's width.")
    ] = False,
    set: Set = None,
    svg: Svg = None,
    npz: Npz = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plot loss, learning rate and BLEU of one or several runs; a schedule; or the encoding of positions.

    \b
    Examples:
      tmt plot
      tmt plot runs/builtin runs/small --svg training.svg
      tmt plot --schedule
      tmt plot --schedule configs/multi30k.toml --set schedule.name=cosine
      tmt plot --positions --svg positions.svg

    It draws with characters, a single curve with dots and several with a letter each; --svg writes a picture that is
    light or dark as its reader wishes. --json prints the numbers: runs, each with training_loss, validation_loss,
    learning_rate and bleu as pairs of step and value; curves, a name and pairs each; or rows, one for each position.
    """

    from transformer_mt.cli.sentence import save_arrays
    from transformer_mt.cli.terminal import literal_console, prints, result
    from transformer_mt.drawing.chart_text import FINE
    from transformer_mt.files import write_output

    if schedule and positions:
        raise InputError("--positions: --schedule plots something else; give one of them")
    if set and not (schedule or positions):
        raise InputError("--set: changes the configuration of --schedule or --positions; give one of them, or leave it")
    found = _plot(subjects or [], schedule=schedule, positions=positions, overrides=set or [], quiet=quiet)
    if svg is not None:
        write_output(svg, found.svg().encode())
    if npz is not None:
        save_arrays(found, npz)
    if as_json:
        result(escaped_json(found.to_json()))
    else:
        result(*found.lines(width=literal_console().width, fine=prints(FINE)))


def _plot(subjects: list[Path], *, schedule: bool, positions: bool, overrides: list[str], quiet: bool) -> "Plot":
    from transformer_mt.cli.terminal import note
    from transformer_mt.drawing.plots import plot_positions, plot_runs
    from transformer_mt.runs.curves import read_curves
    from transformer_mt.runs.directory import Run, newest_run
    from transformer_mt.training.schedule_plot import plot_schedules

    if not (schedule or positions):
        runs = [Run.open(path) for path in subjects] or [newest_run(RUNS)]
        if not (subjects or quiet):
            note(f"using {runs[0].path}")
        return plot_runs([read_curves(run) for run in runs])
    configs = _configs(subjects, overrides)
    if schedule:
        return plot_schedules(configs)
    if len(configs) > 1:
        raise InputError("--positions: takes one configuration; give one of them")
    (config,) = configs.values()
    return plot_positions(width=config.model.width, length=SHOWN)


def _configs(paths: list[Path], overrides: list[str]) -> "dict[str, Config]":
    """The configurations of files by their names; without any, the one that training has by default."""
    from transformer_mt.config.toml import load_config

    if not paths:
        return {"default": load_config(None, overrides)}
    return {str(path): load_config(path, overrides) for path in paths}
