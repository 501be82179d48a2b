"""The commands of `tmt`, and how a wrong command line becomes an `InputError`."""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from transformer_mt.cli.terminal import telling
from transformer_mt.errors import InputError, TmtError
from transformer_mt.plugins import load_file, load_installed

EXIT_CODES = (
    "Exit codes: 0 done; 2 a mistake in what was given; 3 a problem of the machine; 4 training diverged; 70 a fault of "
    "tmt; 129 the terminal was closed; 130 Ctrl-C; 141 nobody reads the output; 143 terminated."
)

# The commands in the order of the help, each with a summary that fits into a line.
SUMMARIES = {
    "train": "Train a model",
    "translate": "Translate sentences",
    "attend": "Show where the model looked",
    "align": "Link the words of a sentence and its translation",
    "explain": "Explain one row of an attention head",
    "lens": "Show what each decoder layer would write",
    "heads": "Show what each attention head does",
    "plot": "Plot training curves, schedules, positions",
    "evaluate": "Translate test sets and score them",
    "score": "Score given translations",
    "data": "Show what a corpus holds",
    "config": "Print the configuration, or explain a key",
    "runs": "List the runs in a folder",
    "export": "Write a model for another program",
    "serve": "Open your models in the browser",
}

# The parameters of commands whose names are not those that the packages below use.
PARAMETERS = {
    "source": "sentence",
    "sentence": "sentence_number",
    "data.corpus": "data",
    "overrides": "set",
    "key": "subject",
}


class Command(TyperCommand):
    """A command that refuses an option given twice, of which typer would take the last value.

    It tells what it does, unless `--quiet` is given. An error that names an argument gets the option's name.
    """

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        order = [] if ctx.resilient_parsing else self.make_parser(ctx).parse_args([*args])[2]  # a shell completes
        given = [parameter for parameter in order if not is_repeatable(parameter)]
        for parameter in given:
            if given.count(parameter) > 1:
                raise InputError(parameter.opts[0], "is given more than once", "give it once")
        return super().parse_args(ctx, args)

    @override
    def invoke(self, ctx: Any) -> Any:
        if self.name not in WITHOUT_MODEL:
            load_installed()
        try:
            with telling(quiet=bool(ctx.params.get("quiet"))):
                return super().invoke(ctx)
        except TmtError as error:
            error.key = self.option(error.key)
            raise

    def option(self, key: Any) -> Any:
        """The option for the name of an argument, such as `--n-best` for `n_best`; any other key stays as it is."""
        if not isinstance(key, str):
            return key
        names = {one.name: option_name(one) for one in self.params}
        return ", ".join(names.get(PARAMETERS.get(part, part), part) for part in key.split(", "))


def option_name(parameter: Any) -> str:
    """An option as it is typed; an argument as the help calls it."""
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar)


def is_repeatable(parameter: Any) -> bool:
    """True for an option that collects what it is given, and for an argument."""
    return bool(getattr(parameter, "multiple", False)) or parameter.param_type_name == "argument"


class LazyCommands(Mapping[str, Any]):
    """The commands, each made from the function of its name in `cli/NAME.py` when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        function = getattr(import_module(f"transformer_mt.cli.{name}"), name)
        only = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        only.command(name, cls=Command)(function)
        return get_command(only)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class Commands(TyperGroup):
    """All commands; their help imports none of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()  # type: ignore[assignment]

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


app = typer.Typer(
    name="tmt",
    cls=Commands,
    help="Train a translation Transformer, translate with it, and look inside its attention.",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# Commands that build no model, and need no plugin of an installed package.
WITHOUT_MODEL = {"data", "config", "plot", "runs"}
# Set by shells for completion.
COMPLETION = "_TMT_COMPLETE"


def _print_version(asked: bool) -> bool:
    if asked:
        from importlib.metadata import version

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"tmt {version('transformer_mt')} (Python {python}, torch {version('torch')})")
        raise typer.Exit
    return asked


@app.callback()
def main(
    version: Annotated[
        bool, Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    plugin: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Run this Python file first, with parts of your own.")
    ] = None,
) -> None:
    """Options before a command."""
    for path in plugin or []:
        load_file(path)


# What typer raises for a wrong command line. By its version it brings its own click or uses the one that is installed.
UsageProblem: type[Exception] = typer.BadParameter.__mro__[1]


def invoke(arguments: list[str]) -> int:
    """Run the command that the arguments name. Typer's own `main` is passed by: it takes a closed pipe for code 1.

    Raises `InputError` for a wrong command line, and whatever the command does; `SystemExit` where a shell asks how a
    line goes on.
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
    """A mistake in the command line: where, what, and a remedy."""
    command = error.ctx.command_path if error.ctx else "tmt"
    place = getattr(error, "option_name", command)
    problem, _, remedy = error.message.rstrip(".").partition(". ")
    parameter: Any = getattr(error, "param", None)
    if parameter is not None:
        place = option_name(parameter)
    if hasattr(error, "possibilities"):  # of options, where this one does not exist
        problem, near = "there is no such option", " or ".join(error.possibilities or ())
        remedy = f"did you mean {near}?" if near else ""
        if error.ctx.parent and any(place in own.opts for own in error.ctx.parent.command.params):
            remedy = f"give it before the command, as in tmt {place}"
    return place, _lower(problem) or "missing", _lower(remedy) or f"see {command} --help"


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"
