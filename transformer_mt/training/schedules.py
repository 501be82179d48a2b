"""Schedules by name: the learning rate as a pure function of the step.

To add one, write its function, register it in `SCHEDULES`, and give it a section in `config/sections.py`. A function
gets the arguments that it names: keys of its section, `width` of the model, and the total number of `steps`.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial

from transformer_mt.config.sections import Config, NoamConfig, ScheduleConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.registry import Table

# Maps the step, counted from 1, to the learning rate.
Schedule = Callable[[int], float]


def noam(step: int, *, width: int, factor: float, warmup: int, learning_rate: float) -> float:
    """factor · D^{−1/2} · min(step^{−1/2}, step · warmup^{−3/2}).

    Vaswani et al. 2017, §5.3: linear warm-up over `warmup` steps, then inverse square root decay. With a nonzero
    `learning_rate`, the peak, this is `inverse_sqrt`.
    """
    if learning_rate:
        return inverse_sqrt(step, learning_rate=learning_rate, warmup=warmup)
    return float(factor * width**-0.5 * min(step**-0.5, step * warmup**-1.5))


def constant(step: int, *, learning_rate: float, warmup: int) -> float:
    """learning_rate · min(1, step / warmup)."""
    return learning_rate * min(1.0, step / warmup)


def inverse_sqrt(step: int, *, learning_rate: float, warmup: int) -> float:
    """learning_rate · min(step / warmup, (warmup / step)^{1/2}): Noam's form, parametrised by its peak."""
    return float(learning_rate * min(step / warmup, (warmup / step) ** 0.5))


def linear(step: int, *, learning_rate: float, warmup: int, steps: int) -> float:
    """learning_rate · min(step / warmup, 1 − p), where p rises from 0 at the peak to just below 1 at the last step."""
    return learning_rate * min(step / warmup, 1.0 - _progress(step, warmup=warmup, steps=steps))


def cosine(step: int, *, learning_rate: float, warmup: int, steps: int) -> float:
    """learning_rate · min(step / warmup, (1 + cos πp) / 2), with p as in `linear`.

    Loshchilov and Hutter 2017, eq. 5, with one period and a warm-up.
    """
    fall = 0.5 * (1.0 + math.cos(math.pi * _progress(step, warmup=warmup, steps=steps)))
    return learning_rate * min(step / warmup, fall)


SCHEDULES: Table[Callable[..., float]] = Table(
    "schedule.name",
    {
        "noam": noam,
        "constant": constant,
        "inverse_sqrt": inverse_sqrt,
        "linear": linear,
        "cosine": cosine,
    },
)


def schedule_function(config: ScheduleConfig) -> Callable[..., float]:
    """The configured function. Raises `InputError` for an unknown name, or if two keys set the peak."""
    if isinstance(config, NoamConfig) and config.learning_rate and config.factor != NoamConfig().factor:
        raise InputError("schedule.learning_rate", "schedule.factor sets another peak", "leave one of them out")
    return SCHEDULES.find(config.name)


def build_schedule(config: Config, steps: int | None = None) -> Schedule:
    """Build the configured schedule for `steps` steps; the default is the configured number.

    A warm-up that is too long for them is shortened; the peak stays.
    """
    function = schedule_function(config.schedule)
    steps = config.training.steps if steps is None else steps
    known = config.schedule.model_dump() | {"width": config.model.width, "steps": steps}
    numbers = {name: known[name] for name in inspect.signature(function).parameters if name in known}
    configured = partial(function, **numbers)
    warmup = fitting_warmup(config, steps)
    if numbers.get("warmup", warmup) == warmup:
        return configured
    fitting = partial(configured, warmup=warmup)
    scale = configured(numbers["warmup"]) / fitting(warmup)  # Noam's peak depends on the warm-up
    return lambda step: scale * fitting(step)


def fitting_warmup(config: Config, steps: int) -> int:
    """The warm-up for a training of `steps` steps.

    As configured, but at most a tenth of the steps when fine-tuning or when training would end during the warm-up.
    """
    configured = config.schedule.warmup
    tenth = max(1, steps // 10)
    return min(configured, tenth) if config.init_from.run or configured >= steps else configured


def depends_on_steps(config: ScheduleConfig) -> bool:
    """True if the learning rate depends on the total number of steps."""
    return "steps" in inspect.signature(SCHEDULES.find(config.name)).parameters


def _progress(step: int, *, warmup: int, steps: int) -> float:
    """The fraction of the decay that is done: 0 until the end of the warm-up, just below 1 at the last step.

    Clipped to 1: with epochs, the total is estimated from the first, and later ones may have more steps.
    """
    return min(1.0, max(0, step - warmup) / max(1, steps - warmup + 1))
