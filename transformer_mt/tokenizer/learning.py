"""Training of sentencepiece models. Long training runs in a child process, so that a signal ends it at once.

sentencepiece blocks signal handlers until it is done. `ProcessPoolExecutor` would not do: it imports the caller's main
module in the child, so a script without `if __name__ == "__main__"` would start itself again.
"""

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import sentencepiece

from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK

OPTIONS: dict[str, Any] = {
    "normalization_rule_name": "identity",  # the default rewrites too much, such as `…` to `...` and `½` to `1⁄2`
    "byte_fallback": True,
    "character_coverage": 1.0,
    "pad_id": PAD,
    "unk_id": UNK,
    "bos_id": BOS,
    "eos_id": EOS,
    "num_threads": 1,  # the thread count changes the last bits of a unigram model's scores
    "minloglevel": 2,
}
# This many characters train in under half a second, the start-up time of a process.
FEW_TEXTS = 100_000
_ATTEMPTS = 8
_REFUSED = 65
_POSSIBLE_SIZE = re.compile(r"set it to a value <= (\d+)|smaller than required_chars\. \d+ vs (\d+)")
_NO_TEXT = re.compile(r"!sentences_\.empty\(\)|\(all_chars_count\) > \(0\)")


def learn(sentences: Sequence[str], *, kind: str, size: int, **options: bool) -> bytes:
    """Train a `unigram` or `bpe` model of this size, or the nearest possible one, on sentences without line breaks.

    `options` are sentencepiece's. The result is the same, byte for byte, in every process. Raises `InputError` without
    text or a possible size, and `MachineError` if the child process dies.
    """
    possible = size
    for _ in range(_ATTEMPTS):
        try:
            return learn_with(sentences, OPTIONS | options | {"model_type": kind, "vocab_size": possible})
        except RuntimeError as refusal:
            if _NO_TEXT.search(str(refusal)):
                raise InputError("the corpus", "no text to learn a vocabulary from", "give sentences") from None
            if not (named := _POSSIBLE_SIZE.search(str(refusal))):
                raise InputError("tokenizer.vocabulary_size", f"sentencepiece cannot learn it ({refusal})") from None
            possible = int(named[1] or named[2])
    raise InputError("tokenizer.vocabulary_size", f"these sentences admit no {kind} vocabulary near {size}", "lower it")


def learn_with(sentences: Sequence[str], options: dict[str, Any]) -> bytes:
    """Train a model with these options. Raises sentencepiece's `RuntimeError`, or `MachineError` if the child dies."""
    if sum(map(len, sentences)) <= FEW_TEXTS:
        return _learn(sentences, options)
    # The child imports from the same places as this process, and nothing from its working directory.
    program = f"import sys; sys.path = {sys.path!r}; from {__name__} import main; main()"
    text = "".join(f"{sentence}\n" for sentence in sentences).encode()
    command = [sys.executable, "-c", program, json.dumps(options)]
    child = subprocess.run(command, input=text, capture_output=True, check=False)
    if child.returncode == _REFUSED:
        raise RuntimeError(child.stdout.decode())
    if child.returncode:
        raise MachineError(
            "vocabulary", f"the process that trains it ended with code {child.returncode}", "free memory"
        )
    return child.stdout


def main() -> None:
    """Run in the child: read options from argv and sentences from stdin, write the model or the refusal to stdout."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once
    try:
        answer = _learn(sys.stdin.buffer, json.loads(sys.argv[1]))
        code = 0
    except RuntimeError as refusal:
        answer = str(refusal).encode()
        code = _REFUSED
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    sys.exit(code)


def _learn(sentences: Iterable[str | bytes], options: dict[str, Any]) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(sentence_iterator=iter(sentences), model_writer=model, **options)
    return model.getvalue()
