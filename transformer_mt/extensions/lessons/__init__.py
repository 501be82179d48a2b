"""`tmt lesson`: the guided course."""

from pathlib import Path

from transformer_mt.ground.plugins import Command, Extension, Route

EXTENSION = Extension(
    commands={
        "lesson": Command("Learn attention step by step", f"{__name__}.lesson_command:lesson", 10, loads_plugins=False)
    },
    routes={"lessons": Route(f"{__name__}.course:answer_lessons", needs_run=False)},
    scripts=sorted(Path(__file__).parent.glob("*.js")),
    uses=["serve"],
)
