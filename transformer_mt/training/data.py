"""What the epochs of a training consist of, as tokens; and the vocabulary that is learned from it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer_mt.batching import Rows, mix_seed
from transformer_mt.config.sections import Config
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.tokenizer import Sampling, Tokenizer


@dataclass(frozen=True, slots=True)
class Share:
    """A corpus to train on, the digest of its content, and how many of its pairs go with one of the main corpus."""

    pairs: Pairs
    digest: str | None = None
    weight: float = 1.0


class TrainingData:
    """The pairs of one corpus, each once an epoch, mixed with so many of others as their weights say.

    What an epoch holds is a function of (corpora, vocabulary, configuration, epoch).
    """

    def __init__(self, shares: Sequence[Share], tokenizer: Tokenizer, config: Config) -> None:
        """The first share is the main corpus, whose weight says nothing."""
        self._shares, self._tokenizer, self._config = shares, tokenizer, config
        self._parts: list[EncodedPairs] = []

    def epoch(self, number: int) -> tuple[EncodedPairs, Rows | None]:
        """All corpora as tokens, one after the other, and which of their pairs this epoch takes: None for all."""
        config = self._config
        if config.tokenizer.sampling == "subword":
            self._parts = []  # two epochs at a time would take twice the memory
            seed = mix_seed(config.training.seed, number)
            self._parts = self._encoded(Sampling(seed, config.tokenizer.alpha))
        elif not self._parts:
            self._parts = self._encoded(None)
        if len(self._parts) == 1:
            return self._parts[0], None
        return EncodedPairs.join(self._parts), self._rows(number)

    def _encoded(self, sampling: Sampling | None) -> list[EncodedPairs]:
        longest = min(self._config.model.max_length, self._config.training.batch_tokens)
        return [
            encode_pairs(share.pairs, self._tokenizer, max_length=longest, sampling=sampling, digest=share.digest)
            for share in self._shares
        ]

    def _rows(self, epoch: int) -> Rows:
        """All pairs of the main corpus and the next ones of each other, counted through all corpora."""
        first = len(self._parts[0])
        rows = [torch.arange(first)]
        for number, (share, part) in enumerate(zip(self._shares[1:], self._parts[1:], strict=True), start=1):
            seed = mix_seed(self._config.training.seed, number)
            rows.append(first + next_rows(len(part), round(share.weight * len(rows[0])), seed=seed, epoch=epoch))
            first += len(part)
        return torch.cat(rows)


def next_rows(pairs: int, count: int, *, seed: int, epoch: int) -> Rows:
    """The `count` pairs that an epoch takes of a corpus: one random order after another, each gone through once."""
    start = epoch * count
    rounds = range(start // pairs, (start + count - 1) // pairs + 1)
    order = [torch.randperm(pairs, generator=torch.Generator().manual_seed(mix_seed(seed, turn))) for turn in rounds]
    return torch.cat([torch.zeros(0, dtype=torch.long), *order])[start % pairs :][:count]
