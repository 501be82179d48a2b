"""The optional package CTranslate2, installed by an extra."""

import logging
from typing import Any

from transformer_mt.errors import MachineError
from transformer_mt.registry import lookup

# Number formats that weights can be quantized to.
QUANTIZATIONS = ("int8", "int16", "bfloat16", "float16")


def require_quantization(name: str | None) -> None:
    """Raise `InputError` for a number format that CTranslate2 does not have."""
    if name is not None:
        lookup(dict.fromkeys(QUANTIZATIONS), name, key="quantization")


def import_ctranslate2() -> Any:
    """Import the package; it imports torch only for conversion. Raises `MachineError` if it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        raise MachineError("ctranslate2", "is not installed", "pip install 'transformer_mt[ctranslate2]'") from None
    ctranslate2.set_log_level(logging.ERROR)  # its warnings do not have our message format
    return ctranslate2
