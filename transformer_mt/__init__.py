"""`tmt`: train a translation Transformer in the terminal, translate with it, and look inside its attention.

From Python: what `__all__` names, each loaded when it is first asked for.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# What torch reads from the environment, once and early. Every shape of a bfloat16 product is compiled when a CPU first
# meets it, which takes longer than the product; oneDNN keeps 1,024 of them, fewer than the shapes of one epoch.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16384")
# Large tensors in large pages: fewer to find and to clear.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

if TYPE_CHECKING:
    from transformer_mt.config import Config, SearchConfig, load_config
    from transformer_mt.corpus.load import Corpus, load_corpus
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.errors import TmtError
    from transformer_mt.evaluation import Scores, evaluate
    from transformer_mt.inspection.maps import AttentionMaps, attend_pair
    from transformer_mt.inspection.recording import record_attention
    from transformer_mt.training.session import TrainingSession, open_training
    from transformer_mt.translation.translator import Translation, Translator

_WHERE = {
    "AttentionMaps": "inspection.maps",
    "Config": "config",
    "Corpus": "corpus.load",
    "Scores": "evaluation",
    "SearchConfig": "config",
    "SentencePair": "corpus.pairs",
    "TmtError": "errors",
    "TrainingSession": "training.session",
    "Translation": "translation.translator",
    "Translator": "translation.translator",
    "attend_pair": "inspection.maps",
    "evaluate": "evaluation",
    "load_config": "config",
    "load_corpus": "corpus.load",
    "open_training": "training.session",
    "record_attention": "inspection.recording",
}

__all__ = [
    "AttentionMaps",
    "Config",
    "Corpus",
    "Scores",
    "SearchConfig",
    "SentencePair",
    "TmtError",
    "TrainingSession",
    "Translation",
    "Translator",
    "attend_pair",
    "evaluate",
    "load_config",
    "load_corpus",
    "open_training",
    "record_attention",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for; torch takes a second."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
