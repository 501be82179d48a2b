"""Loading a corpus: built in, from files, a folder, or a data set on the hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.clean_corpus import CUT_AT_MOST, TRAIN, VALIDATION, CleanSplit, cached_splits, clean_splits
from transformer_mt.corpus.cleaning import OF_THE_WHOLE, CleaningReport, Rules
from transformer_mt.corpus.fingerprint import Fingerprint
from transformer_mt.corpus.folder import assign_splits, open_files, open_folder
from transformer_mt.corpus.hub import open_hub
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.source import BUILTIN, Hub, parse_source
from transformer_mt.corpus.split_source import AUTO, GERMAN_ENGLISH, SplitSource, choose_columns, choose_direction
from transformer_mt.corpus.stream import StreamedPairs, usable_pairs
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup


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
        languages: tuple[str, str] = GERMAN_ENGLISH,
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
        return _corpus(name, clean_splits(given, rules, name=name, cut=False), rules, languages, has_links=has_links)

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
    """The corpus that the configuration names, in one of the forms of `corpus.source`.

    Of a folder or a data set, `need` is the split that must be there; a single file or pair is that split. When that
    is `train`, a validation split that is missing is cut from it, unless `cut` forbids. With `structure`, the pairs of
    the built-in corpus have their dependency trees. Raises `InputError` for a mistake in the data and `MachineError`
    where the hub or the disk fails.
    """
    if parse_source(config.corpus) == BUILTIN:
        return _builtin(config, structure=structure)
    sources, notes = _sources(config, need)
    columns, said = choose_columns(config, sources[need])
    rules, cut = Rules.of(config), cut and need == TRAIN and VALIDATION not in sources
    stream = sources.get(TRAIN) if config.streaming else None
    pairs = {split: source.pairs(columns) for split, source in sources.items() if source is not stream}
    skipped = 0
    if stream is not None:
        if unknowable := rules.remove & set(OF_THE_WHOLE):
            raise InputError(
                f"data.remove: {', '.join(sorted(unknowable))} can only be told of a whole corpus; leave it out, or "
                "set data.streaming to false"
            )
        if cut:
            skipped = CUT_AT_MOST
            pairs[VALIDATION] = islice(usable_pairs(stream, columns, rules), skipped)
    key = [columns.languages, columns.columns, [source.identity for source in sources.values()], skipped]
    cleaned = cached_splits(key, pairs, rules, name=config.corpus, cut=cut and stream is None) if pairs else {}
    notes += [f"{split}: {source.name}, {' → '.join(columns.languages)}" for split, source in sources.items()] + said
    if cut and VALIDATION in cleaned:
        count = len(cleaned[VALIDATION].pairs)
        which = f"the first {skipped} training pairs"
        if stream is None:
            all_pairs = count + len(cleaned[TRAIN].pairs)
            which = f"{count} of the {all_pairs} training pairs, those with the smallest hashes"
        notes.append(f"validation: {which}; there is no validation split")
    corpus = _corpus(config.corpus, cleaned, rules, columns.languages, notes=notes)
    if stream is None:
        return corpus
    identity = [*columns.languages, *columns.columns, *map(str, sorted(rules.remove)), *stream.identity]
    return replace(
        corpus,
        splits={TRAIN: StreamedPairs(stream, columns, rules, skipped=skipped), **corpus.splits},
        fingerprints={TRAIN: Fingerprint.of_stream(identity), **corpus.fingerprints},
    )


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


def _sources(config: DataConfig, need: str) -> tuple[dict[str, SplitSource], list[str]]:
    """The source of each split, the needed one first, and notes about them."""
    source = parse_source(config.corpus)
    if isinstance(source, tuple):
        return {need: open_files(source)}, []
    assert not isinstance(source, str)
    sources, notes = open_hub(source, config) if isinstance(source, Hub) else open_folder(source, config)
    if isinstance(source, Path) and need not in sources and len(sources) == 1:
        return {need: next(iter(sources.values()))}, notes  # what else could be meant
    sources = assign_splits(sources, config, name=config.corpus)
    if need != TRAIN:
        lookup(sources, need, key="--split")
    if need not in sources:
        raise InputError(
            f"{config.corpus}: no split train, but {', '.join(sources)}; rename its files, or say which it is with "
            "data.train_split"
        )
    return {split: sources[split] for split in dict.fromkeys((need, *sources))}, notes


def _corpus(
    name: str,
    cleaned: Mapping[str, CleanSplit],
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
    direction, _ = choose_direction(given, GERMAN_ENGLISH, name=BUILTIN)
    if set(direction) != set(GERMAN_ENGLISH):
        raise InputError(
            f"data.source_language, data.target_language: {' and '.join(direction)} are not in the built-in corpus; "
            "choose de and en, or give --data DIRECTORY"
        )
    from transformer_mt.corpus.builtin import builtin_corpus

    splits = builtin_corpus(**config.builtin.model_dump(), structure=structure)
    if direction == ("en", "de"):
        splits = {split: [pair.reversed() for pair in pairs] for split, pairs in splits.items()}
    rules = Rules.of(config)
    cleaned = clean_splits(splits, rules, name=BUILTIN, cut=False)
    return _corpus(BUILTIN, cleaned, rules, direction, has_links=True)
