"""Corpora in a folder: `train.jsonl`, `val.jsonl`, `test.jsonl` and others, checked line by line."""

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformer_mt.corpus.lines import bounded_lines
from transformer_mt.corpus.storage import NESTED, Table, missing_column, quiet_datasets
from transformer_mt.errors import EnvironmentProblem, InputError

# The split that a usual file name stands for.
_SPLITS = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def open_folder(folder: Path, *, languages: tuple[str, str]) -> dict[str, tuple[str, Table]]:
    """The splits of a folder, each with its file's name for messages and its rows.

    Raises `InputError` that names the file and, in JSONL, the line.
    """
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "no such folder"
        raise InputError(f"{folder}: {problem}; give a folder with train.jsonl, or use --data builtin")
    with quiet_datasets():
        return {
            split: (str(path), _OPENERS[path.suffix](path, languages)) for split, path in _split_files(folder).items()
        }


def _split_files(folder: Path) -> dict[str, Path]:
    """Which file is which split: any `NAME.jsonl`, and in other formats those with a usual name."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix not in _OPENERS or not path.is_file():
            continue
        if path.suffix != ".jsonl" and path.stem not in _SPLITS:
            continue
        split = _SPLITS.get(path.stem, path.stem)
        if split in files:
            raise InputError(f"{path}: {files[split].name} is the split {split} already; keep one of them")
        files[split] = path
    if "train" not in files:
        found = ", ".join(path.name for path in files.values()) or "no .jsonl file at all"
        raise InputError(f"{folder}: no train.jsonl, but {found}; name the file with the training pairs train.jsonl")
    usual = [split for split in dict.fromkeys(_SPLITS.values()) if split in files]
    return {split: files[split] for split in (*usual, *(split for split in files if split not in usual))}


def _open_jsonl(path: Path, languages: tuple[str, str]) -> Table:
    from datasets import Dataset, Features, Value

    rows, digest = 0, hashlib.sha256()
    for line, _ in _rows(path, languages):
        rows += 1
        digest.update(line)
    if not rows:
        raise InputError(f"{path}: no rows; write one JSON object with both sides a line")
    # `datasets` keys its cache by the arguments: with the digest, a changed file is never taken for the old one.
    arguments = {"path": str(path.resolve()), "languages": languages, "digest": digest.hexdigest()}
    features = Features({language: Value("string") for language in languages})
    with _cache_problems():
        return Dataset.from_generator(_records, features=features, gen_kwargs=arguments)


def _open_table(path: Path, languages: tuple[str, str]) -> Table:
    from datasets import config, load_dataset

    # Here the key would be the time of change, which copies keep; so each content has a cache folder of its own.
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    kind = path.suffix.removeprefix(".")
    cache = Path(config.HF_DATASETS_CACHE) / "transformer_mt" / digest[:16]
    with _cache_problems():
        try:
            return load_dataset(kind, data_files=str(path), split="train", cache_dir=str(cache))
        except OSError:
            raise
        except Exception as error:
            reason = " ".join(str(error.__cause__ or error).split())[:200] or "nothing in it"
            raise InputError(f"{path}: not readable as {kind} ({reason}); correct the file") from None


_OPENERS: dict[str, Callable[[Path, tuple[str, str]], Table]] = {
    ".jsonl": _open_jsonl,
    ".json": _open_table,
    ".csv": _open_table,
    ".parquet": _open_table,
}


def _records(path: str, languages: tuple[str, str], digest: str) -> Iterator[dict[str, str]]:
    """What `datasets` stores of a file; `digest` is an argument only to become part of the cache's key."""
    for _, texts in _rows(Path(path), languages):
        yield dict(zip(languages, texts, strict=True))


def _rows(path: Path, languages: tuple[str, str]) -> Iterator[tuple[bytes, list[str]]]:
    """Each line that is not blank, as bytes and as its two texts. Raises `InputError` with file and line."""
    try:
        with path.open("rb") as file:
            for number, line in bounded_lines(file, name=str(path)):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    yield line, _texts(line, languages, place=f"{path}:{number}")
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def _texts(line: bytes, languages: tuple[str, str], *, place: str) -> list[str]:
    row = _parse(line, place)
    if not isinstance(row, dict):
        raise InputError(f"{place}: {_shown(row)} is not an object; write one JSON object with both sides a line")
    sides = row.get(NESTED, row) if not set(languages) <= row.keys() else row
    if not isinstance(sides, dict) or not set(languages) <= sides.keys():
        raise missing_column(place, list(sides if isinstance(sides, dict) else row), languages)
    texts = [sides[language] for language in languages]
    for language, text in zip(languages, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(f"{place}: {language} is {_shown(text)}, not a text; write it in quotes")
        if not text.isascii() and _SURROGATE.search(text):
            raise InputError(
                f"{place}: {language} has half a surrogate pair (\\ud800 to \\udfff); write whole characters"
            )
    return texts


def _parse(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").rstrip())
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: not JSON at column {error.colno} ({error.msg}); correct the line") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not usable JSON ({error}); correct the line") from None


def _shown(value: Any) -> str:
    """A JSON value, short enough for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


@contextmanager
def _cache_problems() -> Iterator[None]:
    """Report a cache of `datasets` that cannot be written in one line."""
    from datasets import config

    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{config.HF_DATASETS_CACHE}: cannot be written ({error.strerror or error}); free some space or set "
            "HF_DATASETS_CACHE to another folder"
        ) from None
