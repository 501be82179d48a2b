"""`tmt pack`: a run as one file."""

from transformer_mt.ground.plugins import Command, Extension

EXTENSION = Extension(commands={"pack": Command("Pack a model into one file", f"{__name__}.pack_command:pack", 170)})
