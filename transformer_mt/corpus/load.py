"""Loading a corpus from the built-in grammar, a folder, or a data set on the hub."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.cleaning import CleaningReport, SplitReport, filter_pairs, normalize
from transformer_mt.corpus.hub import open_hub
from transformer_mt.corpus.local import open_folder
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.storage import Table, clean_dataset
from transformer_mt.errors import InputError
from transformer_mt.names import nearest

BUILTIN = "builtin"

_HUB_NAME = re.compile(r"[\w.\-]+/[\w.\-]+")
_CLEANED = tuple[Sequence[SentencePair], SplitReport]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Cleaned sentence pairs by split: always `train`, mostly `validation` and `test`, and whatever else there is.

    `has_links` says that every pair knows which of its words correspond.
    """

    name: str
    splits: Mapping[str, Sequence[SentencePair]]
    report: CleaningReport
    has_links: bool

    @classmethod
    def from_pairs(
        cls,
        splits: Mapping[str, Sequence[SentencePair | tuple[str, str]]],
        *,
        name: str = "pairs",
        max_words: int = DataConfig().max_words,
    ) -> "Corpus":
        """A corpus of pairs made in Python, (source, target) each, cleaned as any other.

        Training needs the splits `train` and `validation`. Raises `InputError` for a split without any usable pair.
        """
        given = {
            split: [pair if isinstance(pair, SentencePair) else SentencePair(*pair) for pair in pairs]
            for split, pairs in splits.items()
        }
        has_links = all(pair.links is not None for pairs in given.values() for pair in pairs)
        cleaned = {split: _clean(pairs, max_words=max_words) for split, pairs in given.items()}
        return _corpus(name, cleaned, max_words=max_words, has_links=has_links)


def load_corpus(config: DataConfig) -> Corpus:
    """The corpus that the configuration names.

    `builtin`, a folder, or else `owner/name` on the hub; a folder goes before a hub name. Raises `InputError` for what
    is wrong with the data and `EnvironmentProblem` where the hub or the disk fails.
    """
    if config.source_language == config.target_language:
        raise InputError(f"data.target_language: {config.target_language} is the source language too; choose another")
    is_builtin = config.corpus == BUILTIN
    cleaned = _builtin(config) if is_builtin else _stored(config)
    return _corpus(config.corpus, cleaned, max_words=config.max_words, has_links=is_builtin)


def _corpus(name: str, cleaned: Mapping[str, _CLEANED], *, max_words: int, has_links: bool) -> Corpus:
    for split, (pairs, report) in cleaned.items():
        if not pairs:
            left_out = f"({report.empty} with an empty side, {report.too_long} over {max_words} words)"
            why = f" after cleaning {left_out}; correct the data or raise data.max_words"
            raise InputError(f"{name}: no pairs in {split}{why if report.read else '; put sentence pairs into it'}")
    return Corpus(
        name=name,
        splits={split: pairs for split, (pairs, _) in cleaned.items()},
        report=CleaningReport({split: report for split, (_, report) in cleaned.items()}, max_words),
        has_links=has_links,
    )


def _builtin(config: DataConfig) -> dict[str, _CLEANED]:
    direction = (config.source_language, config.target_language)
    if direction not in (("de", "en"), ("en", "de")):
        raise InputError(
            f"data.source_language, data.target_language: {' and '.join(direction)} are not in the built-in corpus; "
            "choose de and en, or give --data DIRECTORY"
        )
    from transformer_mt.corpus.builtin import generate_corpus

    splits = generate_corpus(**config.builtin.model_dump())
    if direction == ("en", "de"):
        splits = {split: [pair.reversed() for pair in pairs] for split, pairs in splits.items()}
    return {split: _clean(pairs, max_words=config.max_words) for split, pairs in splits.items()}


def _clean(pairs: Sequence[SentencePair], *, max_words: int) -> _CLEANED:
    """The usable ones of pairs in memory, with their links: normalising blanks moves no word."""
    kept, report = filter_pairs(((pair.source, pair.target) for pair in pairs), max_words=max_words)
    chosen = (pairs[position] for position in kept)
    return [SentencePair(normalize(pair.source), normalize(pair.target), pair.links) for pair in chosen], report


def _stored(config: DataConfig) -> dict[str, _CLEANED]:
    languages = (config.source_language, config.target_language)
    return {
        split: clean_dataset(dataset, languages=languages, max_words=config.max_words, place=place)
        for split, (place, dataset) in _open(config.corpus, languages).items()
    }


def _open(corpus: str, languages: tuple[str, str]) -> dict[str, tuple[str, Table]]:
    folder = Path(corpus).expanduser()
    if _HUB_NAME.fullmatch(corpus) and not corpus.startswith((".", "~")) and not folder.exists():
        splits = open_hub(corpus, languages=languages)
        if "train" not in splits:
            raise InputError(f"{corpus}: no split train, but {', '.join(splits)}; choose another data set")
        return {split: (f"{corpus} {split}", dataset) for split, dataset in splits.items()}
    if not folder.exists() and Path(corpus).name == corpus:
        raise InputError(f"{corpus}: no such folder; {nearest(corpus, [BUILTIN])}")
    return open_folder(folder, languages=languages)
