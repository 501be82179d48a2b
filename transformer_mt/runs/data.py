"""The record of its data that a run keeps: the fingerprint of each split, and the report of cleaning.

data.json           rows and digest of each split, and the report of cleaning with its examples
data.safetensors    four bytes of every pair's digest, to find the first that differs
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from transformer_mt.corpus.fingerprint import Fingerprint
from transformer_mt.corpus.load import Corpus
from transformer_mt.errors import MachineError
from transformer_mt.files import parse_json, read_regular
from transformer_mt.runs.weights import pack, unpack

DATA, ROWS = "data.json", "data.safetensors"

_DATA_LIMIT, _ROWS_LIMIT = 2**22, 2**36
_ROW = 4  # bytes


@dataclass(frozen=True)
class DataRecord:
    """The fingerprints of the splits that training depends on, and the report of cleaning as plain data."""

    fingerprints: Mapping[str, Fingerprint]
    cleaning: Mapping[str, Any]

    @classmethod
    def of(cls, corpus: Corpus, mixture: Mapping[str, Corpus]) -> "DataRecord":
        """The record of a corpus, and of those mixed with it by their names."""
        fingerprints = {
            split: corpus.fingerprints[split] for split in ("train", "validation") if split in corpus.fingerprints
        }
        fingerprints |= {f"{name} train": other.fingerprints["train"] for name, other in mixture.items()}
        return cls(fingerprints, {split: asdict(report) for split, report in corpus.report.splits.items()})

    def files(self) -> dict[str, bytes]:
        """The contents of both files."""
        splits = {split: {"rows": found.rows, "digest": found.digest} for split, found in self.fingerprints.items()}
        content = json.dumps({"splits": splits, "cleaning": self.cleaning}, ensure_ascii=False, indent=1)
        rows = {
            split: torch.from_numpy(np.frombuffer(found.row_digests, np.uint8).copy())
            for split, found in self.fingerprints.items()
            if found.row_digests
        }
        return {ROWS: pack(rows), DATA: (content + "\n").encode("utf-8", "replace")}

    def difference(self, now: "DataRecord") -> str | None:
        """In words, in what the data now is other than it was; None where it is the same."""
        for split in dict.fromkeys((*self.fingerprints, *now.fingerprints)):
            old, new = self.fingerprints.get(split), now.fingerprints.get(split)
            if old is None or new is None:
                return f"{split} was {'not ' if old is None else ''}there, and is {'not ' if new is None else ''}now"
            if old.digest != new.digest or old.rows != new.rows:
                place = old.first_difference(new)
                first = "" if place is None else f"; the first that differs is pair {place + 1}"
                return f"{split} had {old.rows:,} pairs and has {new.rows:,} now{first}"
        return None


def read_record(path: Path) -> DataRecord:
    """The record in the run directory `path`. Raises `MachineError` for files that are damaged or missing."""
    content = read_regular(path / DATA, limit=_DATA_LIMIT)
    tensors = unpack(read_regular(path / ROWS, limit=_ROWS_LIMIT), None, path=path / ROWS)
    try:
        found = parse_json(content)
        fingerprints = {}
        for split, entry in found["splits"].items():
            rows, digest = entry["rows"], entry["digest"]
            row_digests = tensors.pop(split).numpy().tobytes() if split in tensors else b""
            if type(rows) is not int or not isinstance(digest, str) or len(row_digests) != _ROW * rows:
                raise ValueError
            fingerprints[split] = Fingerprint(rows, digest, row_digests)
        if tensors or not fingerprints:
            raise ValueError
        return DataRecord(fingerprints, dict(found["cleaning"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise MachineError(f"{path / DATA}: damaged; restore it or start anew with --overwrite") from None
