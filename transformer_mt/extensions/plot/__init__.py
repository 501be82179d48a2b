"""`tmt plot`: training curves, schedules and positional encodings."""

from pathlib import Path

from transformer_mt.ground.plugins import Command, Extension, Route

_SUMMARY = "Plot training curves, schedules or positional encodings"

EXTENSION = Extension(
    commands={"plot": Command(_SUMMARY, f"{__name__}.plot_command:plot", 90, loads_plugins=False)},
    routes={"curves": Route(f"{__name__}.plot:answer_curves")},
    scripts=[Path(__file__).with_name("curves.js")],
)
