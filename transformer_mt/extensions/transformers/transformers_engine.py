"""transformers as an engine, to compare its translations with ours: slower than our own search."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.export.parity import TokenizingEngine
from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.files import write_errors
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED, PAD
from transformer_mt.translation.engine import Hypothesis, Likeliest, Prefix, Task, length_penalty
from transformer_mt.translation.torch_engine import likeliest_tokens


def import_transformers() -> Any:
    """Import the package. Raises `MachineError` if it is not installed."""
    try:
        import transformers
    except ImportError:
        raise MachineError("transformers", "is not installed", "pip install 'transformer_mt[transformers]'") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


class TransformersEngine(TokenizingEngine):
    """The model and the vocabulary in an export's files, as a user of transformers loads them, on the CPU."""

    name = "transformers"

    def __init__(self, files: Mapping[str, bytes], *, max_length: int) -> None:
        package = import_transformers()
        self.max_length = max_length
        with TemporaryDirectory(prefix="tmt-", ignore_cleanup_errors=True) as folder, write_errors(Path(folder)):
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            self._model: Any = package.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
            self._tokenizer: Any = package.AutoTokenizer.from_pretrained(folder)

    @override
    def read(self, text: str) -> list[int]:
        return list(self._tokenizer(text)["input_ids"])

    @override
    def write(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    @override
    def search(
        self, tasks: Sequence[Task], search: SearchConfig, *, count: int, prefix: Prefix
    ) -> Iterator[list[Hypothesis]]:
        beam = max(search.beam, count)
        for first in range(0, len(tasks), search.batch_size):
            batch = tasks[first : first + search.batch_size]
            source = pad_sequence([torch.tensor(task.source) for task in batch], batch_first=True, padding_value=PAD)
            with torch.inference_mode():
                found = self._model.generate(
                    input_ids=source, attention_mask=(source != PAD).long(), num_beams=beam,
                    num_return_sequences=beam, length_penalty=search.length_penalty / 2, do_sample=False,
                    max_length=max(task.limit for task in batch), suppress_tokens=list(NEVER_GENERATED),
                    decoder_input_ids=torch.tensor([[BOS, *prefix]] * len(batch)),
                )  # fmt: skip
            for task, rows in zip(batch, found.view(len(batch), beam, -1).tolist(), strict=True):
                own = []
                for tokens in {_ended(row, task.limit) for row in rows}:
                    read = self.likeliest(task.source, [*tokens, EOS], count=1)
                    known = sum(math.log(max(one.chosen, 1e-38)) for one in read)
                    score = known / length_penalty(len(tokens) + 1, search.length_penalty)
                    own.append(Hypothesis(tokens, known, score))
                yield sorted(own, key=lambda one: -one.score)[:count]

    @override
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        read = torch.tensor([list(source)])
        written = torch.tensor([[BOS, *target[:-1]]])
        with torch.inference_mode():
            logits = self._model(input_ids=read, attention_mask=torch.ones_like(read), decoder_input_ids=written).logits
        return likeliest_tokens(logits[0].softmax(dim=-1), target, count=count)


def _ended(row: Sequence[int], limit: int) -> tuple[int, ...]:
    """The tokens between begin and end symbol, at most `limit` with the latter."""
    tokens = row[1:]
    return tuple(tokens[: tokens.index(EOS)] if EOS in tokens else tokens)[: limit - 1]
