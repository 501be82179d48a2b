"""`tmt heads`: what each attention head does."""

from transformer_mt.ground.plugins import Command, Extension

_SUMMARY = "Show what each attention head does"

EXTENSION = Extension(commands={"heads": Command(_SUMMARY, f"{__name__}.heads_command:heads", 80)})
