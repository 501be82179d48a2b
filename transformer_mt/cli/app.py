"""The commands of `tmt`; a wrong command line becomes an `InputError`."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from transformer_mt.cli.terminal import telling
from transformer_mt.errors import InputError, TmtError
from transformer_mt.files import decoded
from transformer_mt.plugins import load_file, load_installed
from transformer_mt.text.terminal import without_capital

EXIT_CODES = (
    "Exit codes: 0 success; 2 usage error; 3 system error; 4 training diverged; 70 internal error; 129 hangup; "
    "130 interrupted; 141 broken pipe; 143 terminated."
)

# Commands in help order. Each summary fits on one line.
SUMMARIES = {
    "lesson": "Learn attention step by step",
    "train": "Train a model",
    "translate": "Translate sentences",
    "attend": "Show where the model looked",
    "align": "Link the words of a sentence and its translation",
    "explain": "Explain one row of an attention head",
    "lens": "Show what each decoder layer would predict",
    "heads": "Show what each attention head does",
    "plot": "Plot training curves, schedules or positional encodings",
    "evaluate": "Score a model on test sets",
    "score": "Score given translations",
    "data": "Show statistics and samples of a corpus",
    "config": "Print the configuration or explain a key",
    "runs": "List the runs in a folder",
    "import": "Import a Marian model",
    "export": "Export a model to another program",
    "pack": "Pack a model into one file",
    "serve": "Open your models in the browser",
}

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


class Command(TyperCommand):
    """A command that rejects repeated options and groups its options in the help.

    Typer would silently use the last value of a repeated option. Notes and progress are shown unless `--quiet` is
    given. An error that names an argument gets the option's name.
    """

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        completes = ctx.resilient_parsing  # a shell
        order = [] if completes else self.make_parser(ctx).parse_args(list(args))[2]
        given = [parameter for parameter in order if not is_repeatable(parameter)]
        for parameter in given:
            if given.count(parameter) > 1:
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
        if self.name not in WITHOUT_MODEL:
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


def is_repeatable(parameter: Any) -> bool:
    """Whether the parameter is an argument or collects repeated values."""
    return bool(getattr(parameter, "multiple", False)) or parameter.param_type_name == "argument"


def in_utf8(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing texts that are not UTF-8, as in files; paths may be anything."""

    @wraps(command)
    def checked(**arguments: Any) -> None:
        for name, given in arguments.items():
            for text in given if isinstance(given, list) else [given]:
                if isinstance(text, str):
                    decoded(text.encode(errors="surrogatepass"), name)
        command(**arguments)

    return checked


class LazyCommands(Mapping[str, Any]):
    """The commands, each built on first use from the function of its name in `cli/NAME.py`.

    A name that is a word of Python, `import`, has an underscore there.
    """

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        own = f"{name}_" if iskeyword(name) else name
        function = getattr(import_module(f"transformer_mt.cli.{own}"), own)
        only = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        only.command(name, cls=Command)(in_utf8(function))
        return get_command(only)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class Commands(TyperGroup):
    """The command group; its help imports no command."""

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

# Commands that build no model and need no installed plugins.
WITHOUT_MODEL = {"lesson", "data", "config", "plot", "runs"}
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
        bool, Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    plugin: Annotated[
        list[Path] | None, Option(metavar="FILE", help="Load this Python file first: your own components.")
    ] = None,
) -> None:
    """Handle the options before a command."""
    for path in plugin or []:
        load_file(path)


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
    problem, _, remedy = error.message.rstrip(".").partition(". ")
    parameter: Any = getattr(error, "param", None)
    if parameter is not None:
        place = option_name(parameter)
    if hasattr(error, "possibilities"):  # an unknown option
        problem = "no such option"
        near = " or ".join(error.possibilities or ())
        remedy = f"did you mean {near}?" if near else ""
        if error.ctx.parent and any(place in own.opts for own in error.ctx.parent.command.params):
            remedy = f"give it before the command, as in tmt {place}"
    return place, without_capital(problem) or "missing", without_capital(remedy) or f"see {command} --help"
