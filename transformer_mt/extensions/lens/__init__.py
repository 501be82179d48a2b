"""`tmt lens`: what each layer of the decoder would predict."""

from pathlib import Path

from transformer_mt.ground.plugins import Command, Extension, View

EXTENSION = Extension(
    commands={"lens": Command("Show what each decoder layer would predict", f"{__name__}.lens_command:lens", 70)},
    views={"lens": View(f"{__name__}.lens:view_lens")},
    scripts=[Path(__file__).with_name("lens.js")],
)
