import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transformer_mt.errors import MachineError
from transformer_mt.tokenizer import learning as vocabulary
from transformer_mt.tokenizer.learning import learn

OPTIONS = {"vocab_size": 300, "byte_fallback": True, "num_threads": 1, "minloglevel": 2}
KINDS = ("unigram", "bpe")


def sentences(count: int) -> list[str]:
    draw = random.Random(1)
    return [" ".join("".join(draw.choices("aäbdeghinrstuß…", k=5)) for _ in range(7)) for _ in range(count)]


def learn_elsewhere(monkeypatch: pytest.MonkeyPatch, text: list[str], kind: str, **changes: int) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(vocabulary, "FEW", -1)
        return learn(text, OPTIONS | {"model_type": kind} | changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_of_its_own_learns_the_same_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sentences(300)
    assert learn_elsewhere(monkeypatch, text, kind) == learn(text, OPTIONS | {"model_type": kind})


@pytest.mark.parametrize(("text", "changes"), [([], {}), (sentences(20), {"vocab_size": 9_000})])
def test_its_refusal_is_the_same_too(
    text: list[str], changes: dict[str, int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError) as there:
        learn_elsewhere(monkeypatch, text, "unigram", **changes)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(RuntimeError) as here:
        learn(text, OPTIONS | {"model_type": "unigram"} | changes)
    assert str(there.value) == str(here.value) != ""


def test_much_text_is_learned_elsewhere_and_little_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    assert learn(["aß b"] * (vocabulary.FEW // 4), OPTIONS | {"vocab_size": 264})
    with pytest.raises(TypeError):
        learn(["aß b"] * (vocabulary.FEW // 4 + 1), OPTIONS | {"vocab_size": 264})


def test_nothing_in_the_working_directory_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sentencepiece.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert learn_elsewhere(monkeypatch, sentences(300), "bpe")


def test_a_process_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho oops >&2; kill -9 $$\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(MachineError, match=r"^vocabulary: the process that learns it ended with code -9; free "):
        learn_elsewhere(monkeypatch, sentences(9_000), "bpe")
    assert capfd.readouterr() == ("", "")


# Learning that takes far longer than the test.
LONG = (
    "from transformer_mt.cli.signals import leave_on_signals; leave_on_signals()\n"
    "import random; from transformer_mt.tokenizer.learning import learn\n"
    "text = [''.join(random.choices('abcdefgh ', k=4_000)) for _ in range(1_000)]\n"
    "learn(text, {'vocab_size': 8_000, 'model_type': 'unigram', 'minloglevel': 2})\n"
)


def is_alive(process: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the process ends when it has learned")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_parent_whatever_ends_that(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        try:
            wait_until(lambda: bool(children.read_text()), seconds=60)
            learning = int(children.read_text())
            time.sleep(1)  # until it learns
            assert is_alive(learning)
            parent.send_signal(number)
            assert parent.communicate(timeout=5) == (b"", None)
        finally:
            parent.kill()
    assert parent.returncode in (143, -signal.SIGKILL)
    wait_until(lambda: not is_alive(learning), seconds=5)


def test_an_interrupt_from_python_ends_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        """A process whose answer is never read, because Ctrl-C comes before."""

        def __enter__(self) -> "Interrupted":
            started.append(self)
            monkeypatch.setattr(self.stdout, "read", self.interrupt, raising=False)
            return self

        def interrupt(self) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_elsewhere(monkeypatch, sentences(300), "bpe")
    assert started[0].returncode == -signal.SIGKILL


def wait_until(condition: object, *, seconds: float) -> None:
    assert callable(condition)
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)
