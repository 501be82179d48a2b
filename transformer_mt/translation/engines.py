"""The engines by name, each opening a run. torch is imported by the one that computes with it alone."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_mt.config.sections import Config
from transformer_mt.errors import InputError
from transformer_mt.registry import lookup
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.engine import OWN, Engine


@dataclass(frozen=True)
class Opened:
    """A run that an engine has opened, all of one moment."""

    config: Config
    tokenizer: Tokenizer
    engine: Engine


def _open_torch(run: Run, *, device: str, quantization: str | None) -> Opened:
    from transformer_mt.device import choose_device
    from transformer_mt.translation.torch_engine import TorchEngine

    if quantization is not None:
        raise InputError("--quantization: our own search has none; give --engine ctranslate2, or leave it out")
    place, trained = choose_device(device), run.load()
    return Opened(trained.config, trained.tokenizer, TorchEngine(trained.model.to(place), device=place))


def _open_ctranslate2(run: Run, *, device: str, quantization: str | None) -> Opened:
    from transformer_mt.conversion.cache import converted
    from transformer_mt.conversion.package import require_quantization
    from transformer_mt.translation.ctranslate2 import CTranslate2Engine

    require_quantization(quantization)
    config, tokenizer, files = converted(run, quantization=quantization)
    tokens = tokenizer.pieces(range(tokenizer.size))
    engine = CTranslate2Engine(
        files, tokens=tokens, max_length=config.model.max_length, device=device, quantization=quantization
    )
    return Opened(config, tokenizer, engine)


ENGINES: dict[str, Callable[..., Opened]] = {OWN: _open_torch, "ctranslate2": _open_ctranslate2}


def open_engine(run: Run, *, engine: str, device: str, quantization: str | None) -> Opened:
    """The run, or its checkpoint, opened by the engine of that name. Raises what `Translator.load` does."""
    return lookup(ENGINES, engine, key="--engine")(run, device=device, quantization=quantization)
