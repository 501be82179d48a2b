"""The record of a run's training data: fingerprints of its splits, and the cleaning report.

data.safetensors has four bytes of every pair's digest, so that a test set can be checked for training data.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import safetensors
import safetensors.numpy
from pydantic_core import from_json

from transformer_mt.corpus.cleaning import normalized_pair
from transformer_mt.corpus.pairs import Fingerprint, SentencePair, pair_hash
from transformer_mt.ground.errors import MachineError

if TYPE_CHECKING:
    from transformer_mt.corpus.load_corpus import Corpus

DATA = "data.json"
ROWS = "data.safetensors"


@dataclass(frozen=True)
class DataRecord:
    """The fingerprints of the splits that training depends on, and the cleaning report as plain data."""

    # With more bytes of digests than this, none are saved, and no pair is known to be training data.
    MOST_BYTES: ClassVar[int] = 2**28
    fingerprints: Mapping[str, Fingerprint]
    cleaning: Mapping[str, Any]

    @classmethod
    def of(cls, corpus: "Corpus", mixed_with: "Sequence[Corpus]" = ()) -> "DataRecord":
        """The record of a corpus and of others mixed with it; those are listed by name."""
        own = {split: corpus.fingerprints[split] for split in ("train", "validation") if split in corpus.fingerprints}
        mixed = {f"{other.name} train": other.fingerprints["train"] for other in mixed_with}
        return cls(own | mixed, {split: asdict(report) for split, report in corpus.reports.items()})

    def files(self) -> dict[str, bytes]:
        """The contents of data.safetensors and data.json, by file name."""
        splits = {split: {"rows": own.rows, "digest": own.digest} for split, own in self.fingerprints.items()}
        content = json.dumps({"splits": splits, "cleaning": self.cleaning}, ensure_ascii=False, indent=1)
        rows = {
            split: np.frombuffer(own.row_digests, dtype=np.uint8)
            for split, own in self.fingerprints.items()
            if own.row_digests
        }
        if sum(map(len, rows.values())) > self.MOST_BYTES:
            rows = {}
        return {ROWS: safetensors.numpy.save(rows), DATA: (content + "\n").encode("utf-8", "replace")}

    @classmethod
    def parse(cls, content: bytes, rows: bytes, *, path: Path) -> "DataRecord":
        """Parse the contents of data.json and data.safetensors in the directory `path`.

        Raises `MachineError` if one is damaged.
        """
        try:
            row_digests = {split: array.tobytes() for split, array in safetensors.numpy.load(rows).items()}
        except (safetensors.SafetensorError, KeyError, ValueError):  # KeyError: a type unknown to numpy
            problem = "damaged or not a safetensors file"
            raise MachineError(path / ROWS, problem, "restore it, or start over with --overwrite") from None
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            record = from_json(content, allow_inf_nan=False)
            fingerprints = {
                split: Fingerprint(int(entry["rows"]), entry["digest"], row_digests.pop(split, b""))
                for split, entry in record["splits"].items()
            }
            own = fingerprints.values()
            if own and all(isinstance(one.digest, str) and len(one.row_digests) in (0, 4 * one.rows) for one in own):
                return cls(fingerprints, dict(record["cleaning"]))
        raise MachineError(path / DATA, "damaged", "restore it, or start over with --overwrite")

    def seen(self, pairs: Iterable[SentencePair]) -> int:
        """How many of these pairs are training data, as far as four bytes of each digest tell."""
        digests = [pair_hash(pair.source, pair.target) % 2**32 for pair in map(normalized_pair, pairs)]
        trained = [one.row_digests for split, one in self.fingerprints.items() if split != "validation"]
        return int(np.isin(digests, np.frombuffer(b"".join(trained), "<u4")).sum())

    def difference(self, now: "DataRecord") -> str | None:
        """Describe the first difference between the recorded data and the data now; None if they agree."""
        for split in dict.fromkeys((*self.fingerprints, *now.fingerprints)):
            old = self.fingerprints.get(split)
            new = now.fingerprints.get(split)
            if old is None or new is None:
                return f"{split} is {'missing' if old else 'new'}"
            if (old.rows, old.digest) != (new.rows, new.digest):
                count = f"had {old.rows:,} pairs and has {new.rows:,} now"
                return f"{split} {count if old.rows != new.rows else 'has other pairs'}"
        return None
