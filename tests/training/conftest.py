"""Training reads its corpus from memory: where corpora come from is tested elsewhere."""

import pytest
from support.small_training import corpus_in_memory


@pytest.fixture(autouse=True)
def corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.training.session.load_corpus", lambda config: corpus_in_memory())
