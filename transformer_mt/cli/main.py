"""From the first moment on, every failure becomes one line and an exit code.

What takes long to import, or may fail to, is imported where a failure is caught.
"""

import atexit
import gc
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from transformer_mt.cli.entry import INTERRUPTED
from transformer_mt.errors import MachineError, TmtError, is_out_of_memory
from transformer_mt.views.text import escape_controls

PIPE_CLOSED = 141
BAD_ENVIRONMENT = 3
OUR_FAULT = 70

# torch alone maps 0.7 GiB; with less than this, libraries end the process before anybody can say why.
ADDRESS_SPACE = 2**30
LONGEST_REASON = 200
# So many new objects before garbage is looked for; Python's own 700 are for programs that are smaller.
OBJECTS = 50_000
# In this file a launcher wants to find why one of its processes failed.
ERROR_FILE = "TORCHELASTIC_ERROR_FILE"


def main() -> NoReturn:
    """Run `tmt` with the arguments of the process and exit."""
    # What imports make stays: to look through it again and again for what could go takes longer than some imports.
    gc.set_threshold(OBJECTS)
    _open_streams()
    code = run(sys.argv[1:])
    # Python itself would also take torch apart piece by piece, for as long as it takes to translate some sentences.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads any more
            stream.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command; the exit code is 0, that of a `TmtError`, 3, 70 for a fault of ours, or 128 + a signal."""
    try:
        _refuse_little_memory()
        from transformer_mt.cli.app import invoke

        code = invoke(arguments or ["--help"])
        sys.stdout.flush()
    except TmtError as error:
        return _fail(str(error), error.exit_code)
    except SystemExit:
        raise
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except BaseException as error:  # libraries in Rust derive theirs from this
        return _unexpected(error)
    return code


def _unexpected(error: BaseException) -> int:
    """Report what the machine cannot do, if the error is such a thing; else it is a fault of ours."""
    if is_out_of_memory(error):
        return _fail("memory: there is not enough; lower training.batch_tokens, search.batch_size or model.width")
    if isinstance(error, OSError) and error.errno is not None:
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}; check disk and permissions")
    is_ours = isinstance(error, ImportError) and (error.name or "").startswith("transformer_mt")
    if isinstance(error, ImportError | OSError) and not is_ours:
        return _fail(f"a library cannot be loaded ({_reason(error)}); free memory, or install tmt anew")
    what = f"internal error ({type(error).__name__}: {_reason(error)})"
    return _fail(f"{what}: this is a fault of tmt; {_report(error)}; please report it", OUR_FAULT)


def _fail(message: str, code: int = BAD_ENVIRONMENT) -> int:
    """Say what went wrong: on stderr, or, as one of several processes, to the launcher, which says it once for all."""
    launcher = os.environ.get(ERROR_FILE)
    with suppress(OSError):  # there is no other place to say it
        if launcher:
            _tell_launcher(Path(launcher), message)
        else:
            print(f"tmt: error: {escape_controls(message)}", file=sys.stderr)
    return code


def _tell_launcher(path: Path, message: str) -> None:
    """Leave the message where `torchrun`, too, looks for the reason of an end, in its form."""
    import json

    extra = {"py_callstack": message, "timestamp": str(int(time.time()))}
    path.write_text(json.dumps({"message": {"message": message, "extraInfo": extra}}), "utf-8")


def _reason(error: BaseException) -> str:
    """The first line of an error's text that is not blank, cut where it is too long."""
    return (str(error).strip().splitlines() or ["no reason given"])[0][:LONGEST_REASON]


def _report(error: BaseException) -> str:
    """Write the traceback to a new file; say where it is."""
    import tempfile
    import traceback

    text = f"tmt {sys.argv[1:]}\nPython {sys.version}\n\n{''.join(traceback.format_exception(error))}"
    try:
        handle, path = tempfile.mkstemp(prefix="tmt-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as problem:
        return f"no report could be written ({problem.strerror})"
    return f"a report with the traceback is in {path}"


def _refuse_little_memory() -> None:
    """Raise `MachineError` where the process may not take what the libraries need to start."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE:
        raise MachineError(
            f"memory: the address space is limited to {limit >> 20} MiB, and tmt takes at least {ADDRESS_SPACE >> 20}; "
            "raise the limit with ulimit -v"
        )


def _open_streams() -> None:
    """Have streams that take any text. In place of a closed one stands one that fails; for stderr, one that is mute."""
    opposite = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name, flags in opposite.items():  # in the order of their numbers: `open` takes the lowest that is free
        mode, errors = ("r", "surrogateescape") if name == "stdin" else ("w", "backslashreplace")
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors=errors)
