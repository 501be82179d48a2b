"""The encoded pairs and batches of each epoch, and the vocabulary learned from the corpora."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import sentencepiece
import torch

from transformer_mt.batching.batches import Batch, Indices, plan_batches
from transformer_mt.batching.encoded_pairs import IN_MEMORY, EncodedPairs, encode_pairs, encode_sampled
from transformer_mt.config.sections import FORMAT, Config, MixedConfig, TokenizerConfig
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import Pairs, SentencePair
from transformer_mt.corpus.word_counts import TrainingWords, words_of_pairs
from transformer_mt.ground.cache import cached_file
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.runs.fingerprints import DataRecord
from transformer_mt.runs.words import WORDS, pack_words, unpack_words
from transformer_mt.tokenizer.sentencepiece_model import Start, needed_tags
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

# Neighbouring pairs to take together when sampling a corpus: reading one takes as long as reading the group.
_SAMPLED_TOGETHER = 100


@dataclass(frozen=True)
class WeightedCorpus:
    """A corpus to train on, the digest of its content, and the number of its pairs per pair of the main corpus.

    `start` is its target language and the name of the tag of its sources, if any.
    """

    pairs: Pairs
    digest: str
    weight: float = 1.0
    start: Start = ("", "")


@dataclass(frozen=True)
class TrainingCorpora:
    """The main corpus, which defines an epoch, and the corpora mixed with it, each with its weight and tag."""

    main: Corpus
    others: tuple[tuple[Corpus, MixedConfig], ...] = ()

    @property
    def weighted(self) -> list[WeightedCorpus]:
        """The training pairs of each corpus, the main one first."""
        return [
            WeightedCorpus(one.splits["train"], one.fingerprints["train"].digest, of.weight, (one.languages[1], of.tag))
            for one, of in [(self.main, MixedConfig(corpus=self.main.name)), *self.others]
        ]

    @property
    def record(self) -> DataRecord:
        """The record of this data that a run saves."""
        return DataRecord.of(self.main, [corpus for corpus, _ in self.others])


class BatchStream:
    """An endless stream of batches, epoch by epoch, with a seekable position.

    An epoch is a function of (corpora, vocabulary, configuration, epoch): each pair of the main corpus once, mixed with
    pairs of the others in proportion to their weights. With several processes, batches are dealt in groups, one per
    process, by rank.
    """

    def __init__(
        self, corpora: Sequence[WeightedCorpus], tokenizer: Tokenizer, config: Config, *, distributed: Distributed
    ) -> None:
        self._corpora, self._tokenizer, self._config, self._distributed = corpora, tokenizer, config, distributed
        self._longest = min(config.model.max_length, config.training.batch_tokens)
        self._parts: list[EncodedPairs] = []
        self.seek(0, 0)

    def seek(self, epoch: int, index: int) -> None:
        """Go to batch `index` of an epoch."""
        self.epoch = epoch
        self.index = index
        self.encoded, rows = self.pairs_of(epoch)
        self.plan = plan_batches(
            self.encoded.source_lengths,
            self.encoded.target_lengths,
            rows=rows,
            batch_tokens=self._config.training.batch_tokens,
            seed=self._config.training.seed,
            epoch=epoch,
            processes=self._distributed.world_size,
        )

    def take(self) -> Batch:
        """The next batch of this process; an epoch ends when too few batches are left for all processes."""
        position = self.next_position()
        if position != (self.epoch, self.index):
            self.seek(*position)
        batch = self.encoded.batch(self.plan[self.index + self._distributed.rank])
        self.index += self._distributed.world_size
        return batch

    def next_position(self) -> tuple[int, int]:
        """The arguments of `seek`, epoch and index, for the next `take`; after an epoch, the start of the next."""
        is_over = self.index + self._distributed.world_size > len(self.plan)
        return (self.epoch + 1, 0) if is_over else (self.epoch, self.index)

    def steps_of(self, epochs: int) -> int:
        """The number of optimizer steps in `epochs` epochs, if all have as many batches as this one."""
        batches = epochs * (len(self.plan) // self._distributed.world_size)
        return math.ceil(batches / self._config.training.accumulation_steps)

    def pairs_of(self, epoch: int) -> tuple[EncodedPairs, Indices | None]:
        """All corpora encoded, one after the other, and the rows that this epoch uses (None: all).

        With subword sampling, which segments again in every epoch, only the pairs of this epoch are encoded.
        """
        config = self._config
        main, *others = self._corpora
        if config.tokenizer.sampling == "subword":
            sampling = Sampling(derive_seed(config.training.seed, epoch), config.tokenizer.alpha)
            parts = [self._sampled(main, sampling, range(len(main.pairs)))]
            for number, corpus in enumerate(others, start=1):
                drawn = self._drawn(number, len(corpus.pairs), len(parts[0]), epoch).tolist()
                parts.append(self._sampled(corpus, sampling, drawn))
            return (EncodedPairs.join(parts) if others else parts[0]), None
        if not self._parts:
            self._parts = [self._encoded(corpus) for corpus in self._corpora]
        if not others:
            return self._parts[0], None
        sizes = [len(part) for part in self._parts]
        rows = [torch.arange(sizes[0])]
        for number, size in enumerate(sizes[1:], start=1):
            rows.append(sum(sizes[:number]) + self._drawn(number, size, sizes[0], epoch))
        return EncodedPairs.join(self._parts), torch.cat(rows)

    def _drawn(self, number: int, size: int, main: int, epoch: int) -> Indices:
        """The rows of corpus `number`, with `size` pairs, to mix with `main` pairs of the main corpus."""
        seed = derive_seed(self._config.training.seed, number)
        return next_rows(size, self._corpora[number].weight * main, seed=seed, epoch=epoch)

    def _encoded(self, corpus: WeightedCorpus) -> EncodedPairs:
        tokenizer = self._tokenizer.toward(*corpus.start)
        return encode_pairs(corpus.pairs, tokenizer, max_length=self._longest, digest=corpus.digest)

    def _sampled(self, corpus: WeightedCorpus, sampling: Sampling, rows: Sequence[int]) -> EncodedPairs:
        tokenizer = self._tokenizer.toward(*corpus.start)
        return encode_sampled(corpus.pairs, tokenizer, sampling, max_length=self._longest, rows=rows)


def next_rows(pairs: int, share: float, *, seed: int, epoch: int) -> Indices:
    """The rows of a corpus for an epoch; epoch after epoch walks through one permutation after another.

    An epoch has the `share` rounded down or up, at random, so that the mean over epochs is exact. The seed decides at
    which fraction of a row the walk starts (systematic sampling, Madow and Madow 1944).
    """
    fraction = derive_seed(seed) / 2**63
    start, end = (math.floor(turn * share + fraction) for turn in (epoch, epoch + 1))
    rounds = range(start // pairs, (end - 1) // pairs + 1)
    order = [torch.randperm(pairs, generator=torch.Generator().manual_seed(derive_seed(seed, turn))) for turn in rounds]
    return torch.cat([torch.zeros(0, dtype=torch.long), *order])[start % pairs :][: end - start]


def train_tokenizer(corpora: Sequence[WeightedCorpus], config: TokenizerConfig) -> Tokenizer:
    """Learn a joint vocabulary from about `config.sample` pairs per corpus, both sides; cached for large corpora."""
    tags = needed_tags([corpus.start for corpus in corpora])

    def learn() -> bytes:
        pairs = list(sampled_pairs(corpora, config.sample))
        whole = words_of_pairs(pairs).commonest(config.whole_words)
        tokenizer = Tokenizer.train(
            (text for pair in pairs for text in (pair.source, pair.target)), config, whole=whole, tags=tags
        )
        return (tokenizer.note or "").encode() + b"\n" + tokenizer.serialized

    digests = "-".join(corpus.digest for corpus in corpora)
    key = f"tokenizer-{digests}-{','.join(tags)}-{config.model_dump_json()}-sentencepiece-{sentencepiece.__version__}"
    is_large = sum(len(corpus.pairs) for corpus in corpora) > IN_MEMORY
    content = _cached(key, learn) if is_large else learn()
    note, _, model = content.partition(b"\n")
    return Tokenizer(model, note=note.decode() or None)


def training_words(corpora: Sequence[WeightedCorpus]) -> TrainingWords:
    """The words of all corpora; cached for large ones."""
    return reduce(add, (_words_of(corpus) for corpus in corpora))


def _words_of(corpus: WeightedCorpus) -> TrainingWords:
    if len(corpus.pairs) <= IN_MEMORY:
        return words_of_pairs(corpus.pairs)
    content = _cached(f"words-{FORMAT}-{corpus.digest}", lambda: pack_words(words_of_pairs(corpus.pairs)))
    return unpack_words(content, path=Path(WORDS))


def _cached(key: str, make: Callable[[], bytes]) -> bytes:
    """The bytes that `make` returns, cached on disk under this key."""
    return cached_file(key, ".bytes", write=lambda file: file.write(make()), read=bytes)


def sampled_pairs(corpora: Sequence[WeightedCorpus], count: int) -> Iterator[SentencePair]:
    """Yield all pairs of each corpus, or about `count` of them, spread evenly."""
    groups = count // _SAMPLED_TOGETHER + 1
    for pairs in (corpus.pairs for corpus in corpora):
        if len(pairs) <= max(count, groups * _SAMPLED_TOGETHER):
            yield from pairs
            continue
        for number in range(groups):
            first = number * len(pairs) // groups
            yield from pairs[first : first + _SAMPLED_TOGETHER]
