"""A run's measurements for TensorBoard, beside `metrics.jsonl`."""

import importlib.util
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_mt.errors import MachineError
from transformer_mt.runs.files import make_directory, writing
from transformer_mt.runs.reading import require_directory


def require_tensorboard() -> None:
    """Raise `MachineError` where the package is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MachineError(
            "training.tensorboard: the package tensorboard is not installed; install it with: pip install "
            "'transformer_mt[tensorboard]'"
        )


class TensorBoard:
    """Writes scalars into `directory`, where earlier parts of the same training may have left some.

    Those of later steps than `after` are taken back: TensorBoard shows every point once. The writer of torch would do
    all this in a thread of its own, whose failures nobody could catch.
    """

    def __init__(self, directory: Path, *, after: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.directory = directory
        with writing(directory):
            make_directory(directory)
            require_directory(directory)
            # Files are read in the order of their names; nothing can wait under one that nobody can foresee.
            name = f"events.out.tfevents.{time.time_ns():020}.{secrets.token_hex(8)}"
            self._file = (directory / name).open("xb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version="brain.Event:2"))
        self._write(Event(step=after + 1, session_log=SessionLog(status=SessionLog.START)))

    def add(self, step: int, record: Mapping[str, Any]) -> None:
        """Write the numbers of a record as `kind/name`; they are in the file when this returns."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        numbers = {name: value for name, value in record.items() if isinstance(value, float)}
        values = [Summary.Value(tag=f"{record['kind']}/{name}", simple_value=value) for name, value in numbers.items()]
        self._write(Event(step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file, in which everything is already."""
        with writing(self.directory):
            self._file.close()

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with writing(self.directory):
            self._records.write(event.SerializeToString())
            self._records.flush()
