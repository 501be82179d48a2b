"""Loading a corpus: built in, from files, a folder, or a data set on the hub."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from transformer_mt.config.sections import DataConfig, Problem
from transformer_mt.config.toml import load_config
from transformer_mt.corpus import builtin
from transformer_mt.corpus.clean_corpus import CleanSplit, cached_splits, clean_splits
from transformer_mt.corpus.cleaning import SplitReport, describe_all
from transformer_mt.corpus.data_file import TABLES, DataFile, refuse_unread
from transformer_mt.corpus.json_file import json_objects
from transformer_mt.corpus.pairs import Fingerprint, Pairs, SentencePair
from transformer_mt.corpus.source import (
    BUILTIN,
    FORMS,
    GERMAN_ENGLISH,
    Direction,
    Hub,
    Sources,
    SourcesAndNotes,
    SplitSource,
    absolute,
    choose_columns,
    choose_direction,
    parse_source,
    short_code,
)
from transformer_mt.corpus.tables import open_hub, parquet_rows
from transformer_mt.corpus.text_files import ParallelText, TabSeparated, csv_rows
from transformer_mt.corpus.tmx import TranslationMemory
from transformer_mt.corpus.word_counts import TrainingWords, words_of_pairs
from transformer_mt.errors import InputError, TmtError, checked
from transformer_mt.progress import working
from transformer_mt.registry import lookup

# How a file is read whose columns have names, by its form.
READERS = {"csv": csv_rows, "json": json_objects, "jsonl": json_objects, "parquet": parquet_rows}

# Pairs of a corpus to look at, about.
LOOKED_AT = 2_000

# Pairs of a validation split below which chance decides which model is the best.
FEW_PAIRS = 10

# The split that a usual name stands for.
USUAL = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}

# The defaults of the keys that say how one corpus is read, and do not go with another.
OF_ONE_CORPUS = DataConfig().model_dump(
    include={"mixture", "source_column", "target_column", "train_split", "validation_split", "test_split"}
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Cleaned sentence pairs by split: always `train`, mostly `validation` and `test`, and whatever else there is.

    `languages` are source and target. `has_links` says that every pair knows which of its words correspond. `notes`
    say what was taken for what.
    """

    name: str
    languages: Direction
    clean: Mapping[str, CleanSplit]
    config: DataConfig
    has_links: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    @checked
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[SentencePair | tuple[str, str]]],
        *,
        name: str = "pairs",
        languages: Direction = GERMAN_ENGLISH,
        max_words: int = DataConfig().max_words,
    ) -> "Corpus":
        """A corpus of pairs made in Python, (source, target) each, cleaned as any other by default.

        Of a data frame with two columns they are `list(frame.itertuples(index=False, name=None))`. Training needs the
        splits `train` and `validation`. Raises `InputError` for a split without any usable pair.
        """
        given = {
            split: [pair if isinstance(pair, SentencePair) else SentencePair(*pair) for pair in pairs]
            for split, pairs in splits.items()
        }
        if not given:
            raise InputError("splits", "there are none", "give train and validation")
        has_links = all(pair.links is not None for pairs in given.values() for pair in pairs)
        config = load_config(None, [f"data.max_words={max_words}"]).data
        return cls(name, languages, clean_splits(given, config, name=name, cut=False), config, has_links)

    @classmethod
    @checked
    def from_file(cls, source: str | Path, *, need: str = "train") -> "Corpus":
        """The corpus that `--data` names: a folder, a file, two as `train.de,train.en`, or a data set of the hub.

        `need` and the errors are those of `load_corpus`.
        """
        return load_corpus(DataConfig(corpus=absolute(str(source))), need=need)

    @property
    def splits(self) -> dict[str, Pairs]:
        """The pairs of every split."""
        return {split: part.pairs for split, part in self.clean.items()}

    @property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """The fingerprint of every split."""
        return {split: part.fingerprint for split, part in self.clean.items()}

    @property
    def reports(self) -> dict[str, SplitReport]:
        """The report of cleaning of every split."""
        return {split: part.report for split, part in self.clean.items()}

    @property
    def left_out(self) -> Counter[Problem]:
        """The number of pairs left out for each problem, over all splits."""
        return sum((Counter(report.left_out) for report in self.reports.values()), Counter())

    @property
    def sizes(self) -> str:
        """The number of pairs of each split, in words."""
        return ", ".join(f"{split} {len(pairs)}" for split, pairs in self.splits.items())


@checked
def load_corpus(
    config: DataConfig,
    *,
    need: str = "train",
    mixed: bool = False,
    structure: bool = False,
    held_out: frozenset[str] = frozenset(),
) -> Corpus:
    """The corpus that the configuration names, in one of the forms of `corpus.source`.

    Of a folder or a data set, `need` is the split that must be there; a single file or pair is that split. When that
    is `train`, a validation split that is missing is cut from it, unless the corpus is `mixed` into another. With
    `structure`, the pairs of the built-in corpus have their dependency trees. Training pairs with a `held_out` text
    count as `overlap`. Raises `InputError` for a mistake in the data and `MachineError` where the hub or the disk
    fails.
    """
    corpus = parse_source(config.corpus)
    with working(f"reading {config.corpus}"):
        if isinstance(corpus, str):
            return _builtin(config, structure=structure, held_out=held_out)
        sources, notes = _open_splits(corpus, config, need)
        columns, direction_notes = choose_columns(config, sources[need], mixed=mixed)
        notes += [f"{split}: {source.name}, {' → '.join(columns.languages)}" for split, source in sources.items()]
        notes += direction_notes
        cut = not mixed and need == "train" and "validation" not in sources
        pairs = {split: source.pairs(columns) for split, source in sources.items()}
        key = [columns.languages, columns.columns, [source.identity for source in sources.values()]]
        clean = cached_splits(key, pairs, config, name=config.corpus, cut=cut, held_out=held_out)
    if columns.languages == GERMAN_ENGLISH:
        known = builtin.builtin_corpus(train=LOOKED_AT, validation=1, test=1, structure=False)["train"]
        notes += filter(None, [_exchanged(clean[need].pairs, words_of_pairs(known))])
    if cut and "validation" in clean:
        count = len(clean["validation"].pairs)
        which = f"{count} of the {count + len(clean['train'].pairs)} training pairs, those with the smallest hashes"
        notes.append(f"validation: {which}; there is no validation split")
    if need == "train" and "validation" in clean and (few := len(clean["validation"].pairs)) < FEW_PAIRS:
        notes.append(f"validation: too few pairs ({few}) to tell models apart; give {FEW_PAIRS} or more")
    return Corpus(config.corpus, columns.languages, clean, config, notes=tuple(notes))


def load_mixture(config: DataConfig, main: Corpus) -> list[tuple[Corpus, float]]:
    """The further corpora of `data.mixture` with their weights; only their split `train` is meant.

    The configuration, which must be resolved, gives their languages. The other splits of `main` are held out.
    Errors name the key.
    """
    held_out = [pair for split, pairs in main.splits.items() if split != "train" for pair in pairs]
    texts = frozenset(text for pair in held_out for text in (pair.source, pair.target))
    mixture, known = [], words_of_pairs(pair for pairs in main.splits.values() for pair in _some(pairs))
    for name, mixed in config.mixture.items():
        changes = OF_ONE_CORPUS | mixed.model_dump(exclude={"weight"})
        try:
            corpus = load_corpus(config.model_copy(update=changes), mixed=True, held_out=texts)
            if found := _exchanged(corpus.splits["train"], known):
                raise InputError(Path(corpus.name), found)
        except TmtError as error:
            raise type(error)(f"data.mixture.{name}: {error.key}", error.problem, error.remedy) from None
        report = corpus.reports["train"]
        left_out = describe_all(+Counter(report.left_out), corpus.config) or "none"
        said = f"mixture: {report.kept} of {report.read} pairs of {corpus.name}; left out: {left_out}"
        mixture.append((replace(corpus, notes=(*corpus.notes, said)), mixed.weight))
    return mixture


def _some(pairs: Pairs) -> Pairs:
    """Pairs evenly from all, enough to know a language by its words."""
    return pairs[:: max(len(pairs) // LOOKED_AT, 1)]


def _exchanged(pairs: Pairs, known: TrainingWords) -> str:
    """The problem, if the sources have the known words of targets and the other way round."""
    found = words_of_pairs(_some(pairs))
    source, target = known.source.keys() - known.target.keys(), known.target.keys() - known.source.keys()

    def count(sources: Set[str], targets: Set[str]) -> int:
        return sum(found.source[word] for word in sources) + sum(found.target[word] for word in targets)

    right, wrong = count(source, target), count(target, source)
    if wrong < FEW_PAIRS or wrong <= 2 * right:
        return ""
    problem = f"source and target look exchanged ({wrong:,} words of the other side, {right:,} of the same)"
    return f"{problem}; swap its files, or its source_column and target_column"


def resolved(config: DataConfig, corpus: Corpus) -> DataConfig:
    """The configuration with the languages that the corpus was found to have."""
    source, target = corpus.languages
    return config.model_copy(update={"source_language": source, "target_language": target})


def _builtin(config: DataConfig, *, structure: bool, held_out: frozenset[str]) -> Corpus:
    direction = choose_direction(config, GERMAN_ENGLISH, name=BUILTIN)
    if set(direction) != set(GERMAN_ENGLISH):
        problem = f"{' and '.join(direction)} are not in the built-in corpus"
        raise InputError("data.source_language, data.target_language", problem, "choose de and en, or other data")
    splits = builtin.builtin_corpus(**config.builtin.model_dump(), structure=structure)
    if direction == ("en", "de"):
        splits = {split: [pair.reversed() for pair in pairs] for split, pairs in splits.items()}
    clean = clean_splits(splits, config, name=BUILTIN, cut=False, held_out=held_out)
    return Corpus(BUILTIN, direction, clean, config, has_links=True)


def _open_splits(corpus: Hub | Path | tuple[Path, ...], config: DataConfig, need: str) -> SourcesAndNotes:
    """The source of each split, the needed one first, and notes about them."""
    if isinstance(corpus, tuple):
        refuse_unread(corpus)
        return {need: _open_files(list(map(DataFile.named, corpus)))}, []
    sources, notes = open_hub(corpus, config) if isinstance(corpus, Hub) else _open_folder(corpus, config)
    if isinstance(corpus, Path) and need not in sources and len(sources) == 1:
        return {need: next(iter(sources.values()))}, notes  # what else could be meant
    sources = _assign(sources, config)
    if need == "train" and need not in sources:
        raise InputError(
            Path(config.corpus), f"no split train, but {', '.join(sources)}", "choose one as data.train_split"
        )
    lookup(sources, need, key="split")
    return {split: sources[split] for split in dict.fromkeys((need, *sources))}, notes


def _open_folder(folder: Path, config: DataConfig) -> SourcesAndNotes:
    """The splits of a folder by their own names, and notes about files that were left aside.

    Text files are paired by their names without language: `train.de` and `train.en`. Of JSON, CSV and Parquet only
    files with a usual name, or one that the configuration gives, are data; folders often hold others.
    """
    wanted = {*USUAL, config.train_split, config.validation_split, config.test_split}
    files_of: dict[str, list[DataFile]] = {}
    aside: list[Path] = []
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        file = DataFile.named(path)
        is_data = file.form in ("jsonl", "tsv", "tmx") or (
            file.stem in wanted if file.form in TABLES else file.languages
        )
        if is_data:
            files_of.setdefault(file.stem, []).append(file)
        else:
            aside.append(path)
    splits: Sources = {}
    for stem, files in files_of.items():
        has_table = any(file.form in TABLES for file in files)
        if len(files) == 1 and not has_table:  # the text of one side
            aside.append(files[0].path)
            continue
        if (has_table and len(files) > 1) or len({file.languages for file in files}) < len(files):
            names = ", ".join(file.path.name for file in files)
            raise InputError(folder, f"{names}: files of one split and language", "keep one table, or one text a side")
        splits[stem] = _open_files(sorted(files, key=lambda file: list(map(short_code, file.languages))))
    aside.sort()
    names = ", ".join(path.name for path in aside[:9])
    if not splits:
        refuse_unread(aside)
        raise InputError(folder, f"no data, but {names or 'nothing'}", FORMS)
    return splits, [f"{folder}: not taken for data: {names}"] if aside else []


def _open_files(files: Sequence[DataFile]) -> SplitSource:
    """One file with both sides, or the files of source and target."""
    if len(files) > 1:
        if tables := [file.path for file in files if file.form in TABLES]:
            raise InputError(tables[0], "a table, which holds both sides", "give it alone, or a pair of plain texts")
        return ParallelText(files)
    (file,) = files
    if file.form in READERS:
        return SplitSource(str(file.path), file.identity, partial(READERS[file.form], file), file.languages)
    if file.form == "tmx":
        return TranslationMemory(file)
    if file.form == "text":
        sides = "give both sides, as in train.de,train.en"
        raise InputError(file.path, "one file that is no table by its name", sides)
    return TabSeparated(file)


def _assign(sources: Mapping[str, SplitSource], config: DataConfig) -> Sources:
    """The sources under the names of their splits, the usual ones first.

    Names in the configuration go before usual names. Raises `InputError` for two that are one split.
    """
    chosen = {"train": config.train_split, "validation": config.validation_split, "test": config.test_split}
    assigned = {split: own for split, own in chosen.items() if own}
    for split, own in assigned.items():
        if own not in sources:
            has = f"{config.corpus} has no {own}, but {', '.join(sources)}"
            raise InputError(f"data.{split}_split", has, "choose one")
    for own in sources:
        split = USUAL.get(own, own)
        if own not in chosen.values() and not chosen.get(split) and assigned.setdefault(split, own) != own:
            both = f"{own} and {assigned[split]} are both the split {split}"
            raise InputError(Path(config.corpus), both, "keep one of them")
    order = dict.fromkeys((*USUAL.values(), *assigned))
    return {split: sources[assigned[split]] for split in order if split in assigned}
