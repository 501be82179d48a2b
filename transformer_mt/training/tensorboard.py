"""A run's measurements for TensorBoard, beside `metrics.jsonl`."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_mt.errors import MachineError
from transformer_mt.files import make_directory, require_directory, write_errors


def require_tensorboard() -> None:
    """Raise `MachineError` where the package is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MachineError(
            "training.tensorboard: the package tensorboard is not installed; install it with: pip install "
            "'transformer_mt[tensorboard]'"
        )


class TensorBoard:
    """Writes scalars into `directory`, where earlier parts of the same training may have left some.

    Those of later steps than `after` are purged: TensorBoard shows every point once.
    """

    def __init__(self, directory: Path, *, after: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.directory = directory
        with write_errors(directory):
            make_directory(directory)
            require_directory(directory)
            self._writer = SummaryWriter(str(directory), purge_step=after + 1)

    def add(self, step: int, record: Mapping[str, Any]) -> None:
        """Write the numbers of a record as `kind/name`; they are in the file when this returns."""
        with write_errors(self.directory):
            for name, value in record.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"{record['kind']}/{name}", value, step)
            self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        with write_errors(self.directory):
            self._writer.close()
