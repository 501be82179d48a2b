"""What the epochs of a training consist of, as tokens; and the vocabulary that is learned from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from io import BytesIO
from operator import add
from pathlib import Path

import pyarrow as pa
import sentencepiece
import torch

from transformer_mt.batching.batches import Rows, mix_seed
from transformer_mt.batching.encoded_pairs import IN_MEMORY, EncodedPairs, encode_pairs
from transformer_mt.cache import kept_table
from transformer_mt.config.sections import Config, TokenizerConfig
from transformer_mt.corpus.load import Corpus
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.corpus.stream import StreamedPairs
from transformer_mt.corpus.word_counts import TrainingWords, count_words
from transformer_mt.runs.data import DataRecord
from transformer_mt.runs.words import WORDS, pack_words, unpack_words
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

# Pairs that stand together in a sample of a corpus, where reading one of them takes as long as reading all.
_SAMPLED_TOGETHER = 100
_WORDS = pa.schema({"content": pa.binary()})
_VOCABULARY = pa.schema({"model": pa.binary(), "note": pa.string()})


@dataclass(frozen=True, slots=True)
class Share:
    """A corpus to train on, the digest of its content, and how many of its pairs go with one of the main corpus."""

    pairs: Pairs
    digest: str | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class TrainingCorpora:
    """The corpus whose pairs an epoch holds, and those that are mixed with it, each with its weight."""

    main: Corpus
    others: tuple[tuple[Corpus, float], ...] = ()

    @property
    def shares(self) -> list[Share]:
        """Their training pairs; those of the main corpus first."""
        weighted = [(self.main, 1.0), *self.others]
        return [
            Share(corpus.splits["train"], corpus.fingerprints["train"].digest, weight) for corpus, weight in weighted
        ]

    @property
    def notes(self) -> list[str]:
        """What was taken for what."""
        return [line for corpus in (self.main, *(other for other, _ in self.others)) for line in corpus.notes]

    @property
    def record(self) -> DataRecord:
        """What a run remembers of them."""
        return DataRecord.of(self.main, {corpus.name: corpus for corpus, _ in self.others})


class TrainingData:
    """The pairs of one corpus, each once an epoch, mixed with so many of others as their weights say.

    What an epoch holds is a function of (corpora, vocabulary, configuration, epoch). Of a streamed corpus it is one
    block.
    """

    def __init__(self, shares: Sequence[Share], tokenizer: Tokenizer, config: Config) -> None:
        """The first share is the main corpus, whose weight says nothing."""
        self._shares, self._tokenizer, self._config = shares, tokenizer, config
        self._parts: list[EncodedPairs] = []

    def epoch(self, number: int) -> tuple[EncodedPairs, Rows | None]:
        """All corpora as tokens, one after the other, and which of their pairs this epoch takes: None for all."""
        config = self._config
        if config.tokenizer.sampling == "subword":
            self._parts = []  # two epochs at a time would take twice the memory
            sampling = Sampling(mix_seed(config.training.seed, number), config.tokenizer.alpha)
            self._parts = [self._encoded(share, number, sampling) for share in self._shares]
        elif not self._parts:
            self._parts = [self._encoded(share, number) for share in self._shares]
        elif isinstance(self._shares[0].pairs, StreamedPairs):
            self._parts[0] = self._encoded(self._shares[0], number)
        if len(self._parts) == 1:
            return self._parts[0], None
        return EncodedPairs.join(self._parts), self._rows(number)

    def _encoded(self, share: Share, epoch: int, sampling: Sampling | None = None) -> EncodedPairs:
        longest = min(self._config.model.max_length, self._config.training.batch_tokens)
        block = share.pairs.block(epoch) if isinstance(share.pairs, StreamedPairs) else None
        return encode_pairs(
            share.pairs if block is None else block,
            self._tokenizer,
            max_length=longest,
            sampling=sampling,
            digest=share.digest if block is None else None,
        )

    def _rows(self, epoch: int) -> Rows:
        """All pairs of the main corpus and the next ones of each other, counted through all corpora."""
        first = len(self._parts[0])
        rows = [torch.arange(first)]
        for number, (share, part) in enumerate(zip(self._shares[1:], self._parts[1:], strict=True), start=1):
            seed = mix_seed(self._config.training.seed, number)
            rows.append(first + next_rows(len(part), round(share.weight * len(rows[0])), seed=seed, epoch=epoch))
            first += len(part)
        return torch.cat(rows)


def next_rows(pairs: int, count: int, *, seed: int, epoch: int) -> Rows:
    """The `count` pairs that an epoch takes of a corpus: one random order after another, each gone through once."""
    start = epoch * count
    rounds = range(start // pairs, (start + count - 1) // pairs + 1)
    order = [torch.randperm(pairs, generator=torch.Generator().manual_seed(mix_seed(seed, turn))) for turn in rounds]
    return torch.cat([torch.zeros(0, dtype=torch.long), *order])[start % pairs :][:count]


def train_tokenizer(shares: Sequence[Share], config: TokenizerConfig) -> Tokenizer:
    """A joint vocabulary of both sides, learned from `config.sample` pairs of each corpus at the most.

    That of a large corpus is kept in the cache folder.
    """
    if sum(len(share.pairs) for share in shares) <= IN_MEMORY or any(share.digest is None for share in shares):
        return _learn(shares, config)
    digests = "-".join(str(share.digest) for share in shares)
    key = f"vocabulary-{digests}-{config.model_dump_json()}-sentencepiece-{sentencepiece.__version__}"
    row = kept_table(key, _VOCABULARY, _learned(shares, config)).to_pylist()[0]
    return Tokenizer(row["model"], note=row["note"])


def _learned(shares: Sequence[Share], config: TokenizerConfig) -> Iterator[pa.RecordBatch]:
    tokenizer = _learn(shares, config)
    yield pa.record_batch([[tokenizer.serialized], [tokenizer.note]], schema=_VOCABULARY)


def _learn(shares: Sequence[Share], config: TokenizerConfig) -> Tokenizer:
    pairs = [pair for share in shares for pair in sample(share.pairs, config.sample)]
    whole = count_words(pairs).commonest(config.whole_words)
    return Tokenizer.train((text for pair in pairs for text in (pair.source, pair.target)), config, whole=whole)


def training_words(shares: Sequence[Share], config: TokenizerConfig) -> TrainingWords:
    """The words of all corpora together; of a streamed one, those of the part that the vocabulary is learned from.

    Those of a large corpus are kept in the cache folder.
    """
    return reduce(add, (_words_of(share, config) for share in shares))


def _words_of(share: Share, config: TokenizerConfig) -> TrainingWords:
    if isinstance(share.pairs, StreamedPairs):
        return replace(count_words(sample(share.pairs, config.sample)), complete=False)
    if len(share.pairs) <= IN_MEMORY or share.digest is None:
        return count_words(share.pairs)
    counted = (pa.record_batch([[pack_words(count_words(pairs))]], schema=_WORDS) for pairs in (share.pairs,))
    row = kept_table(f"words-{share.digest}", _WORDS, counted).to_pylist()[0]
    return unpack_words(BytesIO(row["content"]), path=Path(WORDS))


def sample(pairs: Pairs, count: int) -> Iterator[SentencePair]:
    """All pairs of a corpus, or about `count` of them, taken evenly from the whole."""
    groups = count // _SAMPLED_TOGETHER + 1
    if len(pairs) <= max(count, groups * _SAMPLED_TOGETHER):
        yield from pairs
        return
    for number in range(groups):
        first = number * len(pairs) // groups
        yield from pairs[first : first + _SAMPLED_TOGETHER]
