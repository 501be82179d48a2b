"""How a run links words by its attention: alignment.json.

heads         whose weights are averaged, as cross.2.1
shift         0: the row that writes a target word is its own; 1: the row after it, which reads the word
row           the least share of a target word's row that makes a link
column        the least share of a source word's column that makes a link
chosen_by     links, agreement, guess or given: how heads and shift were found
error_rate    of the validation pairs, where their links are known; else null
dictionary    [source word, target word, share]: what attention links throughout the training data, in lower case
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformer_mt.errors import InputError, MachineError
from transformer_mt.registry import HeadName
from transformer_mt.runs.reading import parse_json, read_regular

ALIGNMENT = "alignment.json"

# How heads can have been chosen: on validation pairs with links, by agreement with a model of the other direction, not
# at all, or by the person.
CHOICES = ("links", "agreement", "guess", "given")
# The most entries of a dictionary that are kept, the surest, and the most characters of their words.
MOST_ENTRIES, _LONGEST_WORD = 50_000, 100
_MOST_HEADS = 2**16
_LIMIT = 2**24

# Of (source word, target word), both in lower case.
Dictionary = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Aligner:
    """Which heads of the cross-attention link words, and how; `inspection.alignment` has the procedure."""

    heads: tuple[HeadName, ...]
    chosen_by: str
    shift: int = 0
    row: float = 0.3
    column: float = 0.4
    error_rate: float | None = None
    dictionary: Dictionary = field(default_factory=dict)


def pack_aligner(aligner: Aligner) -> bytes:
    """The content of the file."""
    surest = sorted(aligner.dictionary.items(), key=lambda entry: -entry[1])
    short = [entry for entry in surest if max(map(len, entry[0])) <= _LONGEST_WORD][:MOST_ENTRIES]
    record = {
        "heads": list(map(str, aligner.heads)),
        "shift": aligner.shift,
        "row": aligner.row,
        "column": aligner.column,
        "chosen_by": aligner.chosen_by,
        "error_rate": aligner.error_rate,
        "dictionary": [[source, target, round(share, 4)] for (source, target), share in short],
    }
    return json.dumps(record).encode()


def read_aligner(path: Path) -> Aligner:
    """What the file of a run holds. Raises `MachineError` for one that is missing, damaged or of another kind."""
    try:
        return _aligner(parse_json(read_regular(path, limit=_LIMIT)))
    except (InputError, KeyError, TypeError, ValueError):
        raise MachineError(f"{path}: damaged; restore it, or delete it to have the heads chosen anew") from None


def _aligner(record: Any) -> Aligner:
    """Raises one of many errors where the record is not ours."""
    heads = tuple(HeadName.parse(_checked(name, str), key=ALIGNMENT) for name in _checked(record["heads"], list))
    entries = _checked(record["dictionary"], list)
    dictionary = {(_word(source), _word(target)): _share(share) for source, target, share in entries}
    error_rate = record["error_rate"]
    found = Aligner(
        heads=heads,
        chosen_by=record["chosen_by"],
        shift=_checked(record["shift"], int),
        row=_share(record["row"]),
        column=_share(record["column"]),
        error_rate=None if error_rate is None else _share(error_rate),
        dictionary=dictionary,
    )
    sound = (
        len(record) == len(Aligner.__dataclass_fields__)
        and 0 < len(heads) == len(set(heads)) <= _MOST_HEADS
        and all(head.stack == "cross" for head in heads)
        and found.chosen_by in CHOICES
        and found.shift in (0, 1)
        and len(dictionary) == len(entries) <= MOST_ENTRIES
    )
    if not sound:
        raise ValueError
    return found


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


def _word(value: Any) -> str:
    if not 0 < len(_checked(value, str)) <= _LONGEST_WORD:
        raise ValueError
    return str(value)


def _share(value: Any) -> float:
    if type(value) not in (int, float) or not 0.0 <= value <= 1.0:
        raise ValueError
    return float(value)
