"""`tmt` from its first moment on: a signal ends it quietly, and every failure becomes one line and an exit code.

Modules that are slow to import, or may fail to, are imported where a failure is caught.
"""

import os
import sys

INTERRUPTED = 130
PIPE_CLOSED = 141
BAD_ENVIRONMENT = 3
OUR_FAULT = 70

# Every process of a training meets these. The first of a machine says so at once, whereupon torchrun ends the others.
_MET_BY_ALL, _SECONDS_FOR_THE_FIRST = (2, 4), 10.0


def main() -> None:
    """Run `tmt` with the arguments of the process and exit."""
    try:
        from transformer_mt.cli.signals import leave_on_signals

        leave_on_signals()
    except KeyboardInterrupt:  # Python's own handling of SIGINT until then
        os._exit(INTERRUPTED)
    os.environ.pop("TORCH_LOGS", None)  # torch would write among our lines, and not start with a name unknown to it
    import gc

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # or torch writes to the terminal on its own, unescaped
    _fill_closed_streams()
    streams = [stream for stream in (sys.stdin, sys.stdout, sys.stderr) if stream is not None]  # None: closed
    for stream in streams:
        encoding = "utf-8" if sys.platform == "win32" else None  # there it is that of the country
        errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
        stream.reconfigure(encoding=encoding, errors=errors)  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    for stream in streams:
        try:
            if stream is not sys.stdin:
                stream.flush()
        except OSError:  # or Python, which flushes again, ends with a code of its own
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    gc.freeze()  # or Python looks through all of torch for garbage before it ends, for most of a second
    sys.exit(code)


def _fill_closed_streams() -> None:
    """Where the shell has closed a standard stream, the next file to be opened would take its number.

    Closed, stdout refuses what is written, stderr forgets it, and stdin is still None for those who read it.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def run(arguments: list[str]) -> int:
    """Run one command; the exit code is 0, that of a `TmtError`, 3, 70 for a fault of ours, or 128 + a signal."""
    from transformer_mt.errors import TmtError

    if "train" not in arguments or os.environ.get("WORLD_SIZE", "1") in ("", "1"):  # no rank of this process
        os.environ.pop("RANK", None)
        os.environ.pop("LOCAL_RANK", None)
    try:
        from transformer_mt.cli.app import invoke

        code = invoke(arguments or ["--help"])
        print(end="", flush=True)
    except TmtError as error:
        return _fail(str(error), error.exit_code)
    except SystemExit as error:  # of a shell that completes
        from transformer_mt.plugins import fault_of

        if not fault_of(error):
            raise
        return _unexpected(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except BaseException as error:  # libraries in Rust derive theirs from this
        return _unexpected(error)
    return code


def _unexpected(error: BaseException) -> int:
    """Report a problem of the machine if the error is one, else a fault of ours."""
    import errno

    from transformer_mt.errors import is_out_of_memory, write_report
    from transformer_mt.plugins import fault_of

    if is_out_of_memory(error):
        return _fail("memory: there is not enough; lower training.batch_tokens, search.batch_size or model.width")
    if isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None:
        return _fail("standard output: it is closed; redirect it to a file, or to /dev/null")
    if isinstance(error, OSError) and error.errno is not None:
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}; check disk and permissions")
    if fault := fault_of(error):
        return _fail(f"{': '.join(fault)}; correct the plugin ({write_report(error)})", 2)
    reason = (str(error).strip().splitlines() or ["no reason given"])[0][:200]
    is_ours = isinstance(error, ImportError) and (error.name or "").startswith("transformer_mt")
    if isinstance(error, ImportError | OSError) and not is_ours:
        return _fail(f"a library cannot be loaded ({reason}); free memory, or install tmt anew")
    what = f"internal error ({type(error).__name__}: {reason})"
    return _fail(f"{what}: this is a fault of tmt; {write_report(error)}; please report it", OUR_FAULT)


def _fail(message: str, code: int = BAD_ENVIRONMENT) -> int:
    """Print the error on stderr."""
    import time
    from contextlib import suppress

    from transformer_mt.text.terminal import message_line

    rank, local_rank = os.environ.get("RANK", "0"), os.environ.get("LOCAL_RANK", "0")
    if code in _MET_BY_ALL and local_rank.strip("0").isdecimal():
        time.sleep(_SECONDS_FOR_THE_FIRST)
    place = "" if rank == "0" else f"rank {rank}: "
    with suppress(OSError):  # there is no other place to say it
        print(f"tmt: error: {message_line(place + message)}", file=sys.stderr)
    return code
