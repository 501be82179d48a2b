"""The configuration: frozen pydantic models, read from and written to TOML. Nothing here imports torch.

Reading order:

- `sections`: every section and key, with its default, range and description.
- `fine_tuning`: what fine-tuning chooses by the number of pairs.
- `changed_search`: a run's search settings, overridden for one translation.
- `toml`: reads a file, applies `--set a.b=value`, writes a comment for every key, and suggests the nearest key.
"""
