"""Our own search as an engine: any `Seq2Seq`, on any device."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.device import choose_device, free_memory_of
from transformer_mt.ground.errors import NOT_FINITE, InputError, MachineError
from transformer_mt.models.seq2seq import Seq2Seq, evaluating
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import BOS, NEVER_GENERATED, PAD
from transformer_mt.translation.engine import OWN, Engine, Hypothesis, Likeliest, Prefix, Task
from transformer_mt.translation.search import beam_search, sample


def open_engine(run: Run, *, device: str, quantization: str | None) -> Engine:
    """Open a run with our own search. Raises `InputError` for a quantization: it supports none."""
    if quantization is not None:
        raise InputError("quantization", "our own search has none", "choose another engine, or leave it out")
    place = choose_device(device)
    return TorchEngine(run.network().to(place), device=place)


class TorchEngine(Engine):
    """Our own search with a model that is already on `device`."""

    name = OWN

    def __init__(self, model: Seq2Seq, *, device: torch.device) -> None:
        self.network: Seq2Seq = model
        self.device = device
        self.max_length = model.max_length

    @override
    def free_memory(self) -> int | None:
        return free_memory_of(self.device)

    @override
    def search(
        self, tasks: Sequence[Task], search: SearchConfig, *, count: int, prefix: Prefix
    ) -> Iterator[list[Hypothesis]]:
        for first in range(0, len(tasks), search.batch_size):
            batch = tasks[first : first + search.batch_size]
            tokens = [torch.tensor(task.source) for task in batch]
            source = pad_sequence(tokens, batch_first=True, padding_value=PAD).to(self.device)
            limits = [task.limit for task in batch]
            common: dict[str, Any] = {"alpha": search.length_penalty, "limits": limits, "prefix": prefix}
            with evaluating(self.network):
                if not search.sample:
                    found = beam_search(self.network, source, beam=max(search.beam, count), n_best=count, **common)
                else:
                    # A generator per sentence, so that samples do not depend on batching.
                    generators = [torch.Generator().manual_seed(task.seed) for task in batch]
                    found = sample(
                        self.network, source, temperature=search.temperature, top_k=search.top_k, top_p=search.top_p,
                        num_samples=count, generators=generators, **common,
                    )  # fmt: skip
            if not all(found):  # only logits that are not finite leave a sentence without hypotheses
                raise MachineError(*NOT_FINITE)
            yield from found

    @override
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        with evaluating(self.network):
            read = torch.tensor([list(source)], device=self.device)
            logits = self.network(read, torch.tensor([[BOS, *target[:-1]]], device=self.device))[0]
            probabilities = logits.float().softmax(dim=-1).cpu()
        return likeliest_tokens(probabilities, target, count=count)


def likeliest_tokens(probabilities: Float[Tensor, "T V"], target: Sequence[int], *, count: int) -> list[Likeliest]:
    """The probability of each token of the target, and the likeliest others at its position."""
    column = torch.tensor(target)[:, None]
    chosen = probabilities.gather(1, column)[:, 0].tolist()
    others = probabilities.index_fill(1, torch.tensor(NEVER_GENERATED), -1.0).scatter(1, column, -1.0)
    best, ids = others.topk(min(count, others.shape[1] - len(NEVER_GENERATED) - 1))
    return list(map(Likeliest, chosen, ids.tolist(), best.tolist()))
