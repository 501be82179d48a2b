"""`tmt contrast`: why this word, and not another?"""

from pathlib import Path

from transformer_mt.ground.plugins import Command, Extension, View

EXTENSION = Extension(
    commands={
        "contrast": Command("Show why a word was chosen over another", f"{__name__}.contrast_command:contrast", 65)
    },
    views={"contrast": View(f"{__name__}.contrast:view_contrast", f"{__name__}.contrast:ContrastRequest")},
    scripts=[Path(__file__).with_name("contrast.js")],
)
