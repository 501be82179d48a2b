"""CTranslate2 as an engine: the same weights, searched by a program made for speed. torch is not imported.

Where it differs from our own search:

- Greedy search is the same but for rounding. A beam keeps its width while hypotheses end, and stops once as many have
  ended as it is wide; ours narrows, and goes on while another could win.
- Directly after a prefix, a beam ends a hypothesis only where that is the likeliest.
- Draws are others, and depend on the sentences of the batch. Of `top_p` and `temperature`, the temperature comes last.
- It shows neither the beam nor the model: no trace, no views.

Scores and log-probabilities are those of our formulas.
"""

import logging
import math
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, starmap
from typing import Any, cast

import numpy as np
from typing_extensions import override

from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import NOT_FINITE, InputError, MachineError, is_out_of_memory
from transformer_mt.export.conversion_cache import converted
from transformer_mt.export.ctranslate2_package import import_ctranslate2, require_quantization
from transformer_mt.memory import free_memory
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import EOS, NEVER_GENERATED
from transformer_mt.translation.engine import Engine, Hypothesis, Likeliest, Limits, Prefix, length_penalty

_NEVER = frozenset(NEVER_GENERATED)
_LOG = logging.getLogger(__name__)

# Each has a batch of its own in memory.
MOST_WORKERS = 16

# A source sentence and its longest translation, both in tokens and with `EOS`.
Task = tuple[Sequence[int], int]
# The tokens of each hypothesis, and its log-probability where that is known already.
Found = dict[tuple[int, ...], float | None]
# For each sentence of a batch, what CTranslate2 is going to find.
Running = Sequence[Any]


def open_engine(run: Run, *, device: str, quantization: str | None) -> tuple[Run, Engine]:
    """The engine of a run, read anew, with its model from the cache, or made for it."""
    require_quantization(quantization)
    run, files = converted(run, quantization=quantization)
    tokens, longest = run.tokenizer().pieces(range(run.tokenizer().size)), run.config().model.max_length
    return run, CTranslate2Engine(files, tokens=tokens, max_length=longest, device=device, quantization=quantization)


class CTranslate2Engine(Engine):
    """A model that `ctranslate2_weights` made, with its vocabulary, on the device `auto`, `cpu`, `cuda` or `cuda:N`."""

    name = "ctranslate2"

    def __init__(
        self, files: Mapping[str, bytes], *, tokens: Sequence[str], max_length: int, device: str,
        quantization: str | None,
    ) -> None:  # fmt: skip
        place, _, index = device.partition(":")
        if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", device):
            raise InputError("device", f"CTranslate2 has auto, cpu and cuda, not {device}", "choose one of these")
        self.max_length, self._tokens = max_length, tokens
        self._symbols = [[tokens[symbol]] for symbol in NEVER_GENERATED] if tokens else []
        self._ids = {token: index for index, token in enumerate(tokens)}
        self._files, self._place = files, {"device": place, "device_index": int(index or 0)}
        on_cpu = place == "cpu" or (place == "auto" and not import_ctranslate2().get_cuda_device_count())
        self.batches = _processors() if on_cpu else 1
        self._translator = self._open(workers=self.batches, threads=1)
        if quantization and not (computed := self._translator.compute_type).startswith(quantization):
            _LOG.warning(
                "tmt: %s: this processor has no fast arithmetic for it; it computes in %s", quantization, computed
            )

    def _open(self, *, workers: int, threads: int) -> Any:
        """A translator of `workers` batches at once. With more threads a batch, they mostly wait for one another."""
        numbers = {"inter_threads": workers, "intra_threads": threads}
        with _ERRORS:
            return import_ctranslate2().Translator("model", files=dict(self._files), **self._place, **numbers)

    @override
    def free_memory(self) -> int | None:
        return free_memory()

    @override
    def search(
        self, sources: Sequence[Sequence[int]], search: SearchConfig, *, limits: Limits, count: int, prefix: Prefix,
        seeds: Sequence[int],
    ) -> Iterator[list[Hypothesis]]:  # fmt: skip
        tasks, alpha = list(zip(sources, limits, strict=True)), search.length_penalty
        if search.sample:
            batches = self._drawn(tasks, search, count=count, prefix=prefix, seed=seeds[0])
        else:
            batches = self._searched(tasks, search, beam=max(search.beam, count), prefix=prefix)
        for found in chain.from_iterable(starmap(self._completed, batches)):
            own = [
                Hypothesis(tokens, known, known / length_penalty(len(tokens) + 1, alpha))
                for tokens, known in found.items()
            ]
            if not own or not all(math.isfinite(one.log_probability) for one in own):
                raise MachineError(*NOT_FINITE)
            yield own if search.sample else sorted(own, key=lambda one: -one.score)[:count]

    def _searched(
        self, tasks: Sequence[Task], search: SearchConfig, *, beam: int, prefix: Prefix
    ) -> Iterator[tuple[Sequence[Task], list[Found]]]:
        """Batches of the tasks, with the hypotheses of a beam search, or of a greedy one, for each task.

        While one is read, the workers have others.
        """
        options: dict[str, Any] = {"beam_size": beam, "num_hypotheses": beam}
        # Where more hypotheses end than the beam is wide, those stay whose log-probability is highest by length^x; our
        # ((5 + length) / 6)^α is nearest to x = α / 2. At 0, a beam would end with its likeliest hypothesis.
        options["length_penalty"] = max(search.length_penalty / 2, 1e-3) if beam > 1 else 0.0
        started: deque[tuple[Sequence[Task], Running]] = deque()
        for batch in _batches(tasks, min(search.batch_size, -(-len(tasks) // self.batches))):
            started.append((batch, self._start(self._translator, batch, prefix, options)))
            if len(started) > 2 * self.batches:
                yield self._ended(*started.popleft(), prefix, options)
        while started:
            yield self._ended(*started.popleft(), prefix, options)

    def _ended(
        self, batch: Sequence[Task], running: Running, prefix: Prefix, options: Mapping[str, Any]
    ) -> tuple[Sequence[Task], list[Found]]:
        """The hypotheses of a batch, all within their limits and without symbols.

        CTranslate2 knows one limit for all and counts the symbols among the tokens that may come. Where that made a
        difference, it translates again, without symbols and each with its own limit.
        """
        found = self._read(running, prefix, options)
        again = [
            row
            for row, (own, (_, limit)) in enumerate(zip(found, batch, strict=True))
            if any(len(tokens) >= limit or not _NEVER.isdisjoint(tokens) for tokens in own)
        ]
        if not again:
            return batch, found
        options = {**options, "suppress_sequences": self._symbols}
        for limit, rows in groupby(sorted(again, key=lambda row: batch[row][1]), key=lambda row: batch[row][1]):
            chosen = list(rows)
            anew: list[Found] = [{prefix: None} for _ in chosen]
            if limit > len(prefix) + 1:
                running = self._start(self._translator, [batch[row] for row in chosen], prefix, options)
                # Its probabilities are now of what is left without the symbols.
                anew = [
                    {tokens: None for tokens in own if _NEVER.isdisjoint(tokens)}
                    for own in self._read(running, prefix, options)
                ]
            for row, own in zip(chosen, anew, strict=True):
                found[row] = own
        return batch, found

    def _drawn(
        self, tasks: Sequence[Task], search: SearchConfig, *, count: int, prefix: Prefix, seed: int
    ) -> Iterator[tuple[Sequence[Task], list[Found]]]:
        """Batches of the tasks, with samples of each task in the order drawn.

        Draws depend on the sentences of a batch, so it must not depend on the number of processors.
        """
        options = {
            "beam_size": 1,
            "sampling_topk": min(search.top_k, len(self._tokens)),
            "sampling_topp": search.top_p,
            "sampling_temperature": search.temperature,
            "suppress_sequences": self._symbols,
        }
        import_ctranslate2().set_random_seed(seed % 2**31)
        drawing = self._open(workers=1, threads=self.batches)  # the seed is that of a new thread
        for batch in _batches(tasks, search.batch_size):
            each = [task for task in batch for _ in range(count)]  # every sample is a sentence of its own there
            drawn = chain.from_iterable(
                self._results(self._start(drawing, part, prefix, options)) for part in _batches(each, search.batch_size)
            )
            samples: list[Found] = [
                {self._to_ids(result.hypotheses[0])[: limit - 1]: None for result in islice(drawn, count)}
                for _, limit in batch
            ]
            yield batch, samples

    def _start(self, translator: Any, batch: Sequence[Task], prefix: Prefix, options: Mapping[str, Any]) -> Running:
        """CTranslate2's future results; a hypothesis without an end symbol has reached the longest limit."""
        with _ERRORS:
            return translator.translate_batch(
                [self._to_tokens(source[:-1]) for source, _ in batch],
                target_prefix=[self._to_tokens(prefix)] * len(batch) if prefix else None,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(max(limit for _, limit in batch) - 1, 1),
                return_end_token=True,
                return_scores=True,
                asynchronous=True,
                **options,
            )

    def _read(self, running: Running, prefix: Prefix, options: Mapping[str, Any]) -> list[Found]:
        """The hypotheses of each task; the log-probability of one that was cut, or has a prefix, is not known."""
        penalty, found = options["length_penalty"], []
        for result in self._results(running):
            own: Found = {}
            for tokens, score in zip(result.hypotheses, result.scores, strict=True):
                ids = tuple(map(self._ids.__getitem__, tokens))
                if ids[-1] != EOS:
                    own[ids] = None
                else:
                    own[ids[:-1]] = None if prefix else score * len(ids) ** penalty
            found.append(own)
        return found

    def _completed(self, batch: Sequence[Task], found: list[Found]) -> list[dict[tuple[int, ...], float]]:
        """The hypotheses with all their log-probabilities, the end symbol's among them."""
        unknown = [(row, tokens) for row, own in enumerate(found) for tokens, known in own.items() if known is None]
        if unknown:
            sources = [self._to_tokens(batch[row][0][:-1]) for row, _ in unknown]
            targets = [self._to_tokens(tokens) for _, tokens in unknown]
            # There may be many more of them than tasks; the logits of a whole batch are in memory.
            with _ERRORS:
                scored = self._translator.score_batch(
                    sources, targets, max_input_length=0, max_batch_size=-(-len(batch) // self.batches)
                )
            for (row, tokens), result in zip(unknown, scored, strict=True):
                found[row][tokens] = sum(result.log_probs)
        return cast("list[dict[tuple[int, ...], float]]", found)

    @staticmethod
    def _results(running: Running) -> list[Any]:
        """CTranslate2's own results."""
        with _ERRORS:
            return [one.result() for one in running]

    @override
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        """From the logits of a greedy search that the target is forced upon."""
        package, found = import_ctranslate2(), []
        with _ERRORS:
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

    def _to_ids(self, tokens: Iterable[str]) -> tuple[int, ...]:
        """Without the end symbol."""
        return tuple(index for token in tokens if (index := self._ids[token]) != EOS)


class _Errors:
    """Turns an error of CTranslate2 into one of the machine."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # Out of memory: for that the command line has a message of its own.
        if isinstance(error, RuntimeError | ValueError) and not is_out_of_memory(error):
            raise MachineError("ctranslate2", str(error).strip(), "use another device or number format") from None


_ERRORS = _Errors()


def _processors() -> int:
    """The processors of this process, or as many as `OMP_NUM_THREADS` says; at most `MOST_WORKERS`."""
    if told := re.match(r"\s*(\d+)", os.environ.get("OMP_NUM_THREADS", "")):  # of 4,2 the 2 is for nested threads
        own = int(told[1])
    elif sys.platform == "linux":
        own = len(os.sched_getaffinity(0))
    else:
        own = os.cpu_count() or 1
    return max(1, min(own, MOST_WORKERS))


def _batches(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    for first in range(0, len(tasks), size):
        yield tasks[first : first + size]
