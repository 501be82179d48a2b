import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import load_config
from transformer_mt.training.schedules import (
    SCHEDULES,
    build_schedule,
    depends_on_steps,
    inverse_sqrt,
    noam,
)

STEPS = 83

every_schedule = pytest.mark.parametrize("name", SCHEDULES)
steps = st.integers(1, 10**6)
warmups = st.integers(1, 10**5)
peaks = st.floats(1e-6, 10)


def configured(name: str, *, steps: int = STEPS, epochs: int = 0, **numbers: Any) -> Config:
    overrides = [f"training.steps={steps}", f"training.epochs={epochs}", "model.width=17"]
    overrides += [f"schedule.{key}={value}" for key, value in numbers.items()]
    return load_config(None, [f"schedule.name={name}", *overrides])


def rates(name: str, *, warmup: int, steps: int = STEPS) -> list[float]:
    schedule = build_schedule(configured(name, warmup=warmup, steps=steps))
    return [schedule(step) for step in range(1, steps + 1)]


@given(step=steps, width=st.integers(1, 2048), factor=st.floats(0.01, 10), warmup=warmups)
def test_noam_matches_the_formula(step: int, width: int, factor: float, warmup: int) -> None:
    rising, falling = step / warmup**1.5, 1 / step**0.5
    expected = factor / width**0.5 * min(rising, falling)
    assert noam(step, width=width, factor=factor, warmup=warmup, learning_rate=0.0) == pytest.approx(expected)


# The share of the peak after `past` steps since the warm-up, with `rest` steps in all: just above zero at the end.
DECAYS: dict[str, Callable[[int, int], float]] = {
    "constant": lambda past, rest: 1.0,
    "linear": lambda past, rest: 1 - past / (rest + 1),
    "cosine": lambda past, rest: (1 + math.cos(math.pi * past / (rest + 1))) / 2,
}


@pytest.mark.parametrize("name", DECAYS)
@given(peak=peaks, warmup=st.integers(1, 50), rest=st.integers(1, 50))
def test_rates_rise_evenly_and_decay_by_the_formula(name: str, peak: float, warmup: int, rest: int) -> None:
    ending = {"steps": warmup + rest} if name != "constant" else {}
    found = [SCHEDULES[name](step, learning_rate=peak, warmup=warmup, **ending) for step in range(1, warmup + rest + 1)]
    expected = [step / warmup for step in range(1, warmup)] + [DECAYS[name](past, rest) for past in range(rest + 1)]
    assert found == pytest.approx([peak * share for share in expected])


@every_schedule
def test_only_decaying_schedules_depend_on_the_number_of_steps(name: str) -> None:
    short, long = rates(name, warmup=5, steps=20), rates(name, warmup=5, steps=40)[:20]
    assert depends_on_steps(configured(name).schedule) == (short != long) == (name in {"linear", "cosine"})


@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_decay_ends_with_the_epochs(name: str) -> None:
    config = configured(name, warmup=5, epochs=3)
    ends = build_schedule(config, 20)
    assert [ends(step) for step in range(1, 21)] == rates(name, warmup=5, steps=20)
    assert ends(20) > ends(21) == pytest.approx(0, abs=1e-9)
    assert ends(35) == ends(21)


@every_schedule
def test_learning_rate_is_the_peak_of_every_schedule(name: str) -> None:
    schedule = build_schedule(configured(name, warmup=11, learning_rate=0.25))
    assert max(schedule(step) for step in range(1, STEPS + 1)) == schedule(11) == 0.25


@given(step=steps, peak=peaks, warmup=warmups)
def test_noam_with_a_learning_rate_is_inverse_sqrt(step: int, peak: float, warmup: int) -> None:
    found = noam(step, width=17, factor=1.0, warmup=warmup, learning_rate=peak)
    assert found == inverse_sqrt(step, learning_rate=peak, warmup=warmup)


@every_schedule
@pytest.mark.parametrize("steps", [1, 2, 39, 40])
def test_long_warm_up_is_shortened_and_keeps_the_peak(name: str, steps: int) -> None:
    given = configured(name, warmup=40, steps=100)
    fitting, last = build_schedule(given, steps), max(1, steps // 10)
    assert max(map(fitting, range(1, steps + 1))) == fitting(last) == pytest.approx(build_schedule(given)(40))
    assert min(map(fitting, range(1, steps + 1))) > 0


def test_custom_schedule_keeps_all_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its section has a `factor` like Noam's but no `learning_rate`."""
    monkeypatch.setitem(SCHEDULES, "noam", lambda step, *, factor, warmup: factor * min(1.0, step / warmup) ** 2)
    monkeypatch.setitem(SCHEDULES, "constant", lambda step: 1 / step)
    fitting = build_schedule(configured("noam", factor=0.5, warmup=400, steps=100))
    assert fitting(5) == pytest.approx(0.5 / 4)
    assert fitting(10) == fitting(90) == 0.5
    assert build_schedule(configured("constant", warmup=400, steps=100))(50) == 1 / 50
