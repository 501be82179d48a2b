"""The optional package CTranslate2, installed by an extra."""

import logging
from contextlib import suppress
from typing import Any

from transformer_mt.extensions.ctranslate2 import QUANTIZATIONS
from transformer_mt.ground.errors import MachineError
from transformer_mt.ground.registry import lookup


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


def suits(device: str) -> bool:
    """True if the package is installed and the device is the CPU; our own search may be faster on a GPU."""
    with suppress(MachineError):
        return device == "cpu" or not import_ctranslate2().get_cuda_device_count()
    return False
