"""Training reads its corpus from memory: where corpora come from is tested elsewhere."""

import pytest
from small_training import corpus_in_memory


@pytest.fixture(autouse=True)
def corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.pipeline.load_corpus", lambda config: corpus_in_memory())
