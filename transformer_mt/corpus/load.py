"""Loading a corpus: built in, from files, a folder, or a data set on the hub."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.build import (
    CUT_AT_MOST,
    TRAIN,
    VALIDATION,
    Cleaned,
    MemorySink,
    clean_splits,
    remembered,
    stored_corpus,
)
from transformer_mt.corpus.cleaning import OF_THE_WHOLE, CleaningReport, Rules
from transformer_mt.corpus.fingerprint import Fingerprint
from transformer_mt.corpus.folder import assign_splits, open_files, open_folder
from transformer_mt.corpus.hub import open_hub
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.selection import AUTO, Part, Selection, choose_direction, select
from transformer_mt.corpus.source import BUILTIN, Hub, parse_source
from transformer_mt.corpus.stream import StreamedPairs, usable_pairs
from transformer_mt.corpus.tables import TableFile
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup

_GERMAN_ENGLISH = ("de", "en")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Cleaned sentence pairs by split: always `train`, mostly `validation` and `test`, and whatever else there is.

    `languages` are source and target. `has_links` says that every pair knows which of its words correspond. `notes`
    say what was taken for what. A streamed `train` is a `StreamedPairs`.
    """

    name: str
    splits: Mapping[str, Sequence[SentencePair]]
    languages: tuple[str, str]
    fingerprints: Mapping[str, Fingerprint]
    report: CleaningReport
    has_links: bool
    notes: tuple[str, ...] = ()

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[SentencePair | tuple[str, str]]],
        *,
        name: str = "pairs",
        languages: tuple[str, str] = _GERMAN_ENGLISH,
        max_words: int = DataConfig().max_words,
    ) -> "Corpus":
        """A corpus of pairs made in Python, (source, target) each, cleaned as any other by default.

        Training needs the splits `train` and `validation`. Raises `InputError` for a split without any usable pair.
        """
        given = {
            split: [pair if isinstance(pair, SentencePair) else SentencePair(*pair) for pair in pairs]
            for split, pairs in splits.items()
        }
        has_links = all(pair.links is not None for pairs in given.values() for pair in pairs)
        rules = Rules.of(DataConfig(max_words=max_words))
        cleaned = _in_memory(given, rules, name=name)
        return _corpus(name, cleaned, rules, languages, has_links=has_links)

    @property
    def has_structure(self) -> bool:
        """Whether there are pairs with dependency trees: those of a split all have them, or none."""
        return any(pairs[0].structure is not None for pairs in self.splits.values())

    @property
    def sizes(self) -> str:
        """How many pairs each split has, in words."""
        return ", ".join(
            f"{split} {'streamed' if isinstance(pairs, StreamedPairs) else len(pairs)}"
            for split, pairs in self.splits.items()
        )


def load_corpus(config: DataConfig, *, need: str = TRAIN, cut: bool = True, structure: bool = False) -> Corpus:
    """The corpus that the configuration names, in the forms that `corpus.source` lists.

    Of a folder or a data set, `need` is the split that must be there; a single file or pair is that split. When that
    is `train`, a validation split that is missing is cut from it, unless `cut` forbids. With `structure`, the pairs of
    the built-in corpus have their dependency trees. Raises `InputError` for what is
    wrong with the data and `MachineError` where the hub or the disk fails.
    """
    source = parse_source(config.corpus)
    if source == BUILTIN:
        return _builtin(config, structure=structure)
    parts, notes = _parts(config, need)
    if need != TRAIN:
        lookup(parts, need, key="--split")
    if need not in parts:
        raise InputError(
            f"{config.corpus}: no split train, but {', '.join(parts)}; rename its files, or say which it is with "
            "data.train_split"
        )
    parts = {split: parts[split] for split in dict.fromkeys((need, *parts))}
    identities = {split: part.identity() for split, part in parts.items()}
    main = parts[need]
    found = main.languages
    if isinstance(main, TableFile) and not config.streaming:
        found = remembered(identities[need], lambda: main.languages)
    selection, said = select(config, main, found)
    rules = Rules.of(config)
    arrow = " → ".join(selection.languages)
    notes += [f"{split}: {part.name}, {arrow}" for split, part in parts.items()] + said
    if config.streaming:
        return _streamed(config, parts, identities, selection, rules, notes, cut=cut and need == TRAIN)
    key = [selection.languages, selection.columns, list(identities.values())]
    rows = {split: _Rows(part, selection) for split, part in parts.items()}
    cleaned = stored_corpus(key, rows, rules, name=config.corpus, cut=cut and need == TRAIN)
    if VALIDATION in cleaned and VALIDATION not in parts:
        count = len(cleaned[VALIDATION].pairs)
        notes.append(
            f"validation: {count} of the {count + len(cleaned[TRAIN].pairs)} training pairs, those with the smallest "
            "hashes; there is no validation split"
        )
    return _corpus(config.corpus, cleaned, rules, selection.languages, notes=notes)


def load_mixture(config: DataConfig) -> list[tuple[Corpus, float]]:
    """The further corpora of `data.mixture` with their weights, of which only `train` is meant.

    Their languages are those of the configuration, which must be resolved; their splits and columns have usual names.
    """
    usual = {"mixture": {}, "streaming": False, "source_column": "", "target_column": ""}
    usual |= dict.fromkeys(("train_split", "validation_split", "test_split"), "")
    assert config.source_language != AUTO != config.target_language
    return [
        (load_corpus(config.model_copy(update={**usual, "corpus": name}), cut=False), weight)
        for name, weight in config.mixture.items()
    ]


def resolved(config: DataConfig, corpus: Corpus) -> DataConfig:
    """The configuration with the languages that the corpus was found to have."""
    source, target = corpus.languages
    return config.model_copy(update={"source_language": source, "target_language": target})


@dataclass(frozen=True)
class _Rows:
    """The rows of a part, read when they are iterated over."""

    part: Part
    selection: Selection

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self.part.rows(self.selection)


@dataclass(frozen=True)
class _FirstPairs:
    """The first usable pairs of a part."""

    part: Part
    selection: Selection
    rules: Rules
    count: int

    def __iter__(self) -> Iterator[tuple[str, str]]:
        pairs = islice(usable_pairs(self.part, self.selection, self.rules), self.count)
        return ((pair.source, pair.target) for pair in pairs)


def _parts(config: DataConfig, need: str) -> tuple[dict[str, Part], list[str]]:
    """What each split is read from, and what to say about it."""
    source = parse_source(config.corpus)
    if isinstance(source, tuple):
        return {need: open_files(source, config)}, []
    if isinstance(source, Hub):
        tables, notes = open_hub(source, config)
        return assign_splits(dict(tables), config, name=config.corpus), notes
    assert not isinstance(source, str)
    parts, notes = open_folder(source, config)
    if need not in parts and len(parts) == 1:
        return {need: next(iter(parts.values()))}, notes  # what else could be meant
    return assign_splits(parts, config, name=config.corpus), notes


def _streamed(
    config: DataConfig,
    parts: Mapping[str, Part],
    identities: Mapping[str, Sequence[str]],
    selection: Selection,
    rules: Rules,
    notes: Sequence[str],
    *,
    cut: bool,
) -> Corpus:
    """A corpus of which only the splits beside `train` are kept."""
    if unknowable := rules.remove & set(OF_THE_WHOLE):
        raise InputError(
            f"data.remove: {', '.join(sorted(unknowable))} can only be told of a whole corpus; leave it out, or set "
            "data.streaming to false"
        )
    train = parts.get(TRAIN)
    rows: dict[str, Iterable[tuple[str, str]]] = {
        split: _Rows(part, selection) for split, part in parts.items() if split != TRAIN
    }
    skipped = 0
    if train is not None and cut and VALIDATION not in parts:
        skipped = CUT_AT_MOST
        rows[VALIDATION] = _FirstPairs(train, selection, rules, skipped)
        notes = [*notes, f"validation: the first {skipped} training pairs; there is no validation split"]
    key = [selection.languages, selection.columns, list(identities.values()), skipped]
    cleaned = stored_corpus(key, rows, rules, name=config.corpus, cut=False) if rows else {}
    corpus = _corpus(config.corpus, cleaned, rules, selection.languages, notes=notes)
    if train is None:
        return corpus
    identity = [*selection.languages, *selection.columns, *map(str, sorted(rules.remove)), *identities[TRAIN]]
    return replace(
        corpus,
        splits={TRAIN: StreamedPairs(train, selection, rules, skipped=skipped), **corpus.splits},
        fingerprints={TRAIN: Fingerprint.of_stream(identity), **corpus.fingerprints},
    )


def _corpus(
    name: str,
    cleaned: Mapping[str, Cleaned],
    rules: Rules,
    languages: tuple[str, str],
    *,
    has_links: bool = False,
    notes: Sequence[str] = (),
) -> Corpus:
    return Corpus(
        name=name,
        splits={split: part.pairs for split, part in cleaned.items()},
        languages=languages,
        fingerprints={split: part.fingerprint for split, part in cleaned.items()},
        report=CleaningReport({split: part.report for split, part in cleaned.items()}, rules),
        has_links=has_links,
        notes=tuple(notes),
    )


def _builtin(config: DataConfig, *, structure: bool) -> Corpus:
    given = (config.source_language, config.target_language)
    direction, _ = choose_direction(given, _GERMAN_ENGLISH, ordered=True, name=BUILTIN)
    if set(direction) != set(_GERMAN_ENGLISH):
        raise InputError(
            f"data.source_language, data.target_language: {' and '.join(direction)} are not in the built-in corpus; "
            "choose de and en, or give --data DIRECTORY"
        )
    from transformer_mt.corpus.builtin import builtin_corpus

    sizes = config.builtin
    splits = builtin_corpus(train=sizes.train, validation=sizes.validation, test=sizes.test, structure=structure)
    if direction == ("en", "de"):
        splits = {split: [pair.reversed() for pair in pairs] for split, pairs in splits.items()}
    rules = Rules.of(config)
    return _corpus(BUILTIN, _in_memory(splits, rules, name=BUILTIN), rules, direction, has_links=True)


def _in_memory(splits: Mapping[str, Sequence[SentencePair]], rules: Rules, *, name: str) -> dict[str, Cleaned]:
    rows = {split: ((pair.source, pair.target) for pair in pairs) for split, pairs in splits.items()}
    return clean_splits(rows, rules, lambda split: MemorySink(splits[split]), name=name, cut=False)
