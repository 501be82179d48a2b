"""`tmt`: train a translation Transformer in the terminal, translate with it, and look inside its attention.

The public Python API is `__all__`. Names are imported on first use.
"""

# Type checkers treat this as true. Importing `typing` takes longer than everything else here, and a signal that arrives
# before the handlers are installed ends in a Python traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from transformer_mt.attention.hooks import patch as patch
    from transformer_mt.attention.hooks import record_values as record_values
    from transformer_mt.config.sections import Config as Config
    from transformer_mt.config.sections import SearchConfig as SearchConfig
    from transformer_mt.config.toml import load_config as load_config
    from transformer_mt.corpus.load_corpus import Corpus as Corpus
    from transformer_mt.corpus.load_corpus import load_corpus as load_corpus
    from transformer_mt.corpus.pairs import SentencePair as SentencePair
    from transformer_mt.evaluation.evaluate import Scores as Scores
    from transformer_mt.evaluation.evaluate import evaluate as evaluate
    from transformer_mt.ground.errors import Diverged as Diverged
    from transformer_mt.ground.errors import InputError as InputError
    from transformer_mt.ground.errors import MachineError as MachineError
    from transformer_mt.ground.errors import TmtError as TmtError
    from transformer_mt.links.recording import record_attention as record_attention
    from transformer_mt.training.session import TrainingSession as TrainingSession
    from transformer_mt.training.session import open_training as open_training
    from transformer_mt.translation.glossary import Glossary as Glossary
    from transformer_mt.translation.model import Model as Model
    from transformer_mt.translation.translator import Translation as Translation
    from transformer_mt.translation.translator import Translator as Translator
    from transformer_mt.views.maps import AttentionMaps as AttentionMaps
    from transformer_mt.views.maps import attend_pair as attend_pair

_NAMES = {
    "attention.hooks": ("patch", "record_values"),
    "config.sections": ("Config", "SearchConfig"),
    "config.toml": ("load_config",),
    "corpus.load_corpus": ("Corpus", "load_corpus"),
    "corpus.pairs": ("SentencePair",),
    "ground.errors": ("Diverged", "InputError", "MachineError", "TmtError"),
    "evaluation.evaluate": ("Scores", "evaluate"),
    "links.recording": ("record_attention",),
    "views.maps": ("AttentionMaps", "attend_pair"),
    "training.session": ("TrainingSession", "open_training"),
    "translation.glossary": ("Glossary",),
    "translation.model": ("Model",),
    "translation.translator": ("Translation", "Translator"),
}
_MODULE = {name: module for module, names in _NAMES.items() for name in names}
__all__ = list(_MODULE)


def __getattr__(name: str) -> object:
    """Import a public name on first use, because importing torch takes a second."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULE]
