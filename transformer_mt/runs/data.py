"""The data that a run remembers: its fingerprints, the report of cleaning, its words, and the heads that link them.

data.safetensors has four bytes of every pair's digest, to find the first that differs. words.tsv has side, count and
word a line, the commonest of a side first; its first line says whether all words are there (`complete`) or rare ones
are missing (`common`), and the length of the longest source.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import safetensors
import safetensors.numpy
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator
from pydantic_core import from_json

from transformer_mt.corpus.pairs import Fingerprint
from transformer_mt.corpus.word_counts import LONGEST, MOST_WORDS, TrainingWords
from transformer_mt.errors import MachineError
from transformer_mt.registry import HeadName

if TYPE_CHECKING:
    from transformer_mt.corpus.load import Corpus

DATA, ROWS, WORDS, ALIGNMENT = "data.json", "data.safetensors", "words.tsv", "alignment.json"


@dataclass(frozen=True)
class DataRecord:
    """The fingerprints of the splits that training depends on, and the report of cleaning as plain data."""

    # Bytes of digests that are kept; where there are more, the first pair that differs is not known.
    MOST_BYTES: ClassVar[int] = 2**28
    fingerprints: Mapping[str, Fingerprint]
    cleaning: Mapping[str, Any]

    @classmethod
    def of(cls, corpus: "Corpus", mixed_with: "Sequence[Corpus]" = ()) -> "DataRecord":
        """The record of a corpus, and of others mixed with it by their names."""
        own = {split: corpus.fingerprints[split] for split in ("train", "validation") if split in corpus.fingerprints}
        mixed = {f"{other.name} train": other.fingerprints["train"] for other in mixed_with}
        return cls(own | mixed, {split: asdict(report) for split, report in corpus.reports.items()})

    def files(self) -> dict[str, bytes]:
        """The contents of both files."""
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
        """The record in the contents of both files; raises `MachineError` for damaged ones in the directory `path`."""
        try:
            row_digests = {split: array.tobytes() for split, array in safetensors.numpy.load(rows).items()}
        except (safetensors.SafetensorError, KeyError, ValueError):  # KeyError: a type unknown to numpy
            raise MachineError(f"{path / ROWS}: damaged or not a safetensors file; restore it or start anew") from None
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            record = from_json(content, allow_inf_nan=False)
            fingerprints = {
                split: Fingerprint(int(entry["rows"]), entry["digest"], row_digests.pop(split, b""))
                for split, entry in record["splits"].items()
            }
            own = fingerprints.values()
            if own and all(isinstance(one.digest, str) and len(one.row_digests) in (0, 4 * one.rows) for one in own):
                return cls(fingerprints, dict(record["cleaning"]))
        raise MachineError(f"{path / DATA}: damaged; restore it or start anew with --overwrite")

    def difference(self, now: "DataRecord") -> str | None:
        """The first difference of the data now to that of the record, in words; None where there is none."""
        for split in dict.fromkeys((*self.fingerprints, *now.fingerprints)):
            old, new = self.fingerprints.get(split), now.fingerprints.get(split)
            if old is None or new is None:
                return f"{split} is {'new' if old is None else 'missing'}"
            if (old.rows, old.digest) != (new.rows, new.digest):
                place = old.first_difference(new)
                first = "" if place is None else f"; the first that differs is pair {place + 1}"
                return f"{split} had {old.rows:,} pairs and has {new.rows:,} now{first}"
        return None


def pack_words(words: TrainingWords) -> bytes:
    """The content of words.tsv; several trainings together may have more words than one."""
    complete = words.complete and max(len(words.source), len(words.target)) <= MOST_WORDS
    lines = [f"{'complete' if complete else 'common'}\t{words.longest}"]
    for side in ("source", "target"):
        lines += [f"{side}\t{count}\t{word}" for word, count in getattr(words, side).most_common(MOST_WORDS)]
    return "\n".join(lines).encode("utf-8", "replace")


def unpack_words(content: bytes, *, path: Path) -> TrainingWords:
    """The words that `pack_words` packed; `path` names the file in errors."""
    sides: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
    try:
        if content.endswith(b"\n") or content.count(b"\n") > 2 * MOST_WORDS:
            raise ValueError
        # A longer line than this is not one of ours, and the rest of it is not read.
        lines = (line[:300].decode("utf-8").removesuffix("\n") for line in BytesIO(content))
        kind, longest = next(lines, "").split("\t")
        complete = {"complete": True, "common": False}[kind]
        if not (longest.isascii() and longest.isdecimal() and len(longest) < 10):
            raise ValueError
        for line in lines:
            side, count, word = line.split("\t")
            if not (0 < len(word) <= LONGEST and count.isascii() and 0 < int(count) < 2**53):
                raise ValueError
            sides[side][word] += int(count)
    except (KeyError, ValueError):
        raise MachineError(f"{path}: damaged; restore it, or delete it to do without") from None
    return TrainingWords(sides["source"], sides["target"], complete, int(longest))


def _cross_head(name: object) -> HeadName:
    head = HeadName.parse(str(name), key=ALIGNMENT)
    if head.stack != "cross":
        raise ValueError
    return head


class AlignmentHeads(BaseModel):
    """The heads, how they were chosen, and their error rate on the validation pairs where links are known.

    `chosen_by` is `links` (of validation pairs), `guess` (no links are known) or `given` (by the user).
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    heads: Annotated[
        tuple[Annotated[HeadName, PlainValidator(_cross_head), PlainSerializer(str)], ...],
        Field(min_length=1, max_length=2**12),
    ]
    chosen_by: Literal["links", "guess", "given"]
    error_rate: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
