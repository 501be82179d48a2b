import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from support.command_line import PROGRAM, Outcome, Tmt

from transformer_mt.cli.app import commands

COMMANDS = tuple(commands())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_starts_with_summary_and_examples(command: str, tmt: Tmt) -> None:
    outcome = tmt(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    usage, summary, examples, *_ = outcome.out.split("\n\n")
    assert usage.startswith(f"Usage: tmt {command} [OPTIONS]")
    assert summary.strip().endswith(".")
    title, *lines = examples.replace("\\\n", "").splitlines()
    assert title.strip() == "Examples:"
    assert len(lines) >= 3
    assert sum(f"tmt {command}" in line for line in lines) >= 2


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_is_plain_text_of_at_most_80_columns(command: list[str], tmt: Tmt) -> None:
    text = tmt(*command, "--help").out
    assert tmt(*command, "-h").out == text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("environment", "command", "said", "waits"),
    [
        ({"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}, "runs", "tmt: error: nowhere: ", False),
        ({"RANK": "3", "LOCAL_RANK": "1"}, "train", "tmt: error: nowhere: ", False),
        ({"RANK": "\x1b[31m", "WORLD_SIZE": "4"}, "train", "tmt: error: rank ␛[31m: nowhere: ", False),
        ({"RANK": "3", "LOCAL_RANK": "x", "WORLD_SIZE": "4"}, "train", "tmt: error: rank 3: nowhere: ", False),
        ({"RANK": "3", "LOCAL_RANK": "10", "WORLD_SIZE": "40"}, "train", "tmt: error: rank 3: nowhere: ", True),
    ],
)
def test_other_local_ranks_report_later(
    environment: dict[str, str], command: str, said: str, waits: bool, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    outcome = tmt(command, "nowhere")
    assert outcome.code == 2
    assert outcome.err.startswith(said)
    assert bool(waited) == waits


def test_no_command_prints_help(tmt: Tmt) -> None:
    bare = tmt()
    assert bare == tmt("--help")
    assert bare.code == 0
    assert all(re.search(rf"^  {command} ", bare.out, re.MULTILINE) for command in COMMANDS)


def test_version(tmt: Tmt) -> None:
    outcome = tmt("--version")
    assert (outcome.code, outcome.err) == (0, "")
    python = ".".join(map(str, sys.version_info[:3]))
    assert outcome.out == f"tmt {version('transformer_mt')} (Python {python}, torch {version('torch')})\n"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "64 64 1000 1"),
        ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "0", "GOMP_SPINCOUNT": "7"}, "64 0 7 1"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "64 64 None None"),
    ],
)
def test_torch_loads_with_our_options_unless_the_user_sets_others(
    given: dict[str, str], found: str, tmp_path: Path
) -> None:
    names = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    told = f"import os; print(*map(os.environ.get, {names}), flush=True); os._exit(0)"
    (tmp_path / "torch.py").write_text(told, "utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in (*names, "OMP_WAIT_POLICY")}
    environment |= given | {"PYTHONPATH": str(tmp_path)}
    program = [sys.executable, "-m", "transformer_mt", "translate", "--engine", "torch", "Hallo."]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout == f"{found}\n"


def completed(line: str) -> list[str]:
    """The completions that a process offers a shell for this line."""
    typed = {"_TMT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    watched = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    program = [PROGRAM[0], "-c", f"{watched}; {PROGRAM[2]}"]
    ended = subprocess.run(program, env=os.environ | typed, capture_output=True, text=True, check=True)
    assert not {"torch", "datasets", "numpy"} & set(ended.stderr.split())
    return ended.stdout.split()


@pytest.mark.slow
def test_shell_completion() -> None:
    assert completed("tmt t") == ["train", "translate"]
    assert completed("tmt train --e") == ["--epochs"]
    assert completed("tmt train --steps 1 --steps 2 --ep") == ["--epochs"]
    assert completed("tmt translate --to") == ["--top-k", "--top-p", "--to"]


def test_help_imports_no_slow_modules() -> None:
    program = (
        "import json, sys; from transformer_mt.cli.main import run; codes = [run([*c, '--help']) for c in "
        f"([], *map(lambda c: [c], {COMMANDS!r}))]; print(json.dumps([codes, sorted(sys.modules)]))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    codes, modules = json.loads(ended.stdout.splitlines()[-1])
    assert codes == [0] * (1 + len(COMMANDS))
    assert not {"torch", "datasets", "sentencepiece", "sacrebleu", "numpy", "safetensors"} & set(modules)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["+all", "no such log"])
def test_torch_logs_are_off(value: str) -> None:
    ended = subprocess.run(
        [*PROGRAM, "plot", "--positions"], env=os.environ | {"TORCH_LOGS": value}, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.slow
def test_failed_writes_to_stdout() -> None:
    shell = ["sh", "-c", 'exec "$@" > /dev/full', "sh"]
    ended = subprocess.run([*shell, *PROGRAM, "--help"], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == "tmt: error: standard output: No space left on device; check disk and permissions\n"


NO_MEMORY = "memory: not enough; lower training.batch_tokens, search.batch_size or model.width"


@pytest.fixture
def failing(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Outcome]:
    """Call a command that raises this."""

    def call(raised: BaseException) -> Outcome:
        def fail(*_: object, **__: object) -> None:
            raise raised

        monkeypatch.setattr("transformer_mt.corpus.load_corpus.load_corpus", fail)
        return tmt("data")

    return call


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 9 GiB"), NO_MEMORY),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), NO_MEMORY),
        (MemoryError(), NO_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), NO_MEMORY),
        (PermissionError(errno.EACCES, "Denied", "a\nfile"), "a␊file: Denied; check disk and permissions"),
        (
            OSError("libtorch.so: failed to map segment\nmore"),
            "cannot load a library (libtorch.so: failed to map segment); free memory, or reinstall tmt",
        ),
        (
            ImportError("\n\nno such symbol", name="torch._C"),
            "cannot load a library (no such symbol); free memory, or reinstall tmt",
        ),
    ],
)
def test_system_errors(raised: Exception, message: str, failing: Callable[[BaseException], Outcome]) -> None:
    assert failing(raised) == Outcome(3, "", f"tmt: error: {message}\n")


class Panic(BaseException):
    """Raised like the exceptions of libraries written in Rust."""


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (TypeError("a\x1b[31m bug\nand more"), "TypeError: a␛[31m bug"),
        (RuntimeError("unsupported memory format"), "RuntimeError: unsupported memory format"),
        (RecursionError(), "RecursionError: no reason given"),
        (
            ImportError("cannot import name 'x'", name="transformer_mt.text"),
            "ImportError: cannot import name 'x'",
        ),
        (ValueError("7" * 5_000), f"ValueError: {'7' * 200}"),
        (Panic("index out of bounds"), "Panic: index out of bounds"),
    ],
)
def test_internal_errors_write_a_report(
    raised: BaseException,
    reason: str,
    failing: Callable[[BaseException], Outcome],
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(workplace))
    outcome = failing(raised)
    (report,) = workplace.glob("tmt-*.txt")
    assert outcome == Outcome(
        70,
        "",
        f"tmt: error: internal error ({reason}): this is a bug in tmt; a report with the traceback is in {report}; "
        "please report it\n",
    )
    assert "Traceback (most recent call last)" in report.read_text("utf-8")
    assert type(raised).__name__ in report.read_text("utf-8")


def test_exit_codes_are_documented(tmt: Tmt) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    for text in (tmt("--help").out, readme):
        said = " ".join(text.partition("Exit codes:")[2].split()).partition(".")[0]
        assert re.findall(r"(?:^|; )(\d+) ", said.strip()) == ["0", "2", "3", "4", "70", "129", "130", "141", "143"]
