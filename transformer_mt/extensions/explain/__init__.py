"""`tmt explain`: how an attention head computes one row."""

from pathlib import Path

from transformer_mt.ground.plugins import Command, Extension, View

EXTENSION = Extension(
    commands={"explain": Command("Explain one row of an attention head", f"{__name__}.explain_command:explain", 60)},
    views={"explain": View(f"{__name__}.explain:view_explanation", f"{__name__}.explain:ExplainRequest")},
    scripts=[Path(__file__).with_name("steps.js")],
)
