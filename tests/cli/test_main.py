import json
import os
import re
import subprocess
import sys

import pytest
from support.command_line import Tmt

COMMANDS = ("train", "translate", "attend", "evaluate", "data")
PROGRAM = [sys.executable, "-c", "from transformer_mt.cli.main import main; main()"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_opens_with_a_sentence_and_examples(command: str, tmt: Tmt) -> None:
    outcome = tmt(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    usage, summary, examples, *_ = outcome.out.split("\n\n")
    assert usage.startswith(f"Usage: tmt {command} [OPTIONS]")
    assert summary.strip().endswith(".")
    title, *lines = examples.splitlines()
    assert title.strip() == "Examples:"
    assert len(lines) >= 3
    assert all(f"tmt {command}" in line for line in lines)


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_is_plain_text_of_at_most_80_columns(command: list[str], tmt: Tmt) -> None:
    text = tmt(*command, "--help").out
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_command_the_help_comes(tmt: Tmt) -> None:
    bare = tmt()
    assert bare == tmt("--help")
    assert bare.code == 0
    assert all(re.search(rf"^  {command} ", bare.out, re.MULTILINE) for command in COMMANDS)


def test_help_imports_nothing_slow() -> None:
    program = (
        "import json, sys; from transformer_mt.cli.main import run; codes = [run([*c, '--help']) for c in "
        f"([], *map(lambda c: [c], {COMMANDS!r}))]; print(json.dumps([codes, sorted(sys.modules)]))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    codes, modules = json.loads(ended.stdout.splitlines()[-1])
    assert codes == [0] * 6
    assert not {"torch", "datasets", "sentencepiece", "sacrebleu", "numpy", "safetensors"} & set(modules)


def test_a_real_process_ends_with_the_code_and_without_a_traceback() -> None:
    ended = subprocess.run([*PROGRAM, "train", "--bogus"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "tmt: error: --bogus: there is no such option; see tmt train --help\n"


def test_help_for_nobody_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([*PROGRAM, "--help"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_results_that_find_no_room_are_one_line() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr == "tmt: error: standard output: No space left on device; check disk and permissions\n"


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 9 GiB"),
            3,
            "tmt: error: memory: there is not enough; lower training.batch_tokens, search.batch_size or model.width\n",
        ),
    ],
)
def test_what_the_machine_cannot_do_is_no_traceback(
    raised: BaseException, code: int, message: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr("transformer_mt.corpus.load.load_corpus", fail)
    outcome = tmt("data")
    assert (outcome.code, outcome.err) == (code, message)


def test_our_own_bugs_keep_their_traceback(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("transformer_mt.corpus.load.load_corpus", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        tmt("data")
