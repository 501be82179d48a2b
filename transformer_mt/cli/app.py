"""The commands of `tmt`; a wrong command line becomes an `InputError`."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from transformer_mt.cli.terminal import telling
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.files import in_utf8
from transformer_mt.ground.plugins import Command, extensions, load_file, load_installed, resolve
from transformer_mt.text.terminal import escape_controls, without_capital

EXIT_CODES = (
    "Exit codes: 0 success; 2 usage error; 3 system error; 4 training diverged; 70 internal error; 129 hangup; "
    "130 interrupted; 141 broken pipe; 143 terminated."
)

# The commands of the core. Extensions add theirs, between these if their places say so.
COMMANDS = {
    "train": Command("Train a model", "transformer_mt.cli.train:train", 20),
    "translate": Command("Translate sentences", "transformer_mt.cli.translate:translate", 30),
    "attend": Command("Show where the model looked", "transformer_mt.cli.attend:attend", 40),
    "align": Command("Link the words of a sentence and its translation", "transformer_mt.cli.align:align", 50),
    "evaluate": Command("Score a model on test sets", "transformer_mt.cli.evaluate:evaluate", 100),
    "data": Command(
        "Show statistics and samples of a corpus", "transformer_mt.cli.data:data", 120, loads_plugins=False
    ),
    "config": Command(
        "Print the configuration or explain a key", "transformer_mt.cli.config:config", 130, loads_plugins=False
    ),
    "runs": Command("List the runs in a folder", "transformer_mt.cli.runs:runs", 140, loads_plugins=False),
}


def commands() -> dict[str, Command]:
    """All commands by name, in help order."""
    found = dict(COMMANDS)
    for name, extension in extensions().items():
        if both := found.keys() & extension.commands.keys():
            raise InputError(f"plugin {name}", f"the command {min(both)} exists already", "give it another name")
        found |= extension.commands
    return dict(sorted(found.items(), key=lambda item: item[1].place))


# Commands with more options list them in groups, in this order.
MOST_UNGROUPED = 12
SEARCH, HEADS, DATA, OUTPUT = "Search (default: the run's settings)", "Heads", "Data", "Output"
GROUPS = ("Arguments", "Options", DATA, HEADS, SEARCH, OUTPUT)

# Names of arguments in the packages below, and of the command parameters that set them.
PARAMETERS = {
    "source": "sentence",
    "sentence": "sentence_number",
    "data.corpus": "data",
    "overrides": "set",
    "key": "subject",
}


class TmtCommand(TyperCommand):
    """A command that rejects repeated options and groups its options in the help.

    Typer would silently use the last value of a repeated option. Notes and progress are shown unless `--quiet` is
    given. An error that names an argument gets the option's name.
    """

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A shell completes a line that may be wrong yet.
        order = [] if ctx.resilient_parsing else self.make_parser(ctx).parse_args(list(args))[2]
        for parameter in order:
            is_repeatable = parameter.param_type_name == "argument" or parameter.multiple
            if order.count(parameter) > 1 and not is_repeatable:
                raise InputError(parameter.opts[0], "given more than once", "give it once")
        return super().parse_args(ctx, args)

    @override
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the options as typer does, but one section per group where there are many."""
        parameters = self.get_params(ctx)
        is_grouped = sum(one.param_type_name == "option" for one in parameters) > MOST_UNGROUPED
        sections: dict[str, list[Any]] = {title: [] for title in GROUPS}
        for one in parameters:
            kind = "Arguments" if one.param_type_name == "argument" else "Options"
            group = getattr(one, "rich_help_panel", None) if is_grouped else None
            if record := one.get_help_record(ctx):  # none of a hidden option
                sections[group or kind].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    @override
    def invoke(self, ctx: Any) -> Any:
        if commands()[self.name or ""].loads_plugins:
            load_installed()
        try:
            with telling(quiet=bool(ctx.params.get("quiet"))):
                return super().invoke(ctx)
        except TmtError as error:
            error.key = self.option(error.key)
            raise

    def option(self, key: Any) -> Any:
        """The option for an argument name, such as `--n-best` for `n_best`; any other key unchanged."""
        if not isinstance(key, str):
            return key
        names = {one.name: option_name(one) for one in self.params}
        return ", ".join(names.get(PARAMETERS.get(part, part), part) for part in key.split(", "))


def option_name(parameter: Any) -> str:
    """The name of an option as typed, or of an argument as in the help."""
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar)


def only_utf8(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing texts that are not UTF-8, as in files; paths may be anything."""

    @wraps(command)
    def checked(**arguments: Any) -> None:
        for name, given in arguments.items():
            for text in given if isinstance(given, list) else [given]:
                if isinstance(text, str):
                    in_utf8(text, name)
        command(**arguments)

    return checked


class LazyCommands(Mapping[str, Any]):
    """The commands, each built on first use. An unknown one may belong to an installed plugin."""

    def __getitem__(self, name: str) -> Any:
        if name not in commands():
            load_installed()
        only = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        only.command(name, cls=TmtCommand)(only_utf8(resolve(commands()[name].function)))
        return get_command(only)

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())


class Commands(TyperGroup):
    """The command group; its help imports no command."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()  # type: ignore[assignment]

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, escape_controls(command.summary)) for name, command in commands().items()])


app = typer.Typer(
    name="tmt",
    cls=Commands,
    help="Train a translation Transformer, translate with it, and look inside its attention.",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# Set by shells for completion.
COMPLETION = "_TMT_COMPLETE"


def _print_version(asked: bool) -> bool:
    if asked:
        from importlib.metadata import version

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"tmt {version('transformer_mt')} (Python {python}, torch {version('torch')})")
        raise typer.Exit
    return asked


def _load(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or []:
        load_file(path)
    return paths


@app.callback()
def main(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="Load this Python file first: your own parts.", callback=_load, is_eager=True),
    ] = None,
) -> None:
    """Handle the options before a command."""


# Base class of typer's command-line errors. Depending on its version, typer bundles click or imports it.
UsageProblem: type[Exception] = typer.BadParameter.__mro__[1]


def invoke(arguments: list[str]) -> int:
    """Run the command that the arguments name and return its exit code.

    Bypasses typer's own `main`, which turns a broken pipe into exit code 1. Raises `InputError` for a wrong command
    line, whatever the command raises, and `SystemExit` when a shell asks for completions.
    """
    command = get_command(app)
    if COMPLETION in os.environ:
        command.main(arguments, prog_name="tmt")
    try:
        with command.make_context("tmt", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except UsageProblem as error:
        raise InputError(*_usage(error)) from None
    return 0


def _usage(error: Any) -> tuple[str, str, str]:
    """The place, problem and remedy of a mistake in the command line."""
    command = error.ctx.command_path if error.ctx else "tmt"
    place = getattr(error, "option_name", command)
    problem, *remedies = re.split(r"\. (?=Did you mean)", error.message.rstrip("."))
    remedy = "".join(remedies)
    if parameter := getattr(error, "param", None):
        place = option_name(parameter)
    if hasattr(error, "possibilities"):  # an unknown option
        problem = "no such option"
        near = " or ".join(name for name in error.possibilities or () if name != "--help")
        remedy = f"did you mean {near}?" if near else f"see {command} --help, or put -- before text that starts with -"
        if error.ctx.parent and any(place in own.opts for own in error.ctx.parent.command.params):
            remedy = f"give it before the command, as in tmt {place}"
    return place, without_capital(problem) or "missing", without_capital(remedy) or f"see {command} --help"
