"""Learning a sentencepiece model: from much text in a child process, so that a signal ends it at once.

sentencepiece lets no signal handler run until it is done. `ProcessPoolExecutor` would import the caller's main module
in the child, so that a script without `if __name__ == "__main__"` would start itself again.
"""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import sentencepiece

from transformer_mt.errors import MachineError

Options: TypeAlias = Mapping[str, Any]

# Characters that are learned from in less than half a second; a process takes as long to start.
FEW = 100_000
_REFUSED = 65


def learn(sentences: Sequence[str], options: Options) -> bytes:
    """The sentencepiece model that these trainer options give for sentences without line breaks.

    It is the same, byte for byte, in whichever process it is learned. Raises the `RuntimeError` of sentencepiece.
    """
    if sum(map(len, sentences)) <= FEW:
        return _learn(sentences, options)
    # The child imports from where this process does, and nothing from its working directory.
    program = f"import sys; sys.path = {sys.path!r}; from {__name__} import main; main()"
    text = "".join(f"{sentence}\n" for sentence in sentences).encode()
    child = subprocess.run(
        [sys.executable, "-c", program, json.dumps(dict(options))], input=text, capture_output=True, check=False
    )
    if child.returncode == _REFUSED:
        raise RuntimeError(child.stdout.decode())
    if child.returncode:
        raise MachineError(
            f"vocabulary: the process that learns it ended with code {child.returncode}; free some memory, or lower "
            "tokenizer.vocabulary_size"
        )
    return child.stdout


def main() -> None:
    """The child: options in the argument, sentences from stdin, the model or the refusal to stdout."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it at once
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
