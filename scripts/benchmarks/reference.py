"""The benchmarked model, data and batches, generated from a seed so that every program gets the same."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from typing_extensions import override

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import Config, DataConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.clean_corpus import clean_splits
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import as_pairs
from transformer_mt.corpus.source import GERMAN_ENGLISH
from transformer_mt.ground.device import choose_device, choose_precision
from transformer_mt.ground.distributed import Distributed
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import SPECIAL
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer
from transformer_mt.training.batch_stream import BatchStream, TrainingCorpora
from transformer_mt.training.session import build_session
from transformer_mt.training.trainer import Trainer

# Caption lengths of Multi30k with 6,000 tokens, including `EOS`: ln of the source, and of the target given the source.
SOURCE_MEAN, SOURCE_DEVIATION = 2.77, 0.345
TARGET_FIRST, TARGET_SLOPE, TARGET_DEVIATION = 0.68, 0.74, 0.17
SHORTEST, LONGEST = 4, 60


@dataclass(frozen=True)
class Sizes:
    """A model and its data: the reference, or a variation of it.

    `length` is the length of every sentence in tokens, including `EOS`; 0 means lengths as in Multi30k.
    """

    width: int = 256
    feedforward: int = 1024
    layers: int = 3
    heads: int = 4
    vocabulary: int = 6000
    dropout: float = 0.2
    batch_tokens: int = 4096
    pairs: int = 29_000
    length: int = 0

    def config(self, precision: str = "auto", device: str = "auto") -> Config:
        """The configuration of a training of this size."""
        settings = {
            "model.width": self.width,
            "model.feed_forward_width": self.feedforward,
            "model.encoder_layers": self.layers,
            "model.decoder_layers": self.layers,
            "model.attention.heads": self.heads,
            "model.dropout": self.dropout,
            "model.max_length": max(256, self.length),
            "training.batch_tokens": self.batch_tokens,
            "training.precision": precision,
            "training.device": device,
        }
        return load_config(None, [f"{key}={value}" for key, value in settings.items()])

    @property
    def words(self) -> str:
        """The sizes in words, except lengths."""
        return (
            f"width {self.width}, feed-forward {self.feedforward}, {self.layers}+{self.layers} layers, vocabulary "
            f"{self.vocabulary:,}, dropout {self.dropout}, {self.batch_tokens:,} tokens a side"
        )


class Numbers(Tokenizer):
    """A vocabulary whose tokens are the numbers in a sentence such as `17 4 23`."""

    def __init__(self, size: int) -> None:
        self._size, self.note = size, None

    @property
    @override
    def size(self) -> int:
        return self._size

    @property
    @override
    def tags(self) -> dict[str, int]:
        return {}

    @override
    def encode_batch(self, sentences: Sequence[str], *, sampling: Sampling | None = None) -> list[list[int]]:
        assert sampling is None
        return [list(map(int, sentence.split())) for sentence in sentences]


def generated_text(sizes: Sizes) -> list[tuple[str, str]]:
    """Sentence pairs of numbers from the vocabulary; small numbers are more frequent, following Zipf's law."""
    draw = np.random.default_rng(1)
    sources, targets = lengths(sizes, draw)
    ranks = np.arange(1, sizes.vocabulary - len(SPECIAL) + 1)
    chances = 1 / ranks
    total = int(sources.sum() + targets.sum())
    words = (draw.choice(ranks, total, p=chances / chances.sum()) + len(SPECIAL) - 1).tolist()
    pairs, start = [], 0
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        middle, end = start + source - 1, start + source + target - 2  # `EOS` is added later
        pairs.append((" ".join(map(str, words[start:middle])), " ".join(map(str, words[middle:end]))))
        start = end
    return pairs


def lengths(sizes: Sizes, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The number of tokens of each source and each target, including `EOS`."""
    if sizes.length:
        same = np.full(sizes.pairs, sizes.length)
        return same, same
    source = draw.normal(SOURCE_MEAN, SOURCE_DEVIATION, sizes.pairs)
    target = draw.normal(TARGET_FIRST + TARGET_SLOPE * source, TARGET_DEVIATION)
    shortest, longest = (np.clip(np.exp(side).round().astype(int), SHORTEST, LONGEST) for side in (source, target))
    return shortest, longest


def generated_corpora(sizes: Sizes) -> TrainingCorpora:
    """The pairs as a training corpus."""
    pairs = as_pairs(generated_text(sizes))
    config = DataConfig(max_words=10**6)
    splits = clean_splits({"train": pairs, "validation": pairs[:8]}, config, name="pairs")
    return TrainingCorpora(Corpus("pairs", GERMAN_ENGLISH, splits, config))


def reference_trainer(sizes: Sizes, folder: Path, *, precision: str = "auto", device: str = "auto") -> Trainer:
    """A trainer as made by `tmt train`, at step 0."""
    corpora, tokenizer = generated_corpora(sizes), Numbers(sizes.vocabulary)
    return build_session(sizes.config(precision, device), Run(folder), corpora, tokenizer=tokenizer).trainer


def reference_batches(sizes: Sizes) -> Iterator[Batch]:
    """The batches that such a trainer takes, in the same order."""
    corpora, numbers = generated_corpora(sizes).weighted, Numbers(sizes.vocabulary)
    stream = BatchStream(corpora, numbers, sizes.config(), distributed=Distributed())
    while True:
        yield stream.take()


def describe() -> str:
    """A line about the machine that the numbers depend on."""
    device = choose_device("auto")
    precision = str(choose_precision("auto", device)).removeprefix("torch.")
    place = torch.cuda.get_device_name() if device.type == "cuda" else processor()
    return f"{place}, {torch.get_num_threads()} threads, torch {torch.__version__}, precision auto: {precision}"


def processor() -> str:
    """The processor's name, if the system reports it, and its vector instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()} ({torch.backends.cpu.get_cpu_capability()})"
