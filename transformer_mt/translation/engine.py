"""An engine finds translations: subword ids in, hypotheses out. Our own search is one, another program's is another."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from transformer_mt.config.sections import SearchConfig

if TYPE_CHECKING:
    from transformer_mt.models.seq2seq import Seq2Seq

OWN = "torch"  # the name of our own engine

Prefix = tuple[int, ...]


class Task(NamedTuple):
    """A sentence to translate and the maximum length of its translation, `EOS` included in both; its seed for draws."""

    source: Sequence[int]
    limit: int
    seed: int = 0


class Hypothesis(NamedTuple):
    """A finished translation: its tokens without `BOS` and `EOS`, ln p including `EOS`, and the score that ranks it."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α, where the length counts `EOS` (Wu et al. 2016, eq. 14).

    A score is a log-probability divided by this; at α = 0 the probability alone ranks, which favours short hypotheses.
    """
    return float(((5 + length) / 6) ** alpha)


class Likeliest(NamedTuple):
    """The probability of a token; the ids of the likeliest others at its position and their probabilities, in order."""

    chosen: float
    ids: list[int]
    probabilities: list[float]


class Engine(ABC):
    """A trained model and the search for its translations.

    The model reads, and writes, at most `max_length` tokens, `EOS` included. It translates up to `batches` batches in
    parallel.
    """

    name: ClassVar[str]
    max_length: int
    batches = 1
    # The network itself, to look into; None where another program computes.
    network: "Seq2Seq | None" = None

    @abstractmethod
    def search(
        self, tasks: Sequence[Task], search: SearchConfig, *, count: int, prefix: Prefix
    ) -> Iterator[list[Hypothesis]]:
        """The `count` best hypotheses, or samples, of each sentence, best first.

        All begin with the prefix. The beam is at least `count` wide. Sentences are translated `search.batch_size` at a
        time, in their order: those of like length should be neighbours. Raises `MachineError` for a model whose
        numbers are not finite.
        """

    @abstractmethod
    def likeliest(self, source: Sequence[int], target: Sequence[int], *, count: int) -> list[Likeliest]:
        """At each position of the target, `EOS` included, the probabilities of the model under teacher forcing."""

    @abstractmethod
    def free_memory(self) -> int | None:
        """Bytes that are free where it computes; None where the system does not say."""
