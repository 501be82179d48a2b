"""Schedules as curves: the learning rate of each step of a training."""

from collections.abc import Mapping

from transformer_mt.config.sections import Config
from transformer_mt.drawing.chart import Series
from transformer_mt.drawing.plots import SchedulesPlot
from transformer_mt.training.schedules import configured_schedule

# Steps at which a curve is measured, besides its ends and the end of its warm-up.
_POINTS = 300


def plot_schedules(configs: Mapping[str, Config]) -> SchedulesPlot:
    """The learning rates that configurations, by their names, give to the steps from 1 to `training.steps`.

    Raises `InputError` for a schedule that does not fit the training.
    """
    return SchedulesPlot(tuple(_curve(name, config, group) for group, (name, config) in enumerate(configs.items())))


def _curve(name: str, config: Config, group: int) -> Series:
    schedule, last = configured_schedule(config), config.training.steps
    steps = {1, min(config.schedule.warmup, last), last, *range(1, last, -(-last // _POINTS))}
    return Series(name, tuple((step, schedule(step)) for step in sorted(steps)), group)
