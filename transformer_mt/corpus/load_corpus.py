"""Loading a corpus: built-in, from files, from a folder, or from the hub."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from transformer_mt.config.sections import CorpusConfig, DataConfig, MixedConfig, Problem
from transformer_mt.corpus import builtin
from transformer_mt.corpus.clean_corpus import CleanSplit, cached_splits, clean_splits
from transformer_mt.corpus.cleaning import SplitReport, describe_all
from transformer_mt.corpus.data_file import DataFile, readers, refuse_unread, tables
from transformer_mt.corpus.json_file import json_objects
from transformer_mt.corpus.pairs import AnyPair, Fingerprint, Pairs, SentencePair, as_pairs
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
    parse_source,
    short_code,
    sides,
)
from transformer_mt.corpus.tables import open_hub, parquet_rows
from transformer_mt.corpus.text_files import ParallelText, TabSeparated, csv_rows
from transformer_mt.ground.errors import InputError, TmtError
from transformer_mt.ground.plugins import resolve
from transformer_mt.ground.progress import working
from transformer_mt.ground.registry import lookup
from transformer_mt.text.languages import language_of, looks_like, name_of

# Readers for formats with named columns.
READERS = {"csv": csv_rows, "json": json_objects, "jsonl": json_objects, "parquet": parquet_rows}

# About how many pairs of a corpus to inspect.
LOOKED_AT = 2_000

# With fewer validation pairs, chance decides which model is best.
FEW_PAIRS = 10

# Usual split names.
USUAL = {"train": "train", **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"), "test": "test"}

# The place of a row (`test.tsv:17`), and its pair.
PlacedPair = tuple[str, SentencePair | None]

AnyConfig = TypeVar("AnyConfig", DataConfig, MixedConfig)

# Defaults of the keys that describe how one corpus is read and do not carry over to another.
OF_ONE_CORPUS = DataConfig().model_dump(
    include={"mixture", "source_column", "target_column", "train_split", "validation_split", "test_split"}
)


@dataclass(frozen=True, repr=False)
class Corpus:
    """Cleaned sentence pairs by split: always `train`, usually `validation` and `test`, and any other split.

    `languages` are source and target. `has_links` means that every pair has word links. `notes` report choices
    made in loading.
    """

    name: str
    languages: Direction
    clean: Mapping[str, CleanSplit]
    config: DataConfig
    has_links: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[AnyPair]],
        *,
        name: str = "pairs",
        languages: Direction = GERMAN_ENGLISH,
    ) -> "Corpus":
        """Build a corpus from (source, target) pairs, cleaned with the default settings.

        For a data frame with two columns, pass `list(frame.itertuples(index=False, name=None))`. Training needs the
        splits `train` and `validation`. Raises `InputError` if a split has no usable pair.
        """
        given = {split: as_pairs(pairs) for split, pairs in splits.items()}
        if not given:
            raise InputError("splits", "empty", "give train and validation")
        has_links = all(pair.links is not None for pairs in given.values() for pair in pairs)
        return cls(name, languages, clean_splits(given, DataConfig(), name=name), DataConfig(), has_links)

    @classmethod
    def from_file(cls, source: str | Path, *, need: str = "train") -> "Corpus":
        """Load the corpus that `--data` names: a folder, a file, two (`train.de,train.en`), or a hub data set.

        See `load_corpus` for `need` and errors.
        """
        return load_corpus(DataConfig(corpus=absolute(str(source))), need=need)

    @override
    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {' → '.join(self.languages)}, pairs: {self.sizes})"

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
        """The cleaning report of every split."""
        return {split: part.report for split, part in self.clean.items()}

    @property
    def left_out(self) -> Counter[Problem]:
        """The number of pairs removed for each problem, over all splits."""
        return sum((Counter(report.left_out) for report in self.reports.values()), Counter())

    @property
    def sizes(self) -> str:
        """The number of pairs in each split, as text."""
        return ", ".join(f"{split} {len(pairs):,}" for split, pairs in self.splits.items())


def load_corpus(config: DataConfig, *, need: str = "train", offline: bool = False) -> Corpus:
    """Load the configured corpus, in one of the forms of `corpus.source`.

    `need` is the split that must exist in a folder or data set; a single file or pair of files is that split. If it is
    `train`, a missing validation split is cut from it. With `offline`, a hub data set must be on disk. Raises
    `InputError` for invalid data and `MachineError` if the hub or the disk fails.
    """
    return _load(config, need, cut=need == "train", offline=offline)


def load_mixed(config: DataConfig, *, cut: bool, held_out: frozenset[str], offline: bool = False) -> Corpus:
    """Load a corpus to mix into another, whose languages are configured. Only its `train` split is used.

    With `cut`, it loses the pairs that would validate it as the main corpus. Pairs with a `held_out` text count as
    `overlap`. Raises as `load_corpus`.
    """
    return _load(config, "train", cut=cut, offline=offline, held_out=held_out, mixed=True)


def read_split(config: DataConfig, split: str) -> tuple[str, Iterable[PlacedPair], list[str]]:
    """The name of the configured corpus, every row of one split as written, and notes.

    For measuring: nothing is cleaned. Raises `InputError` as `load_corpus`; for a mistake in a row, when it is read.
    """
    if config.corpus == BUILTIN:
        pairs = enumerate(lookup(_builtin(config).splits, split, key="split"), start=1)
        return BUILTIN, ((f"{split}:{number}", pair) for number, pair in pairs), []
    sources, notes = _open_splits(config, split)
    source = sources[split]
    columns, more = choose_columns(config, {split: source})
    beginning = list(islice(source.pairs(columns), LOOKED_AT))
    if contradiction := _contradiction(beginning, columns.languages, source):
        more.append(str(contradiction))
    rows = (
        (place, None if target is None else SentencePair(text or "", target))
        for place, text, target in source.rows(columns)
    )
    return config.corpus, rows, [*notes, *more]


def _load(
    config: DataConfig,
    need: str,
    *,
    cut: bool,
    offline: bool,
    held_out: frozenset[str] = frozenset(),
    mixed: bool = False,
) -> Corpus:
    """Open and clean all splits, the needed one first. With `cut`, a missing validation split comes from it.

    Raises `InputError` for a mistake in the data, and for training data in other languages than assumed.
    """
    with working(f"reading {config.corpus}"):
        if config.corpus == BUILTIN:
            return _builtin(config, held_out=held_out)
        sources, notes = _open_splits(config, need, offline=offline)
        columns, more = choose_columns(config, sources, mixed=mixed)
        notes = [*notes, *more]
        cut = cut and "validation" not in sources
        clean = cached_splits(sources, columns, config, cut=cut, held_out=held_out)
    if contradiction := _contradiction(clean[need].pairs, columns.languages, sources[need]):
        if need == "train" and contradiction.remedy:
            raise contradiction
        notes.append(str(contradiction))
    count = len(clean["validation"].pairs) if "validation" in clean else 0
    if cut and count:
        which = f"{count} of the {count + len(clean['train'].pairs)} training pairs, those with the smallest hashes"
        notes.append(f"validation: no such split; taking {which}")
    if need == "train" and not mixed and 0 < count < FEW_PAIRS:
        notes.append(f"validation: too few pairs ({count}) to tell models apart; give {FEW_PAIRS} or more")
    return Corpus(config.corpus, columns.languages, clean, config, notes=tuple(notes))


def _contradiction(pairs: Pairs, languages: Direction, source: SplitSource) -> InputError | None:
    """The error for words that contradict the languages of a corpus; with a remedy if both sides contradict them."""
    some = pairs[:: max(len(pairs) // LOOKED_AT, 1)]
    texts = [pair.source for pair in some], [pair.target for pair in some]
    one, other = map(looks_like, texts, languages)
    if (one, other) == languages:
        return None
    seen, assumed = (" → ".join(map(name_of, both)) for both in ((one, other), languages))
    change = ""
    if one != languages[0] and other != languages[1]:
        is_exchanged = [other, one] == list(map(language_of, languages))
        change = f"{'exchange' if is_exchanged else 'rename'} its files or columns"
        if not source.languages():  # otherwise the configuration can only choose among these
            change += f", or set data.source_language={one} and data.target_language={other}"
    return InputError(source.name, f"this looks like {seen}, not {assumed}", change)


def load_mixture(config: DataConfig, main: Corpus) -> list[tuple[Corpus, MixedConfig]]:
    """Load the additional corpora of `data.mixture`. Only their `train` split is used.

    `config` must be resolved: it provides their languages. The other splits of `main` are held out. Raises
    `InputError` and `MachineError` with the key of the corpus.
    """
    texts = held_out_texts(main)
    mixture = []
    known_names = {short_code(language): language for language in main.languages}
    for name, mixed in config.mixture.items():
        try:
            corpus = load_mixed(data_of(config, mixed), cut=mixed.hold_out, held_out=texts)
        except TmtError as error:
            remedy = error.remedy.replace("data.", f"data.mixture.{name}.")
            raise type(error)(f"data.mixture.{name}: {error.key}", error.problem, remedy) from None
        source, target = (known_names.setdefault(short_code(language), language) for language in corpus.languages)
        report = corpus.reports["train"]
        left_out = describe_all(+Counter(report.left_out), corpus.config) or "none"
        said = f"mixture: {report.kept} of {report.read} pairs of {corpus.name}; left out: {left_out}"
        mixture.append((replace(corpus, languages=(source, target), notes=(*corpus.notes, said)), mixed))
    return mixture


def held_out_texts(main: Corpus) -> frozenset[str]:
    """The sources and targets of all splits but `train`."""
    held_out = (pairs for split, pairs in main.splits.items() if split != "train")
    return frozenset(text for pair in chain(*held_out) for text in (pair.source, pair.target))


def data_of(config: DataConfig, mixed: MixedConfig) -> DataConfig:
    """The section to load a corpus of the mixture with."""
    own = {"source_language": mixed.source_language, "target_language": mixed.target_language}
    changes = OF_ONE_CORPUS | mixed.model_dump(include={*CorpusConfig.model_fields})
    return config.model_copy(update=changes | {side: language for side, language in own.items() if language})


def resolved(config: AnyConfig, corpus: Corpus) -> AnyConfig:
    """The section of a corpus with the languages found in it."""
    source, target = corpus.languages
    return config.model_copy(update={"source_language": source, "target_language": target})


def with_languages(config: DataConfig, mixed: Sequence[Corpus]) -> DataConfig:
    """The configuration with the languages found in the corpora of its mixture, where they have their own."""
    mixture = dict(config.mixture)
    for (name, one), corpus in zip(config.mixture.items(), mixed, strict=True):
        if one.source_language or one.target_language:
            mixture[name] = resolved(one, corpus)
    return config.model_copy(update={"mixture": mixture})


def _builtin(config: DataConfig, *, held_out: frozenset[str] = frozenset()) -> Corpus:
    source, target = sides(config, GERMAN_ENGLISH, name=BUILTIN)
    if {source, target} != set(GERMAN_ENGLISH):
        problem = f"{source} and {target} are not in the built-in corpus"
        raise InputError("data.source_language, data.target_language", problem, "choose de and en, or other data")
    splits = builtin.builtin_corpus(**config.builtin.model_dump())
    if source == "en":
        splits = {split: [pair.reversed() for pair in pairs] for split, pairs in splits.items()}
    clean = clean_splits(splits, config, name=BUILTIN, held_out=held_out)
    return Corpus(BUILTIN, (source, target), clean, config, has_links=True)


def _open_splits(config: DataConfig, need: str, *, offline: bool = False) -> SourcesAndNotes:
    """The source of each split, the needed one first, and notes."""
    corpus = parse_source(config.corpus)
    if isinstance(corpus, tuple):
        refuse_unread(corpus)
        return {need: _open_files(list(map(DataFile.named, corpus)))}, []
    if isinstance(corpus, Hub):
        sources, notes = open_hub(corpus, config, offline=offline)
    else:
        sources, notes = _open_folder(corpus, config)
        if need not in sources and len(sources) == 1:
            return {need: next(iter(sources.values()))}, notes  # the only candidate
    sources = _assign(sources, config)
    if need == "train" and need not in sources:
        raise InputError(
            Path(config.corpus), f"no split train, only {', '.join(sources)}", "set data.train_split to one of them"
        )
    return {need: lookup(sources, need, key="split"), **sources}, notes


def _open_folder(folder: Path, config: DataConfig) -> SourcesAndNotes:
    """The splits of a folder under their own names, and notes about ignored files.

    Text files pair up by their names without the language: `train.de` and `train.en`. JSON, CSV and Parquet files count
    only under usual or configured names, because folders often hold others.
    """
    names = {*USUAL, config.train_split, config.validation_split, config.test_split}
    always = ("jsonl", "tsv", *readers())
    files = [DataFile.named(path) for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    groups: dict[str, list[DataFile]] = {}
    for file in files:
        if file.form in always or (file.stem in names if file.form in tables() else file.languages):
            groups.setdefault(file.stem, []).append(file)
    # A text on its own has one side only.
    whole = {stem: group for stem, group in groups.items() if len(group) > 1 or group[0].form in tables()}
    splits = {stem: _open_group(folder, group) for stem, group in whole.items()}
    aside = [file.path for file in files if file not in whole.get(file.stem, [])]
    ignored = ", ".join(path.name for path in aside[:9])
    if not splits:
        refuse_unread(aside)
        raise InputError(folder, f"no data files{f', only {ignored}' if ignored else ''}", FORMS)
    return splits, [f"{folder}: ignored: {ignored}"] if aside else []


def _open_group(folder: Path, files: Sequence[DataFile]) -> SplitSource:
    """Open the files of one split. Raises `InputError` unless they are one table, or a text of each language."""
    texts = {file.languages for file in files if file.form not in tables()}
    if len(files) > max(len(texts), 1):
        names = ", ".join(file.path.name for file in files)
        raise InputError(
            folder, f"{names}: files for the same split and language", "keep one table, or one text per side"
        )
    return _open_files(sorted(files, key=lambda file: list(map(short_code, file.languages))))


def _open_files(files: Sequence[DataFile]) -> SplitSource:
    """Open one file with both sides, or the files of source and target."""
    if len(files) > 1:
        if whole := [file.path for file in files if file.form in tables()]:
            raise InputError(whole[0], "a table, with both sides in it", "give only it, or a pair of plain texts")
        return ParallelText(files)
    (file,) = files
    if file.form in READERS:
        return SplitSource(str(file.path), file.identity, partial(READERS[file.form], file), file.languages)
    if reader := readers().get(file.form):
        return resolve(reader)(file)
    if file.form == "text":
        raise InputError(file.path, "not a table by its name", "give both sides, as in train.de,train.en")
    return TabSeparated(file)


def _assign(sources: Mapping[str, SplitSource], config: DataConfig) -> Sources:
    """Map usual split names to sources, the usual splits first.

    Configured names take precedence over usual ones. Raises `InputError` if two sources claim one split.
    """
    chosen = {"train": config.train_split, "validation": config.validation_split, "test": config.test_split}
    assigned = {split: own for split, own in chosen.items() if own}
    for split, own in assigned.items():
        if own not in sources:
            has = f"{config.corpus} has no {own}, only {', '.join(sources)}"
            raise InputError(f"data.{split}_split", has, "choose one")
    for own in sources:
        split = USUAL.get(own, own)
        if own not in chosen.values() and not chosen.get(split) and assigned.setdefault(split, own) != own:
            both = f"{own} and {assigned[split]} are both the split {split}"
            raise InputError(Path(config.corpus), both, "keep one of them")
    order = dict.fromkeys((*USUAL.values(), *assigned))
    return {split: sources[assigned[split]] for split in order if split in assigned}
