"""The files of a folder as splits: which two belong together, and which split each is, by their names."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.source import FORMS, DataFile
from transformer_mt.corpus.split_source import SplitSource
from transformer_mt.corpus.tables import TableFile
from transformer_mt.corpus.text import ParallelText, TabSeparated
from transformer_mt.errors import InputError

# The split that a usual name stands for.
USUAL = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}

Content = TypeVar("Content")


def open_folder(folder: Path, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a folder by their own names, and notes about files that were left aside.

    Text files are paired by their names without language: `train.de` and `train.en`. Of JSON, CSV and Parquet only
    files with a usual name, or one that the configuration gives, are data; folders often hold others.
    """
    wanted = {*USUAL, config.train_split, config.validation_split, config.test_split}
    parts: dict[str, SplitSource] = {}
    texts: dict[str, list[DataFile]] = {}
    aside: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        file = DataFile.named(path)
        if not file.is_table and file.languages:
            texts.setdefault(file.stem, []).append(file)
        elif file.is_table and (file.form in ("jsonl", "tsv") or file.stem in wanted):
            _add(parts, file.stem, open_table(file), path)
        else:
            aside.append(path.name)
    for stem, files in texts.items():
        if len(files) == 1:
            aside.append(files[0].path.name)
            continue
        languages = [file.languages[0] for file in files]
        if len(set(languages)) < len(files):
            names = ", ".join(file.path.name for file in files)
            raise InputError(f"{folder}: {names}: two files of one language; keep one of them")
        _add(parts, stem, ParallelText(tuple(files), tuple(languages), in_order=False), files[0].path)
    if not parts:
        found = f"only {', '.join(aside[:9])}" if aside else "nothing"
        raise InputError(f"{folder}: {found}, which is no data; {FORMS}")
    return parts, [f"{folder}: not taken for data: {', '.join(aside[:9])}"] if aside else []


def open_files(paths: tuple[Path, ...]) -> SplitSource:
    """One file with both sides, or the files of source and target."""
    files = tuple(map(DataFile.named, paths))
    if len(files) == 1:
        return open_table(files[0])
    for file in files:
        if file.is_table:
            raise InputError(f"{file.path}: a table, which holds both sides; give it alone, or a pair of plain texts")
    languages = tuple(language for file in files for language in file.languages)
    named = languages if len(set(languages)) == 2 else ()
    return ParallelText(files, named, in_order=True)


def open_table(file: DataFile) -> SplitSource:
    """A file that holds both sides."""
    if file.form in ("tsv", "txt"):
        return TabSeparated(file)
    if file.is_table:
        return TableFile(file)
    plain = file.path.with_name(file.path.name.removesuffix(file.compression))
    other = plain.with_suffix(".de" if file.languages == ("en",) else ".en")
    both = f"{file.path},{other}{file.compression}"
    raise InputError(f"{file.path}: one file that is no table by its name; give both sides, as in {both}")


def assign_splits(contents: Mapping[str, Content], config: DataConfig, *, name: str) -> dict[str, Content]:
    """The contents under the names of their splits, the usual ones first.

    Names in the configuration go before usual names. Raises `InputError` for two that are one split.
    """
    chosen = {config.train_split: "train", config.validation_split: "validation", config.test_split: "test"}
    chosen.pop("", None)
    for own in chosen:
        if own not in contents:
            raise InputError(f"data.{chosen[own]}_split: {name} has no {own}, but {', '.join(contents)}; choose one")
    taken = {split: own for own, split in chosen.items()}
    for own in contents:
        split = chosen.get(own) or USUAL.get(own, own)
        if taken.setdefault(split, own) != own and own not in chosen:
            if split in chosen.values():
                continue  # the configuration prefers another
            raise InputError(f"{name}: {own} and {taken[split]} are both the split {split}; keep one of them")
    usual = [split for split in dict.fromkeys(USUAL.values()) if split in taken]
    return {split: contents[taken[split]] for split in (*usual, *(split for split in taken if split not in usual))}


def _add(parts: dict[str, SplitSource], stem: str, part: SplitSource, path: Path) -> None:
    if stem in parts:
        raise InputError(f"{path}: {parts[stem].name} is the split {USUAL.get(stem, stem)} already; keep one of them")
    parts[stem] = part
