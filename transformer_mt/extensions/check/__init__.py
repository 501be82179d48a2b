"""`tmt check`: build everything and overfit one batch, before training."""

from transformer_mt.ground.plugins import Command, Extension

_SUMMARY = "Check a training before it starts"

EXTENSION = Extension(commands={"check": Command(_SUMMARY, f"{__name__}.check_command:check", 25)})
