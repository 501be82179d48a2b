import re
from dataclasses import fields
from typing import Any

import pytest
from support.command_line import Tmt
from typer.main import get_command

from transformer_mt.cli.app import GROUPS, MOST_UNGROUPED, app, commands
from transformer_mt.cli.options import SearchOptions
from transformer_mt.config.sections import SearchConfig

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]


def test_search_options_override_the_run() -> None:
    configured = SearchConfig(beam=7, top_k=3)
    assert SearchOptions().applied_to(configured) == configured
    changed = SearchOptions(beam=10, n_best=5).applied_to(configured)
    assert changed == SearchConfig(beam=10, top_k=3, n_best=5)


@pytest.mark.parametrize(
    ("given", "configured"),
    [
        ({"temperature": 0.5, "top_k": 5, "top_p": 0.5, "seed": 5}, {"sample": True}),
        ({"beam": 6, "n_best": 3}, {}),
        ({"n_best": 3}, {"beam": 2}),
        ({"beam": 1, "length_penalty": 0.5}, {"top_k": 5}),
    ],
)
def test_effective_options_are_accepted(given: dict[str, Any], configured: dict[str, object]) -> None:
    SearchOptions(**given).applied_to(SearchConfig.model_validate(configured))


OPTIONS = [field.name for field in fields(SearchOptions)]


def test_search_options_are_search_keys() -> None:
    assert set(OPTIONS) <= set(SearchConfig.model_fields)


@pytest.mark.parametrize(
    ("command", "absent"),
    [("translate", set()), ("attend", {"n_best"}), ("evaluate", set(OPTIONS) - {"beam", "length_penalty"})],
)
def test_commands_have_the_search_options_they_use(tmt: Tmt, command: str, absent: set[str]) -> None:
    shown = tmt(command, "--help").out
    for name in OPTIONS:
        assert (f"--{name.replace('_', '-')} " in shown) == (name not in absent)
    assert "--search" not in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    assert [parameter.name for parameter in COMMANDS[name].params if not parameter.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_many_options_are_grouped(name: str, tmt: Tmt) -> None:
    text = tmt(name, "--help").out
    groups = [title for title in GROUPS if f"\n{title}:\n" in text and title != "Arguments"]
    assert (len(groups) > 1) == (len(re.findall("^  (?:-h, )?--", text, re.MULTILINE)) > MOST_UNGROUPED)


def test_command_summaries_fit_one_line(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = tmt("--help").lines
    for name, command in commands().items():
        assert f"  {name:9}  {command.summary}" in lines
