from pathlib import Path

import pytest
import torch
from support.small_training import TRAIN, corpus_in_memory, small_config, unwritten

from transformer_mt.batching.batches import Batch
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.extensions.check.sanity_check import check_training, shapes, try_largest
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import Run
from transformer_mt.training.batch_stream import TrainingCorpora
from transformer_mt.training.session import TrainingSession


def built(path: Path, *overrides: str) -> TrainingSession:
    return unwritten(small_config(*overrides), Run(path / "run"), TrainingCorpora(corpus_in_memory()))


@pytest.fixture
def training(tmp_path: Path) -> TrainingSession:
    """A training in `tmp_path`, which must stay empty."""
    return built(tmp_path)


def test_shapes_match_the_batch(training: TrainingSession) -> None:
    batch = training.trainer.stream.take()
    found = shapes(training.trainer.model, batch)
    rows, length = batch.decoder_input.shape
    assert f"{rows}×{length}×16" in found.values()
    assert {*found} < {name for name, _ in training.trainer.model.named_modules()}
    assert f"{rows}×{batch.source.shape[1]}×16" in found.values()
    assert not any(module._forward_hooks for module in training.trainer.model.modules())


def size(batch: Batch) -> int:
    return batch.source.numel() + batch.decoder_input.numel()


def longest(batch: Batch) -> int:
    return max(batch.source.shape[1], batch.decoder_input.shape[1])


def test_largest_and_longest_batches_are_tried(tmp_path: Path) -> None:
    long = [SentencePair("der Hund sieht die Katze und sucht das Haus", f"no {number}") for number in range(2)]
    corpora = TrainingCorpora(corpus_in_memory([*TRAIN, *long]))
    trainer = unwritten(small_config(), Run(tmp_path / "run"), corpora).trainer
    batches = [trainer.stream.encoded.batch(rows) for rows in trainer.stream.plan]
    before = [parameter.clone() for parameter in trainer.model.parameters()]
    first, last = try_largest(trainer)
    assert size(first) == max(map(size, batches))
    assert longest(last) == max(map(longest, batches))
    assert set(last.pairs) == {31, 32}
    for parameter, old in zip(trainer.model.parameters(), before, strict=True):
        assert parameter.grad is None
        assert torch.equal(parameter, old)


def test_an_unknown_name_is_refused_before_reading_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.training.session.load_corpus", None)
    with pytest.raises(InputError, match=r"^objective\.name: "):
        next(check_training(load_config(None, ["objective.name=nobody"]), print))
