"""The start of `tmt`: signals end it quietly, and every failure becomes one line and an exit code.

Modules that import slowly or may fail to import are imported where failures are caught.
"""

import os
import sys

INTERRUPTED = 130
PIPE_CLOSED = 141
BAD_ENVIRONMENT = 3
OUR_FAULT = 70

# Variables that torch's libraries read: the sizes of caches, and how long OpenMP's threads spin.
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
WAITS = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}

# All processes of a training hit these errors. The first process of a machine reports at once, and torchrun then ends
# the others.
_MET_BY_ALL = (2, 4)
_SECONDS_FOR_THE_FIRST = 10.0


def main() -> None:
    """Run `tmt` with the process's arguments, and exit."""
    try:
        from transformer_mt.cli.signals import leave_on_signals

        leave_on_signals()
    except KeyboardInterrupt:  # Python's own SIGINT handling, until then
        os._exit(INTERRUPTED)
    os.environ.pop("TORCH_LOGS", None)  # torch would log between our lines, and refuse to start with an unknown name
    import gc

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # else torch writes unescaped text to the terminal
    set_library_options(os.environ)
    _fill_closed_streams()
    streams = [stream for stream in (sys.stdin, sys.stdout, sys.stderr) if stream]  # None: closed
    for stream in streams:
        encoding = "utf-8" if sys.platform == "win32" else None  # the default there depends on the country
        errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
        stream.reconfigure(encoding=encoding, errors=errors)  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    for stream in streams:
        try:
            if stream is not sys.stdin:
                stream.flush()
        except OSError:  # else Python flushes again and exits with its own code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    gc.freeze()  # else Python collects garbage in all of torch before it exits, for most of a second
    sys.exit(code)


def set_library_options(environment: "os._Environ[str] | dict[str, str]") -> None:
    """Keep few compiled products and wait without spinning, unless the environment says otherwise. Call before torch.

    oneDNN compiles each new shape of a bfloat16 product, and by default keeps 1,024 of them. torch keeps them too, so
    both caches need a limit. It must exceed the products of a training step, about 40.

    OpenMP's threads spin while they wait for each other. If another program needs their processors, the thread that
    they wait for gets its turn late, and a step takes several times as long. GNU's library spins 300,000 times by
    default, and LLVM's and Intel's for 200 ms; 1 ms is the shortest time that all their versions can express, and that
    doesn't put threads to sleep between two products.
    """
    waits = {} if "OMP_WAIT_POLICY" in environment else WAITS
    for name, value in (CACHES | waits).items():
        environment.setdefault(name, value)


def _fill_closed_streams() -> None:
    """Open `/dev/null` for standard streams the shell has closed, so that no other file gets their numbers.

    A closed stdout then refuses writes, a closed stderr drops them, and a closed stdin stays None.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - open until the process ends
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def run(arguments: list[str]) -> int:
    """Run one command and return the exit code: 0, a `TmtError`'s, 3, 70 for an internal error, or 128 + a signal."""
    from transformer_mt.ground.errors import TmtError

    if "train" not in arguments or os.environ.get("WORLD_SIZE", "1") in ("", "1"):  # not a rank of a training
        os.environ.pop("RANK", None)
        os.environ.pop("LOCAL_RANK", None)
    try:
        from transformer_mt.cli.app import invoke

        code = invoke(arguments or ["--help"])
        print(end="", flush=True)
    except TmtError as error:
        return _fail(str(error), error.exit_code)
    except SystemExit as error:  # from shell completion
        from transformer_mt.ground.plugins import fault_of

        if not fault_of(error):
            raise
        return _unexpected(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except BaseException as error:  # exceptions of Rust libraries derive from this
        return _unexpected(error)
    return code


def _unexpected(error: BaseException) -> int:
    """Report a system error, a plugin's fault, or else an internal error; return its exit code."""
    import errno

    from transformer_mt.ground.errors import is_out_of_memory, write_report
    from transformer_mt.ground.plugins import fault_of

    if is_out_of_memory(error):
        return _fail("memory: not enough; lower training.batch_tokens, search.batch_size or model.width")
    if isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None:
        return _fail("standard output: is closed; redirect it to a file or /dev/null")
    if isinstance(error, OSError) and error.errno is not None:
        return _fail(f"{error.filename or 'standard output'}: {error.strerror}; check disk and permissions")
    if fault := fault_of(error):
        return _fail(f"{': '.join(fault)}; correct the plugin ({write_report(error)})", 2)
    reason = (str(error).strip().splitlines() or ["no reason given"])[0][:200]
    is_ours = isinstance(error, ImportError) and (error.name or "").startswith("transformer_mt")
    if isinstance(error, ImportError | OSError) and not is_ours:
        return _fail(f"cannot load a library ({reason}); free memory, or reinstall tmt")
    what = f"internal error ({type(error).__name__}: {reason})"
    return _fail(f"{what}: this is a bug in tmt; {write_report(error)}; please report it", OUR_FAULT)


def _fail(message: str, code: int = BAD_ENVIRONMENT) -> int:
    """Print the error on stderr and return the exit code."""
    import time
    from contextlib import suppress

    from transformer_mt.text.terminal import message_line

    rank = os.environ.get("RANK", "0")
    local_rank = os.environ.get("LOCAL_RANK", "0")
    if code in _MET_BY_ALL and local_rank.strip("0").isdecimal():
        time.sleep(_SECONDS_FOR_THE_FIRST)
    place = "" if rank == "0" else f"rank {rank}: "
    with suppress(OSError):  # nowhere else to report it
        print(f"tmt: error: {message_line(place + message)}", file=sys.stderr)
    return code
