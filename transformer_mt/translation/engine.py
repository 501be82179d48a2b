"""The interface of engines: token ids in, hypotheses out. Our own search is one; extensions add others."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.memory import free_memory
from transformer_mt.ground.plugins import EngineEntry, extensions

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq

OWN = "torch"  # the name of our own engine

Prefix = tuple[int, ...]


class Task(NamedTuple):
    """A sentence to translate, the maximum length of its translation (both with `EOS`), and the seed for sampling."""

    source: Sequence[int]
    limit: int
    seed: int = 0


class Hypothesis(NamedTuple):
    """A finished translation: its tokens without `BOS` and `EOS`, ln p including `EOS`, and the score that ranks it."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α; the length includes `EOS` (Wu et al. 2016, eq. 14).

    A score is a log-probability divided by this. α = 0 ranks by probability, which favours short hypotheses.
    """
    return float(((5 + length) / 6) ** alpha)


class Likeliest(NamedTuple):
    """The probability of a token, and the ids and probabilities of the likeliest others at its position, in order."""

    chosen: float
    ids: list[int]
    probabilities: list[float]


class Engine(ABC):
    """A trained model and a search for its translations.

    `max_length` limits source and translation, in tokens with `EOS`; `batches` is the number of batches translated in
    parallel.
    """

    name: ClassVar[str]
    max_length: int
    batches = 1
    # The network, for views; None if another program computes.
    network: "Seq2Seq | None" = None

    @abstractmethod
    def search(
        self, tasks: Sequence[Task], search: SearchConfig, *, count: int, prefix: Prefix
    ) -> Iterator[list[Hypothesis]]:
        """Yield the `count` best hypotheses, or samples, of each sentence, best first.

        All begin with `prefix`. The beam is at least `count` wide. Sentences are translated in order, in batches of
        `search.batch_size`: sort them by length. Raises `InputError` if the engine does not support the search,
        and `MachineError` if the model's numbers are not finite.
        """

    @abstractmethod
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        """The model's probabilities under teacher forcing at each position of the target, `EOS` included."""

    def free_memory(self) -> int | None:
        """Free memory of the device in bytes; None if unknown."""
        return free_memory()


def engines() -> dict[str, EngineEntry]:
    """The programs that can translate, by name: our own, then each extension's."""
    own = EngineEntry("transformer_mt.translation.torch_engine:open_engine", suits=lambda device: True)
    return {OWN: own, **{name: entry for one in extensions().values() for name, entry in one.engines.items()}}
