"""However training is stopped, the same command ends with the same weights."""

import ast
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest
from support.command_line import PROGRAM, Tmt, settings, weights
from support.person import Person

LONGER = settings(
    training__steps="100", training__validate_every="50", training__checkpoint_every="5", training__log_every="1"
)

# Seconds before a process counts as hung, on the slowest machine.
LONGEST = 240
# Seconds within which a signal must end a process.
AT_ONCE = 5


def train(data: str, run: Path) -> list[str]:
    return ["train", "--data", data, "--run-dir", str(run), *LONGER]


@pytest.fixture(scope="module")
def uninterrupted(home: Path) -> str:
    """The final weights of an undisturbed training."""
    from transformer_mt.cli.main import run

    assert run(train(str(home / "data"), home / "uninterrupted")) == 0
    return weights(home / "uninterrupted")


@contextmanager
def child(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that is killed at the end of the block, or after `LONGEST` seconds."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        limit = Timer(LONGEST, process.kill)
        limit.start()
        try:
            yield process
        finally:
            process.kill()
            limit.cancel()


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """The stderr of a process up to the line that contains the text."""
    seen = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return "".join(seen)
    pytest.fail(f"no {text} within {LONGEST} seconds:\n{''.join(seen)}")


def hanging_in(module: str, name: str) -> list[str]:
    """`tmt` with a function replaced by one that prints `hanging` to stderr and never returns."""
    return [
        sys.executable,
        "-c",
        "import sys, time\n"
        "def hang(*_, **__):\n"
        "    print('hanging', file=sys.stderr, flush=True)\n"
        "    while True: time.sleep(0.01)\n"
        f"from {module} import {name.split('.')[0]}\n"
        f"import {module} as module\n"
        f"module.{name} = hang\n"
        "from transformer_mt.cli.main import main; main()",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_finishes_the_step_and_saves(
    number: int, code: int, data: str, uninterrupted: str, workplace: Path, tmt: Tmt
) -> None:
    with child(*PROGRAM, *train(data, workplace / "run")) as process:
        seen = read_until(process, "step 3/")
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (code, "")
    (step,) = re.findall(r"^tmt: stopped at step (\d+), saved; run the same command to resume$", err, re.MULTILINE)
    assert 3 <= int(step) < 100
    assert (workplace / f"run/checkpoints/step-{step}").is_dir()
    assert "Traceback" not in seen + err
    continued = tmt(*train(data, workplace / "run"))
    assert continued.code == 0
    assert f"tmt: continuing {workplace / 'run'} from step {step}\n" in continued.err
    assert weights(workplace / "run") == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number", "place"),
    [
        ("train --run-dir new", signal.SIGHUP, ("transformer_mt.training.session", "load_corpus")),
        ("evaluate --model {run} --data {data}", signal.SIGTERM, ("transformer_mt.evaluation.evaluate", "evaluate")),
        ("attend --model {run} Ja", signal.SIGINT, ("transformer_mt.views.subject", "translation_by")),
        ("translate --model {run} Ja", signal.SIGTERM, ("transformer_mt.translation.torch_engine", "beam_search")),
        (
            "translate --model {run} --output old Ja",
            signal.SIGTERM,
            ("transformer_mt.cli.line_io", "TranslationJob.run"),
        ),
    ],
)
def test_signal_ends_a_command_quietly_and_changes_no_file(
    command: str, number: int, place: tuple[str, str], trained: str, data: str, workplace: Path
) -> None:
    (workplace / "old").write_text("old")
    with child(*hanging_in(*place), *command.format(run=trained, data=data).split()) as process:
        assert "Traceback" not in read_until(process, "hanging")
        process.send_signal(number)
        out, err = process.communicate(timeout=AT_ONCE)
    assert (process.returncode, out, err) == (128 + number, "", "")
    assert [(path.name, path.read_text()) for path in workplace.iterdir()] == [("old", "old")]


@pytest.mark.slow
@pytest.mark.parametrize("module", ["signals", "app", "terminal"])
def test_interrupt_during_start_is_quiet(module: str) -> None:
    """An interrupt is quiet even while the signal module is being imported."""
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == 'transformer_mt.cli.{module}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting)\n"
        "from transformer_mt.cli.main import main; main()"
    )
    with child(sys.executable, "-c", program) as process:
        assert process.communicate() == ("", "")
    assert process.returncode == 130


@pytest.mark.slow
def test_signals_are_handled_before_imports() -> None:
    program = "import os, sys; old = {*sys.modules}; import transformer_mt.cli.main; print({*sys.modules} - old)"
    command = [sys.executable, "-S", "-c", program]  # without what the environment imports at every start
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(printed) == {"transformer_mt", "transformer_mt.cli", "transformer_mt.cli.main"}


@pytest.mark.slow
def test_ignored_signals_stay_ignored(workplace: Path) -> None:
    program = hanging_in("transformer_mt.corpus.load_corpus", "load_corpus")
    with child("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *program, "data") as process:
        read_until(process, "hanging")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=AT_ONCE) == 143


@pytest.mark.slow
def test_second_interrupt_ends_at_once(data: str, workplace: Path) -> None:
    endless = hanging_in("transformer_mt.training.trainer", "Trainer.backward")  # a step that never ends
    person = Person(*endless, *train(data, workplace / "run"))
    person.sees(b"hanging")
    person.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert person.process.poll() is None
    person.process.send_signal(signal.SIGINT)
    screen = person.ends(130)
    assert 0 <= screen.rfind("\x1b[?25l") < screen.rfind("\x1b[?25h")  # the cursor is hidden, then shown
    assert "Traceback" not in screen
