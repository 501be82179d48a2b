"""Run directories made to do harm: checksums are valid, contents are not."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import safetensors.torch
from torch import Tensor

from transformer_mt.runs.checkpoints import STATE, VALUES
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER
from transformer_mt.runs.lock import LOCK
from transformer_mt.runs.packed import PROGRESS
from transformer_mt.runs.weights import digest, pack

Damage = Callable[[Path], object]
Tensors = dict[str, Tensor]


def sums(folder: Path, *names: str) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def bless(run: Path) -> None:
    """Update the checksums that the weights store for the files next to them."""
    found = safetensors.torch.load((run / MODEL).read_bytes())
    (run / MODEL).write_bytes(pack(found, sums(run, CONFIG, TOKENIZER)))


def seal(checkpoint: Path) -> None:
    """Update the checksums of a checkpoint."""
    found, model = (safetensors.torch.load((checkpoint / name).read_bytes()) for name in (STATE, MODEL))
    own = sums(checkpoint, PROGRESS, VALUES) | {MODEL: digest(model)}
    (checkpoint / STATE).write_bytes(pack(found, own))


def rewritten(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Rewrite the bytes of a file."""
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def blessed(damage: Damage) -> Damage:
    """Damage the configuration, vocabulary or weights, and update their checksums."""

    def change(run: Path) -> None:
        damage(run)
        bless(run)

    return change


def config(old: str, new: str) -> Damage:
    """Replace a text in the configuration, and update its checksum."""

    def change(text: bytes) -> bytes:
        assert old.encode() in text
        return text.replace(old.encode(), new.encode())

    return blessed(rewritten(CONFIG, change))


def tensors(change: Callable[[Tensors], object], name: str = MODEL) -> Damage:
    """Change the tensors of a file; weights get the checksums of the other files."""

    def damage(folder: Path) -> None:
        found = safetensors.torch.load((folder / name).read_bytes())
        change(found)
        run = folder.parent.parent if folder.parent.name == "checkpoints" else folder
        vouched = None if name == STATE else sums(run, CONFIG, TOKENIZER)
        (folder / name).write_bytes(pack(found, vouched))

    return damage


def in_checkpoints(damage: Damage, *, sealed: bool = True) -> Damage:
    """Damage every complete checkpoint, with valid checksums unless `sealed` is false."""

    def damaged(run: Path) -> None:
        for checkpoint in sorted(path.parent for path in (run / "checkpoints").glob(f"step-*/{STATE}")):
            damage(checkpoint)
            if sealed:
                seal(checkpoint)

    return damaged


def instead(name: str, make: Damage) -> Damage:
    """Move a file or directory out of the run to `outside`, and make something else in its place."""

    def damage(folder: Path) -> None:
        path = folder / name
        run = next(parent for parent in path.parents if parent.name == "run")
        path.rename(run.parent / "outside" / f"{folder.name}-{path.name}")
        make(path)

    return damage


def link(path: Path) -> None:
    """A link to the moved file."""
    run = next(parent for parent in path.parents if parent.name == "run")
    path.symlink_to(run.parent / "outside" / f"{path.parent.name}-{path.name}")


def sparse(path: Path) -> None:
    """A sparse file of 10 GB."""
    with path.open("wb") as file:
        file.truncate(10**10)


def put(name: str, value: Tensor) -> Callable[[Tensors], object]:
    """Store a tensor under a name."""
    return lambda found: found.update({name: value})


def largest(change: Callable[[Tensor], Tensor]) -> Callable[[Tensors], object]:
    """Change the largest tensor, the embeddings."""

    def apply(found: Tensors) -> None:
        name = max(sorted(found), key=lambda name: found[name].numel())
        found[name] = change(found[name]).contiguous()

    return apply


def pieces_of(model: bytes) -> Iterator[bytes]:
    """The serialised tokens of one of our vocabularies."""
    place = 0
    while model[place] == 10:
        end = place + 2 + model[place + 1]
        yield model[place:end]
        place = end


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a directory, without following links: bytes of small files, sizes of large ones."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        if path.name == LOCK:  # records its last holder
            continue
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = path.read_bytes() if path.stat().st_size < 2**25 else path.stat().st_size
        else:
            found[str(path)] = path.lstat().st_mode
    return found
