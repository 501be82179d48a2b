"""An endless stream of training batches with a position that can be noted and returned to."""

from collections.abc import Sequence

from transformer_mt.batching import Batch, EncodedPairs, encode_pairs, mix_seed, plan_batches
from transformer_mt.config.sections import Config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.processes import Processes
from transformer_mt.tokenizer import Sampling, Tokenizer


class BatchStream:
    """Epoch after epoch of batches; what an epoch holds is a function of (pairs, configuration, epoch).

    Several processes take turns: of so many batches in a row, each takes the one of its rank.
    """

    def __init__(
        self, pairs: Sequence[SentencePair], tokenizer: Tokenizer, config: Config, *, processes: Processes
    ) -> None:
        self._pairs, self._tokenizer, self._config = pairs, tokenizer, config
        self._processes = processes
        self._longest = min(config.model.max_length, config.training.batch_tokens)
        self._sampled = config.tokenizer.sampling == "subword"
        self.epoch = 0
        self.index = 0
        self.encoded = self._encode()
        self.plan = self._make_plan()

    def seek(self, epoch: int, index: int) -> None:
        """Go to batch `index` of an epoch."""
        if self._sampled and epoch != self.epoch:
            self.epoch = epoch
            self.encoded = self._encode()
        self.epoch, self.index = epoch, index
        self.plan = self._make_plan()

    def take(self) -> Batch:
        """The next batch of this process; an epoch ends where there is none left for one of them."""
        position = self.next_position()
        if position != (self.epoch, self.index):
            self.seek(*position)
        batch = self.encoded.batch(self.plan[self.index + self._processes.rank])
        self.index += self._processes.count
        return batch

    def next_position(self) -> tuple[int, int]:
        """Epoch and index for `seek` of the batch that `take` begins with next: after an epoch the next one's first."""
        is_over = self.index + self._processes.count > len(self.plan)
        return (self.epoch + 1, 0) if is_over else (self.epoch, self.index)

    def _encode(self) -> EncodedPairs:
        sampling = None
        if self._sampled:
            sampling = Sampling(mix_seed(self._config.training.seed, self.epoch), self._config.tokenizer.alpha)
        return encode_pairs(self._pairs, self._tokenizer, max_length=self._longest, sampling=sampling)

    def _make_plan(self) -> list[list[int]]:
        return plan_batches(
            self.encoded.source_lengths,
            self.encoded.target_lengths,
            batch_tokens=self._config.training.batch_tokens,
            seed=self._config.training.seed,
            epoch=self.epoch,
        )
