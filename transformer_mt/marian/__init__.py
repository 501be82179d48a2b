"""Marian models in transformers' format, as runs. Read in this order:

- `marian_folder`: the settings and the vocabulary in a folder from transformers' `save_pretrained`.
- `marian_weights`: its tensors under our names, in our order of tokens and features.
- `import_marian`: writes the run.
"""
