"""An endless stream of training batches with a position that can be noted and returned to."""

from transformer_mt.batching.batches import Batch, plan_batches
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.distributed import Distributed
from transformer_mt.training.data import TrainingData


class BatchStream:
    """Epoch after epoch of batches; an epoch is a function of (data, configuration, epoch).

    With several processes, each takes the batch of its rank from every group of as many batches.
    """

    def __init__(self, data: TrainingData, config: TrainingConfig, *, distributed: Distributed) -> None:
        self._data, self._config, self._distributed = data, config, distributed
        self.seek(0, 0)

    def seek(self, epoch: int, index: int) -> None:
        """Go to batch `index` of an epoch."""
        self.epoch, self.index = epoch, index
        self.encoded, rows = self._data.epoch(epoch)
        self.plan = plan_batches(
            self.encoded.source_lengths,
            self.encoded.target_lengths,
            rows=rows,
            batch_tokens=self._config.batch_tokens,
            seed=self._config.seed,
            epoch=epoch,
            processes=self._distributed.world_size,
        )

    def take(self) -> Batch:
        """The next batch of this process; an epoch ends where there is none left for one of them."""
        position = self.next_position()
        if position != (self.epoch, self.index):
            self.seek(*position)
        batch = self.encoded.batch(self.plan[self.index + self._distributed.rank])
        self.index += self._distributed.world_size
        return batch

    def next_position(self) -> tuple[int, int]:
        """Epoch and index for `seek` of the batch that `take` begins with next: after an epoch the next one's first."""
        is_over = self.index + self._distributed.world_size > len(self.plan)
        return (self.epoch + 1, 0) if is_over else (self.epoch, self.index)
