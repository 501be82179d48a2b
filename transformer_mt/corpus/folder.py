"""The files of a folder as splits: which two belong together, and which split each is, by their names."""

from collections.abc import Mapping
from pathlib import Path

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.source import FORMS, TABLES, DataFile
from transformer_mt.corpus.split_source import SplitSource
from transformer_mt.corpus.tables import table_file
from transformer_mt.corpus.text import ParallelText, TabSeparated
from transformer_mt.errors import InputError

# The split that a usual name stands for.
USUAL = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}


def open_folder(folder: Path, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a folder by their own names, and notes about files that were left aside.

    Text files are paired by their names without language: `train.de` and `train.en`. Of JSON, CSV and Parquet only
    files with a usual name, or one that the configuration gives, are data; folders often hold others.
    """
    wanted = {*USUAL, config.train_split, config.validation_split, config.test_split}
    parts: dict[str, list[DataFile]] = {}
    aside: list[str] = []
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        file = DataFile.named(path)
        is_text = file.form not in TABLES and file.languages
        if is_text or file.form in ("jsonl", "tsv") or (file.form in TABLES and file.stem in wanted):
            parts.setdefault(file.stem, []).append(file)
        else:
            aside.append(path.name)
    splits: dict[str, SplitSource] = {}
    for stem, files in parts.items():
        tables = [file for file in files if file.form in TABLES]
        texts = sorted((file for file in files if file not in tables), key=lambda file: file.languages)
        if len(texts) == 1:
            aside.append(texts.pop().path.name)
        languages = tuple(language for file in texts for language in file.languages)
        names = ", ".join(file.path.name for file in files)
        if len(set(languages)) < len(texts):
            raise InputError(f"{folder}: {names}: two files of one language; keep one of them")
        if len(tables) + bool(texts) > 1:
            raise InputError(f"{folder}: {names}: all are the split {USUAL.get(stem, stem)}; keep one of them")
        if texts or tables:
            splits[stem] = ParallelText(tuple(texts), languages) if texts else open_table(tables[0])
    if not splits:
        content = f"only {', '.join(sorted(aside)[:9])}" if aside else "nothing"
        raise InputError(f"{folder}: {content}, which is no data; {FORMS}")
    return splits, [f"{folder}: not taken for data: {', '.join(sorted(aside)[:9])}"] if aside else []


def open_files(paths: tuple[Path, ...]) -> SplitSource:
    """One file with both sides, or the files of source and target."""
    files = tuple(map(DataFile.named, paths))
    if len(files) == 1:
        return open_table(files[0])
    for file in files:
        if file.form in TABLES:
            raise InputError(f"{file.path}: a table, which holds both sides; give it alone, or a pair of plain texts")
    languages = tuple(language for file in files for language in file.languages)
    return ParallelText(files, languages if len(set(languages)) == 2 else ())


def open_table(file: DataFile) -> SplitSource:
    """A file that holds both sides."""
    if file.form in ("tsv", "txt"):
        return TabSeparated(file)
    if file.form in TABLES:
        return table_file(file)
    plain = file.path.with_name(file.path.name.removesuffix(file.compression))
    other = plain.with_suffix(".de" if file.languages == ("en",) else ".en")
    both = f"{file.path},{other}{file.compression}"
    raise InputError(f"{file.path}: one file that is no table by its name; give both sides, as in {both}")


def assign_splits(sources: Mapping[str, SplitSource], config: DataConfig, *, name: str) -> dict[str, SplitSource]:
    """The sources under the names of their splits, the usual ones first.

    Names in the configuration go before usual names. Raises `InputError` for two that are one split.
    """
    chosen = {config.train_split: "train", config.validation_split: "validation", config.test_split: "test"}
    chosen.pop("", None)
    for own in chosen:
        if own not in sources:
            raise InputError(f"data.{chosen[own]}_split: {name} has no {own}, but {', '.join(sources)}; choose one")
    taken = {split: own for own, split in chosen.items()}
    for own in sources:
        split = chosen.get(own) or USUAL.get(own, own)
        if split in chosen.values() and own not in chosen:
            continue  # the configuration prefers another
        if taken.setdefault(split, own) != own:
            raise InputError(f"{name}: {own} and {taken[split]} are both the split {split}; keep one of them")
    return {split: sources[taken[split]] for split in dict.fromkeys((*USUAL.values(), *taken)) if split in taken}
