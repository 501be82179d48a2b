"""The entry point `tmt`: the commands, and how every failure becomes one line and an exit code."""

import os
import sys
from typing import Any, NoReturn

import typer
from typer.main import get_command

from transformer_mt.cli.attend import attend
from transformer_mt.cli.config import config
from transformer_mt.cli.data import data
from transformer_mt.cli.evaluate import evaluate
from transformer_mt.cli.train import train
from transformer_mt.cli.translate import translate
from transformer_mt.errors import TmtError
from transformer_mt.inspection.escape import escape_controls

app = typer.Typer(
    name="tmt",
    help="Train a translation Transformer, translate with it, and look inside its attention.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (train, translate, attend, evaluate, data, config):
    app.command()(command)

# What typer raises for a wrong command line. By its version it brings its own click or uses the one that is installed.
UsageProblem: type[Exception] = typer.BadParameter.__mro__[1]

INTERRUPTED = 130
PIPE_CLOSED = 141
BAD_INPUT = 2
BAD_ENVIRONMENT = 3


def main() -> NoReturn:
    """Run `tmt` with the arguments of the process and exit."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; the exit code is 0, 2 for the user's input, 3 for the environment, or 128 + a signal."""
    try:
        code = _invoke(arguments or ["--help"])
        sys.stdout.flush()
    except TmtError as error:
        return _fail(str(error), error.exit_code)
    except UsageProblem as error:
        return _fail(_usage(error), BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    except OSError as error:
        _silence_stdout()
        return _fail(f"{error.filename or 'standard output'}: {error.strerror or error}; check disk and permissions")
    except RuntimeError as error:
        if "memory" not in str(error):  # torch has no common class for what CPU and CUDA raise
            raise
        return _fail("memory: there is not enough; lower training.batch_tokens, search.batch_size or model.width")
    return code


def _invoke(arguments: list[str]) -> int:
    """Run the command that the arguments name. Typer's own `main` is passed by: it takes a closed pipe for code 1."""
    command = get_command(app)
    try:
        with command.make_context("tmt", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def _fail(message: str, code: int = BAD_ENVIRONMENT) -> int:
    print(f"tmt: error: {escape_controls(message)}", file=sys.stderr)
    return code


def _usage(error: Any) -> str:
    """What is wrong with the command line, with the place first and the remedy last."""
    command = error.ctx.command_path if error.ctx else "tmt"
    problem, _, hint = _lower(error.message.rstrip(".")).partition(". ")
    remedy = _lower(hint) or f"see {command} --help"
    if isinstance(error, typer.BadParameter) and error.param is not None:
        parameter: Any = error.param
        place = parameter.opts[0] if parameter.param_type_name == "option" else parameter.human_readable_name
        return f"{place}: {problem}; {remedy}"
    if hasattr(error, "possibilities"):  # of options, where this one does not exist
        near = " or ".join(error.possibilities or ())
        return f"{error.option_name}: there is no such option; {f'did you mean {near}?' if near else remedy}"
    return f"{getattr(error, 'option_name', command)}: {problem}; {remedy}"


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _silence_stdout() -> None:
    """Nobody reads any more: let Python's own flush at the end go to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
