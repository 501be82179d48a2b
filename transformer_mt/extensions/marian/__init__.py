"""`tmt import`: Marian models in transformers' format, as runs. Read in this order:

- `marian_folder`: the settings and the vocabulary in a folder from transformers' `save_pretrained`.
- `marian_weights`: its tensors under our names, in our order of tokens and features.
- `import_marian`: writes the run.
- `two_models`: a vocabulary with a sentencepiece model for each side.
"""

from transformer_mt.ground.plugins import Command, Extension

EXTENSION = Extension(
    commands={"import": Command("Import a Marian model", f"{__name__}.import_command:import_", 150)},
    # In JSON; a SentencePiece model starts with a line break.
    vocabularies={b"{": f"{__name__}.two_models:parse_two_models"},
)
