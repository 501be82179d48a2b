"""A run directory as someone makes it who wants to do harm: with sums that are right, and contents that are not."""

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from transformer_mt.runs.checkpoints import STATE
from transformer_mt.runs.checksummed import MANIFEST
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.weights import digest, pack

Damage = Callable[[Path], object]


def checkpoints(run: Path) -> list[Path]:
    """The complete checkpoints of a run."""
    return sorted(path.parent for path in (run / "checkpoints").glob(f"step-*/{STATE}"))


def bless(run: Path) -> None:
    """Give the weights the sums of what now lies beside them."""
    tensors = safetensors.torch.load((run / MODEL).read_bytes())
    sums = {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in (CONFIG, TOKENIZER)}
    (run / MODEL).write_bytes(pack(tensors, sums | {"tensors": digest(tensors)}))


def seal(checkpoint: Path) -> None:
    """Give a checkpoint the sums of what now lies in it."""
    files = sorted(path for path in checkpoint.iterdir() if path.name != MANIFEST)
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (checkpoint / MANIFEST).write_text(json.dumps(sums))


def instead(name: str, make: Damage) -> Damage:
    """Something else at the place of a file or directory, which is moved out of the run, to `outside` beside it."""

    def damage(run: Path) -> None:
        path = run / name
        moved = run.parent / "outside" / path.name
        path.rename(moved)
        make(path)

    return damage


def link(path: Path) -> None:
    """A link to what was moved."""
    run = next(parent for parent in path.parents if parent.name == "run")
    path.symlink_to(run.parent / "outside" / path.name)


def link_to(target: str) -> Damage:
    """A link to this."""
    return lambda path: path.symlink_to(target)


def sparse(path: Path) -> None:
    """Ten gigabytes that take no room on the disk."""
    with path.open("wb") as file:
        file.truncate(10**10)


def config(old: str, new: str) -> Damage:
    """Another text in the configuration, for which the weights vouch."""

    def damage(run: Path) -> None:
        text = (run / CONFIG).read_text("utf-8")
        assert old in text
        (run / CONFIG).write_text(text.replace(old, new), "utf-8")
        bless(run)

    return damage


def content(name: str, new: bytes) -> Damage:
    """Other bytes in the configuration or the vocabulary, for which the weights vouch."""

    def damage(run: Path) -> None:
        (run / name).write_bytes(new)
        bless(run)

    return damage


def raw(header: dict[str, Any] | bytes, body: bytes = b"", *, length: int | None = None) -> bytes:
    """A file in the safetensors format with any header, which may lie about its length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def header(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another header before the same tensors."""

    def damage(run: Path) -> None:
        whole = (run / MODEL).read_bytes()
        end = 8 + int.from_bytes(whole[:8], "little")
        entries = json.loads(whole[8:end])
        change(entries)
        (run / MODEL).write_bytes(raw(entries, whole[end:]))

    return damage


def tensors(change: Callable[[dict[str, Tensor]], object]) -> Damage:
    """Other weights to use, with the right sums."""

    def damage(run: Path) -> None:
        found = safetensors.torch.load((run / MODEL).read_bytes())
        change(found)
        (run / MODEL).write_bytes(safetensors.torch.save(found))
        bless(run)

    return damage


def state(part: str, change: Callable[[dict[str, Tensor]], object]) -> Damage:
    """Another part of every complete checkpoint, `weights` or one of its state, with the right sums."""

    def damage(run: Path) -> None:
        sums = {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in (CONFIG, TOKENIZER)}
        for checkpoint in checkpoints(run):
            path = checkpoint / (MODEL if part == "weights" else STATE)
            tensors = safetensors.torch.load(path.read_bytes())
            prefix = "" if part == "weights" else f"{part}."
            own = {name.removeprefix(prefix): tensors.pop(name) for name in [*tensors] if name.startswith(prefix)}
            change(own)
            tensors |= {f"{prefix}{name}": tensor for name, tensor in own.items()}
            path.write_bytes(pack(tensors, None if prefix else sums | {"tensors": digest(tensors)}))
            seal(checkpoint)

    return damage


def progress(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another progress in every checkpoint, with the right sums."""

    def edited(text: bytes) -> bytes:
        record = json.loads(text)
        change(record)
        return json.dumps(record).encode()

    return progress_text(edited)


def progress_text(change: Callable[[bytes], bytes]) -> Damage:
    """The same, as text."""

    def damage(run: Path) -> None:
        for checkpoint in checkpoints(run):
            path = checkpoint / "progress.json"
            path.write_bytes(change(path.read_bytes()))
            seal(checkpoint)

    return damage


def manifest(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another manifest in every checkpoint."""

    def damage(run: Path) -> None:
        for checkpoint in checkpoints(run):
            sums = json.loads((checkpoint / MANIFEST).read_text())
            change(sums)
            (checkpoint / MANIFEST).write_text(json.dumps(sums))

    return damage


def in_checkpoints(name: str, make: Damage) -> Damage:
    """Something else at the place of a file of every checkpoint."""

    def damage(run: Path) -> None:
        for checkpoint in checkpoints(run):
            (checkpoint / name).unlink()
            make(checkpoint / name)

    return damage


def put(name: str, value: Tensor) -> Callable[[dict[str, Tensor]], object]:
    """A change that puts a tensor under a name."""
    return lambda found: found.update({name: value})


def largest(change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor]], object]:
    """A change of the largest tensor, the embeddings."""

    def apply(found: dict[str, Tensor]) -> None:
        name = max(sorted(found), key=lambda name: found[name].numel())
        found[name] = change(found[name]).contiguous()

    return apply


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def field(number: int, value: bytes | int) -> bytes:
    """A field of a message as protobuf writes it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text: bytes, score: float = -1.0, kind: int | None = None) -> bytes:
    """A piece of a vocabulary."""
    written = field(1, text) + varint(2 << 3 | 5) + struct.pack("<f", score)
    return field(1, written if kind is None else written + field(3, kind))


def pieces_of(model: bytes) -> Iterator[bytes]:
    """The pieces of one of our vocabularies, each as written."""
    place = 0
    while model[place] == 10:
        end = place + 2 + model[place + 1]
        yield model[place:end]
        place = end


def vocabulary(change: Callable[[list[bytes], bytes], bytes]) -> Damage:
    """Another vocabulary, made from the pieces and the settings of this one, for which the weights vouch."""

    def damage(run: Path) -> None:
        whole = (run / TOKENIZER).read_bytes()
        pieces = list(pieces_of(whole))
        (run / TOKENIZER).write_bytes(change(pieces, whole[sum(map(len, pieces)) :]))
        bless(run)

    return damage


def last_piece(new: bytes) -> Damage:
    """Another last piece."""
    return vocabulary(lambda pieces, rest: b"".join([*pieces[:-1], new]) + rest)


def snapshot(root: Path) -> dict[str, object]:
    """What stands below a directory, without following anything: bytes of small files, sizes of large ones."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        if path.name == LOCK:  # says who came last
            continue
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = path.read_bytes() if path.stat().st_size < 2**25 else path.stat().st_size
        else:
            found[str(path)] = path.lstat().st_mode
    return found
