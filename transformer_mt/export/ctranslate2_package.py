"""The package CTranslate2, which an extra installs."""

import logging
from typing import Any

from transformer_mt.errors import MachineError
from transformer_mt.registry import lookup

# Number formats that weights can be quantized to.
QUANTIZATIONS = ("int8", "int16", "bfloat16", "float16")


def require_quantization(name: str | None) -> None:
    """Raise `InputError` for a number format that weights cannot have there."""
    if name is not None:
        lookup(dict.fromkeys(QUANTIZATIONS), name, key="quantization")


def import_ctranslate2() -> Any:
    """The package, which imports torch itself only to convert. Raises `MachineError` where it is missing."""
    try:
        import ctranslate2
    except ImportError:
        raise MachineError("ctranslate2", "is not installed", "pip install 'transformer_mt[ctranslate2]'") from None
    ctranslate2.set_log_level(logging.ERROR)  # its warnings are no lines of ours
    return ctranslate2
