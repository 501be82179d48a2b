import random
import signal
import subprocess
from pathlib import Path

import pytest

from transformer_mt.ground.errors import MachineError
from transformer_mt.tokenizer import learning as vocabulary
from transformer_mt.tokenizer.learning import learn_with

OPTIONS = {"vocab_size": 300, "byte_fallback": True, "num_threads": 1, "minloglevel": 2}
KINDS = ("unigram", "bpe")


def sentences(count: int) -> list[str]:
    draw = random.Random(1)
    return [" ".join("".join(draw.choices("aäbdeghinrstuß…", k=5)) for _ in range(7)) for _ in range(count)]


def learn_elsewhere(monkeypatch: pytest.MonkeyPatch, text: list[str], kind: str, **changes: int) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(vocabulary, "FEW_TEXTS", -1)
        return learn_with(text, OPTIONS | {"model_type": kind} | changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_process_learns_the_same_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = sentences(300)
    assert learn_elsewhere(monkeypatch, text, kind) == learn_with(text, OPTIONS | {"model_type": kind})


@pytest.mark.parametrize(("text", "changes"), [([], {}), (sentences(20), {"vocab_size": 9_000})])
def test_a_child_process_raises_the_same_error(
    text: list[str], changes: dict[str, int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError) as there:
        learn_elsewhere(monkeypatch, text, "unigram", **changes)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(RuntimeError) as here:
        learn_with(text, OPTIONS | {"model_type": "unigram"} | changes)
    assert str(there.value) == str(here.value) != ""


def test_only_much_text_starts_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    assert learn_with(["aß b"] * (vocabulary.FEW_TEXTS // 4), OPTIONS | {"vocab_size": 264})
    with pytest.raises(TypeError):
        learn_with(["aß b"] * (vocabulary.FEW_TEXTS // 4 + 1), OPTIONS | {"vocab_size": 264})


def test_the_child_imports_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sentencepiece.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert learn_elsewhere(monkeypatch, sentences(300), "bpe")


def test_a_failed_child_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho oops >&2; kill -9 $$\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(MachineError, match=r"^vocabulary: the process that trains it ended with code -9; free "):
        learn_elsewhere(monkeypatch, sentences(9_000), "bpe")
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_an_interrupt_ends_the_child_first(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        """A process whose answer is never read, because Ctrl-C comes first."""

        def communicate(self, *_: object, **__: object) -> tuple[bytes, bytes]:
            children.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_elsewhere(monkeypatch, sentences(300), "bpe")
    assert children[0].returncode == -signal.SIGKILL
