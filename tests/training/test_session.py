from pathlib import Path

import pytest
from support.small_training import TRAIN, opened, small_config, write_corpus

from transformer_mt.config import SearchConfig
from transformer_mt.errors import InputError
from transformer_mt.training.session import open_training
from transformer_mt.translation.translator import Translator


@pytest.fixture(autouse=True)
def corpus() -> None:
    """Here corpora are read from the disk."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus on disk; `datasets` writes nothing outside the test's own folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return write_corpus(tmp_path / "data")


def test_a_trained_run_translates(tmp_path: Path, folder: Path) -> None:
    training = opened(tmp_path / "run", f"data.corpus={folder}", "training.steps=2")
    assert len(training.corpus.splits["train"]) == len(TRAIN)
    list(training.trainer.train())
    translator = Translator.load(tmp_path / "run", device="cpu")
    found = translator.translate([TRAIN[0].source, TRAIN[1].source], SearchConfig(beam=2))
    assert [len(each) for each in found] == [1, 1]


def test_corpus_without_validation_is_refused_before_anything_is_written(tmp_path: Path, folder: Path) -> None:
    (folder / "val.jsonl").unlink()
    with pytest.raises(InputError) as caught:
        opened(tmp_path / "run", f"data.corpus={folder}")
    assert str(caught.value) == f"{folder}: no validation split; put some pairs into validation.jsonl"
    assert not (tmp_path / "run").exists()


def test_departure_from_the_configured_vocabulary_is_noted(tmp_path: Path, folder: Path) -> None:
    training = open_training(
        small_config(f"data.corpus={folder}", "tokenizer.vocabulary_size=9999"), tmp_path / "run", overwrite=False
    )
    (note,) = training.notes
    assert note.startswith("tokenizer.vocabulary_size: ")
    assert training.tokenizer.size < 9999
