"""CTranslate2 as an engine: the same weights with a faster search, without importing torch.

Differences from our own search:

- Greedy search is equal up to rounding. With a beam, CTranslate2 keeps the width and stops when `beam` hypotheses have
  finished; ours narrows, and continues while another hypothesis could win.
- Directly after a prefix, a beam ends a hypothesis only if `</s>` is the likeliest token.
- No sampling.
- No trace of the beam, and no views.

Scores and log-probabilities use our formulas.
"""

import logging
import math
import os
import re
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from typing_extensions import override

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2.conversion_cache import converted
from transformer_mt.extensions.ctranslate2.ctranslate2_package import import_ctranslate2, require_quantization
from transformer_mt.ground.errors import NOT_FINITE, InputError, MachineError, is_out_of_memory
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import EOS, NEVER_GENERATED
from transformer_mt.translation.engine import Engine, Hypothesis, Likeliest, Prefix, Task, length_penalty

_NEVER = frozenset(NEVER_GENERATED)
_LOG = logging.getLogger(__name__)

# Each worker has its own batch in memory.
MOST_WORKERS = 16

# The tokens of each hypothesis, and its log-probability, None if not yet known.
Found = dict[tuple[int, ...], float | None]
# CTranslate2's future result for each sentence of a batch.
Running = Sequence[Any]
Tasks = Sequence[Task]
Options = dict[str, Any]


def open_engine(run: Run, *, device: str, quantization: str | None) -> Engine:
    """Open a run with CTranslate2, converting its model unless it is cached.

    Raises `InputError` for an unknown quantization or device and a model that CTranslate2 does not support;
    `MachineError` if it is not installed, the run is damaged or the cache cannot be written.
    """
    require_quantization(quantization)
    files = converted(run, quantization=quantization)
    tokens = run.tokenizer().pieces(range(run.tokenizer().size))
    longest = run.config().model.max_length
    return CTranslate2Engine(files, tokens=tokens, max_length=longest, device=device, quantization=quantization)


class CTranslate2Engine(Engine):
    """CTranslate2 with the files from `model_files` and the vocabulary, on `auto`, `cpu`, `cuda` or `cuda:N`."""

    name = "ctranslate2"

    def __init__(
        self, files: Mapping[str, bytes], *, tokens: Sequence[str], max_length: int, device: str,
        quantization: str | None,
    ) -> None:  # fmt: skip
        place, _, index = device.partition(":")
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", device):
            raise InputError("device", f"CTranslate2 supports auto, cpu and cuda, not {device}", "choose one of these")
        self.max_length = max_length
        self._tokens = tokens
        self._process = os.getpid()
        self._symbols = [[tokens[symbol]] for symbol in NEVER_GENERATED] if tokens else []
        self._ids = {token: index for index, token in enumerate(tokens)}
        on_cpu = place == "cpu" or (place == "auto" and not import_ctranslate2().get_cuda_device_count())
        self.batches = _processors() if on_cpu else 1
        with _errors():  # more threads per batch would mostly wait for each other
            self._translator = import_ctranslate2().Translator(
                "model", place, device_index=int(index or 0), files=dict(files), inter_threads=self.batches,
                intra_threads=1,
            )  # fmt: skip
        if quantization and not (computed := self._translator.compute_type).startswith(quantization):
            _LOG.warning(
                "tmt: %s: this processor has no fast arithmetic for it; computing in %s", quantization, computed
            )

    @override
    def search(self, tasks: Tasks, search: SearchConfig, *, count: int, prefix: Prefix) -> Iterator[list[Hypothesis]]:
        if search.sample:
            raise InputError(
                "sample", "ctranslate2 does not support it", "leave it out, or --engine and --quantization"
            )
        self._require_own_process()
        beam = max(search.beam, count)
        options: Options = {"beam_size": beam, "num_hypotheses": beam}
        # If more hypotheses end than the beam is wide, CTranslate2 keeps the best by log-probability / length^x. Our
        # ((5 + length) / 6)^α is closest to x = α / 2. At 0, a beam would stop with its likeliest hypothesis.
        options["length_penalty"] = max(search.length_penalty / 2, 1e-3) if beam > 1 else 0.0
        size = min(search.batch_size, -(-len(tasks) // self.batches))
        for batch, running in self._batches(tasks, size, prefix, options):
            for found in self._completed(batch, self._ended(batch, running, prefix, options)):
                own = [
                    Hypothesis(tokens, known, known / length_penalty(len(tokens) + 1, search.length_penalty))
                    for tokens, known in found.items()
                ]
                if not own or not all(math.isfinite(one.log_probability) for one in own):
                    raise MachineError(*NOT_FINITE)
                yield sorted(own, key=lambda one: -one.score)[:count]

    def _require_own_process(self) -> None:
        """Raise `MachineError` in a forked process, which would wait forever for threads it lacks."""
        if self._process != os.getpid():
            raise MachineError("engine", "CTranslate2 does not work in a forked process", "open the model there")

    def _batches(self, tasks: Tasks, size: int, prefix: Prefix, options: Options) -> Iterator[tuple[Tasks, Running]]:
        """Yield batches in translation, with enough started ahead to keep the workers busy."""
        started: deque[tuple[Tasks, Running]] = deque()
        for first in range(0, len(tasks), size):
            batch = tasks[first : first + size]
            started.append((batch, self._start(batch, prefix, options)))
            if len(started) > 2 * self.batches:
                yield started.popleft()
        yield from started

    def _ended(self, batch: Tasks, running: Running, prefix: Prefix, options: Options) -> list[Found]:
        """The hypotheses of a batch, within their limits and without special symbols.

        CTranslate2 has one limit per batch and may generate special symbols. Sentences for which that mattered are
        translated again, with their own limit and without symbols.
        """
        found = self._read(running, prefix, options)
        again: dict[int, list[int]] = defaultdict(list)
        for row, (own, task) in enumerate(zip(found, batch, strict=True)):
            if any(len(tokens) >= task.limit or not _NEVER.isdisjoint(tokens) for tokens in own):
                again[task.limit].append(row)
        options = {**options, "suppress_sequences": self._symbols}
        for limit, rows in again.items():
            if limit <= len(prefix) + 1:
                anew: list[Found] = [{prefix: None} for _ in rows]
            else:
                anew = self._read(self._start([batch[row] for row in rows], prefix, options), prefix, options)
            for row, own in zip(rows, anew, strict=True):
                # Scores are unknown (None): CTranslate2 renormalised them without the symbols.
                found[row] = {tokens: None for tokens in own if tokens == prefix or _NEVER.isdisjoint(tokens)}
        return found

    def _start(self, batch: Tasks, prefix: Prefix, options: Options) -> Running:
        """Start translating a batch; a hypothesis without an end symbol has reached the batch's longest limit."""
        with _errors():
            return self._translator.translate_batch(
                [self._to_tokens(task.source[:-1]) for task in batch],
                target_prefix=[self._to_tokens(prefix)] * len(batch) if prefix else None,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(max(task.limit for task in batch) - 1, 1),
                return_end_token=True,
                return_scores=True,
                asynchronous=True,
                **options,
            )

    def _read(self, running: Running, prefix: Prefix, options: Options) -> list[Found]:
        """Wait for the hypotheses of each task; ln p is None for truncated ones and after a prefix."""
        penalty = options["length_penalty"]
        found = []
        with _errors():
            results = [one.result() for one in running]
        for result in results:
            own: Found = {}
            for tokens, score in zip(result.hypotheses, result.scores, strict=True):
                ids = tuple(map(self._ids.__getitem__, tokens))
                if ids[-1] != EOS:
                    own[ids] = None
                else:
                    own[ids[:-1]] = None if prefix else score * len(ids) ** penalty
            found.append(own)
        return found

    def _completed(self, batch: Tasks, found: list[Found]) -> list[dict[tuple[int, ...], float]]:
        """The hypotheses with all log-probabilities, end symbol included; scores those still unknown."""
        unknown = [(row, tokens) for row, own in enumerate(found) for tokens, known in own.items() if known is None]
        if unknown:
            sources = [self._to_tokens(batch[row].source[:-1]) for row, _ in unknown]
            targets = [self._to_tokens(tokens) for _, tokens in unknown]
            # They may be many more than the tasks, and the logits of a whole batch are in memory.
            with _errors():
                scored = self._translator.score_batch(
                    sources, targets, max_input_length=0, max_batch_size=-(-len(batch) // self.batches)
                )
            for (row, tokens), result in zip(unknown, scored, strict=True):
                found[row][tokens] = sum(result.log_probs)
        return cast("list[dict[tuple[int, ...], float]]", found)

    @override
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        """Reads the logits of a greedy search with the target as a forced prefix."""
        self._require_own_process()
        package = import_ctranslate2()
        found = []
        with _errors():
            (result,) = self._translator.translate_batch(
                [self._to_tokens(source[:-1])],
                target_prefix=[self._to_tokens(target[:-1])],
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=len(target),
                beam_size=1,
                return_logits_vocab=True,
            )
        for token, step in zip(target, result.logits[0], strict=True):
            readable = step.to_device(package.Device.cpu).to(package.DataType.float32)
            logits = np.asarray(readable, dtype=np.float64).ravel()
            powers = np.exp(logits - logits.max())
            probabilities = powers / powers.sum()
            order = [other for other in (-probabilities).argsort().tolist() if other not in (*NEVER_GENERATED, token)]
            others = order[:count]
            found.append(Likeliest(float(probabilities[token]), others, probabilities[others].tolist()))
        return found

    def _to_tokens(self, ids: Iterable[int]) -> list[str]:
        return [self._tokens[index] for index in ids]


@contextmanager
def _errors() -> Iterator[None]:
    """Convert errors of CTranslate2 to `MachineError`."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if is_out_of_memory(error):  # the command line has its own message for this
            raise
        raise MachineError("ctranslate2", str(error).strip(), "use another device or number format") from None


def _processors() -> int:
    """The number of CPUs of this process, or `OMP_NUM_THREADS`; at most `MOST_WORKERS`."""
    if told := re.match(r"\s*(\d+)", os.environ.get("OMP_NUM_THREADS", "")):  # the 2 of 4,2 is for nested threads
        own = int(told[1])
    elif sys.platform == "linux":
        own = len(os.sched_getaffinity(0))
    else:
        own = os.cpu_count() or 1
    return max(1, min(own, MOST_WORKERS))
