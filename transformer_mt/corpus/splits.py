"""The splits of a corpus: which files belong together, and which split each is, by their names."""

from collections.abc import Callable, Mapping
from pathlib import Path

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.data_file import TABLES, DataFile
from transformer_mt.corpus.hub import open_hub
from transformer_mt.corpus.source import FORMS, Hub, SplitSource
from transformer_mt.corpus.tables import table_file
from transformer_mt.corpus.text import ParallelText, TabSeparated
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

# How a file that holds both sides is opened, by its form.
OPENERS: dict[str, Callable[[DataFile], SplitSource]] = dict.fromkeys(TABLES, table_file)
OPENERS |= {"tsv": TabSeparated, "txt": TabSeparated}

# The split that a usual name stands for.
USUAL = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}


def open_splits(
    corpus: Hub | Path | tuple[Path, ...], config: DataConfig, need: str
) -> tuple[dict[str, SplitSource], list[str]]:
    """The source of each split, the needed one first, and notes about them."""
    if isinstance(corpus, tuple):
        return {need: _open_files(corpus)}, []
    sources, notes = open_hub(corpus, config) if isinstance(corpus, Hub) else _open_folder(corpus, config)
    if isinstance(corpus, Path) and need not in sources and len(sources) == 1:
        return {need: next(iter(sources.values()))}, notes  # what else could be meant
    sources = _assign(sources, config)
    if need != "train":
        lookup(sources, need, key="--split")
    if need not in sources:
        raise InputError(
            f"{config.corpus}: no split train, but {', '.join(sources)}; rename its files, or say which it is with "
            "data.train_split"
        )
    return {split: sources[split] for split in dict.fromkeys((need, *sources))}, notes


def _open_folder(folder: Path, config: DataConfig) -> tuple[dict[str, SplitSource], list[str]]:
    """The splits of a folder by their own names, and notes about files that were left aside.

    Text files are paired by their names without language: `train.de` and `train.en`. Of JSON, CSV and Parquet only
    files with a usual name, or one that the configuration gives, are data; folders often hold others.
    """
    wanted = {*USUAL, config.train_split, config.validation_split, config.test_split}
    files_of: dict[str, list[DataFile]] = {}
    aside: list[str] = []
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        file = DataFile.named(path)
        is_data = file.form in ("jsonl", "tsv") or (file.stem in wanted if file.form in TABLES else file.languages)
        if is_data:
            files_of.setdefault(file.stem, []).append(file)
        else:
            aside.append(path.name)
    splits: dict[str, SplitSource] = {}
    for stem, files in files_of.items():
        tables = [file for file in files if file.form in TABLES]
        texts = sorted((file for file in files if file.form not in TABLES), key=lambda file: file.languages)
        if len(texts) == 1:
            aside.append(texts.pop().path.name)
        if len(tables) + bool(texts) > 1 or len({file.languages for file in texts}) < len(texts):
            names = ", ".join(file.path.name for file in files)
            raise InputError(f"{folder}: {names}: files of one split and language; keep one table, or one text a side")
        if texts or tables:
            splits[stem] = _parallel(texts) if texts else _open_table(tables[0])
    names = ", ".join(sorted(aside)[:9])
    if not splits:
        raise InputError(f"{folder}: no data, but {names or 'nothing'}; {FORMS}")
    return splits, [f"{folder}: not taken for data: {names}"] if aside else []


def _open_files(paths: tuple[Path, ...]) -> SplitSource:
    """One file with both sides, or the files of source and target."""
    files = list(map(DataFile.named, paths))
    if len(files) == 1:
        return _open_table(files[0])
    for file in files:
        if file.form in TABLES:
            raise InputError(f"{file.path}: a table, which holds both sides; give it alone, or a pair of plain texts")
    return _parallel(files)


def _parallel(files: list[DataFile]) -> ParallelText:
    languages = tuple(language for file in files for language in file.languages)
    return ParallelText(tuple(files), languages if len(set(languages)) >= 2 else ())


def _open_table(file: DataFile) -> SplitSource:
    """A file that holds both sides."""
    if file.form in OPENERS:
        return OPENERS[file.form](file)
    raise InputError(f"{file.path}: one file that is no table by its name; give both sides, as in train.de,train.en")


def _assign(sources: Mapping[str, SplitSource], config: DataConfig) -> dict[str, SplitSource]:
    """The sources under the names of their splits, the usual ones first.

    Names in the configuration go before usual names. Raises `InputError` for two that are one split.
    """
    chosen = {"train": config.train_split, "validation": config.validation_split, "test": config.test_split}
    chosen = {split: own for split, own in chosen.items() if own}
    for split, own in chosen.items():
        if own not in sources:
            raise InputError(f"data.{split}_split: {config.corpus} has no {own}, but {', '.join(sources)}; choose one")
    assigned = dict(chosen)
    for own in sources:
        split = USUAL.get(own, own)
        if own not in chosen.values() and split not in chosen and assigned.setdefault(split, own) != own:
            both = f"{own} and {assigned[split]} are both the split {split}"
            raise InputError(f"{config.corpus}: {both}; keep one of them")
    order = dict.fromkeys((*USUAL.values(), *assigned))
    return {split: sources[assigned[split]] for split in order if split in assigned}
