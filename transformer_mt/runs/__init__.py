"""A run on disk: a directory that survives copying and crashes, and is safe to load from an untrusted source.

Read in this order:

- `directory`: `Run`, the files of a run, loading its model, and finding it by a path.
- `checksums`: the SHA-256 sums that tie the files of a run together.
- `weights`: tensors in safetensors files, with checksums and specs.
- `checkpoints`: everything needed for exact resumption, one directory per step, written atomically.
- `lock`: one training process per directory.
- `fingerprints`, `words`, `alignment`, `doubt`: the run's record of its data, its words, its alignment heads and its
  threshold of doubt.
- `listing`: the summary of a run for `tmt runs`.
"""
