"""Learning a sentencepiece model, which no signal can interrupt: from much text in a process of its own."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import sentencepiece

from transformer_mt.errors import MachineError

Options: TypeAlias = Mapping[str, Any]

# Characters that are learned from in less than half a second, which nobody waits for; a process takes as long to start.
FEW = 100_000
_REFUSED = 65
_PR_SET_PDEATHSIG = 1  # from Linux's prctl.h


def learn(sentences: Sequence[str], options: Options) -> bytes:
    """The sentencepiece model that these options of its trainer give for sentences without line breaks.

    The same bytes whichever process learns it. Raises the `RuntimeError` of sentencepiece.
    """
    if sum(map(len, sentences)) <= FEW:
        return _learn(sentences, options)
    # The parent's own path: what it imports stands there, and nothing from the working directory gets in between.
    program = f"import sys; sys.path = {sys.path!r}; from {__name__} import main; main()"
    command = [sys.executable, "-c", program, json.dumps(dict(options))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError), process.stdin:  # its end says more than the pipe's
                process.stdin.writelines(f"{sentence}\n".encode() for sentence in sentences)
            answer = process.stdout.read()
        except BaseException:
            process.kill()
            raise
    if process.returncode == _REFUSED:
        raise RuntimeError(answer.decode())
    if process.returncode:
        raise MachineError(
            f"vocabulary: the process that learns it ended with code {process.returncode}; free some memory, or lower "
            "tokenizer.vocabulary_size"
        )
    return answer


def main() -> None:
    """The process that learns: options in the argument, sentences from stdin, the model or the refusal to stdout."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which ends it at once, whatever is being computed
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        answer, code = _learn(sys.stdin.buffer, json.loads(sys.argv[1])), 0
    except RuntimeError as refusal:
        answer, code = str(refusal).encode(), _REFUSED
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    sys.exit(code)


def _learn(sentences: Iterable[str | bytes], options: Options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(sentence_iterator=iter(sentences), model_writer=model, **options)
    return model.getvalue()
