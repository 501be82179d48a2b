"""The configuration: frozen pydantic models, in and out of TOML. Nothing here imports torch.

Read in this order:

- `sections`: every section and key with its default, its range and its sentence.
- `search`: a run's search, changed for one translation.
- `toml`: reading a file, `--set a.b=value`, writing with a comment for every key, and errors that name the nearest key.
"""
