"""`tmt export`: trained models for other programs, compared with them. Read in this order:

supported       which models a program supports
parity          comparison of the translations of both programs
export_formats  what a program to export to declares
export_run      the folder that `tmt export` writes
"""

from transformer_mt.ground.plugins import Command, Extension

EXTENSION = Extension(
    commands={"export": Command("Export a model to another program", f"{__name__}.export_command:export", 160)},
)
